#include "diff/backends/json.h"

#include <fmt/format.h>

#include "diff/backends/frame.h"

namespace ulpian::diff {
namespace {

constexpr int MostNesting = 32;

void check_nesting(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    if (in_string) {
      if (c == '\\') ++k;
      else if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > MostNesting) throw Malformed{fmt::format("JSON nested deeper than {}", MostNesting)};
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
}

}  // namespace

json parse_json(std::string_view text) {
  check_nesting(text);
  json value = json::parse(text, nullptr, false);
  if (value.is_discarded()) throw Malformed{fmt::format("a header that is not JSON: {}", shown(text))};
  return value;
}

const json& member(const json& object, const char* name) {
  const json* found = optional_member(object, name);
  if (!found) throw Malformed{fmt::format("\"{}\" is missing", name)};
  return *found;
}

const json* optional_member(const json& object, const char* name) {
  if (!object.is_object()) throw Malformed{fmt::format("{} where an object belongs", object.type_name())};
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text_of(const json& value, const char* what) {
  if (!value.is_string()) throw Malformed{fmt::format("{} is {}, a string belongs there", what, value.type_name())};
  return value.get<std::string>();
}

std::int64_t count_of(const json& value, const char* what) {
  constexpr std::uint64_t Most = std::uint64_t{1} << 62;
  if (!value.is_number_integer()) throw Malformed{fmt::format("{} is {}, an integer belongs there", what, shown(dump(value)))};
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > Most) {
    throw Malformed{fmt::format("{} is {}, outside 0 to 2^62", what, shown(dump(value)))};
  }
  return static_cast<std::int64_t>(value.get<std::uint64_t>());
}

const json& array_of(const json& value, const char* what) {
  if (!value.is_array()) throw Malformed{fmt::format("{} is {}, an array belongs there", what, value.type_name())};
  return value;
}

const json& object_of(const json& value, const char* what) {
  if (!value.is_object()) throw Malformed{fmt::format("{} is {}, an object belongs there", what, value.type_name())};
  return value;
}

std::string dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace ulpian::diff
