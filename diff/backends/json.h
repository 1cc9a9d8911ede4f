// Checked access to the JSON of headers. Included by this folder's .cpp files only: the parser's header is heavy.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "spec/core/diagnostic.h"

namespace ulpian::diff {

using nlohmann::json;

// Thrown and caught inside a decoder; callers see a Diagnostic.
struct Malformed {
  std::string message;
};

// Nesting is capped before parsing.
json parse_json(std::string_view text);

const json& member(const json& object, const char* name);            // Malformed if missing
const json* optional_member(const json& object, const char* name);   // null if missing or null
std::string text_of(const json& value, const char* what);
std::int64_t count_of(const json& value, const char* what);          // an integer from 0 to 2^62
const json& array_of(const json& value, const char* what);
const json& object_of(const json& value, const char* what);

// Text that is not UTF-8 is repaired, as a header must be.
std::string dump(const json& value);

}  // namespace ulpian::diff
