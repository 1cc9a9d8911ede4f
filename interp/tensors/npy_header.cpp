#include "interp/tensors/npy_header.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

namespace ulpian::npy {

namespace {

constexpr std::string_view Magic = "\x93NUMPY";
constexpr std::size_t MostHeader = std::size_t{1} << 20;  // NumPy itself warns above 10,000 bytes

Diagnostic bad(std::string message, ErrorKind kind = ErrorKind::Input) {
  Diagnostic d;
  d.kind = kind;
  d.message = std::move(message);
  return d;
}

// Reads the few Python literals that the format uses. Nothing is evaluated.
class Literals {
public:
  explicit Literals(std::string_view text) : rest_(text) {}

  bool take(char c) {
    if (!next_is(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool next_is(char c) {
    skip_space();
    return !rest_.empty() && rest_.front() == c;
  }
  bool at_end() {
    skip_space();
    return rest_.empty();
  }
  std::optional<std::string> string() {
    skip_space();
    if (rest_.empty() || (rest_.front() != '\'' && rest_.front() != '"')) return std::nullopt;
    const auto end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string out(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return out;
  }
  std::optional<bool> boolean() {
    skip_space();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return value;
    }
    return std::nullopt;
  }
  std::optional<Extents> tuple() {
    Extents out;
    if (!take('(')) return std::nullopt;
    while (!take(')')) {
      skip_space();
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
      if (error != std::errc{}) return std::nullopt;
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      if (!rest_.empty() && rest_.front() == 'L') rest_.remove_prefix(1);  // Python 2 wrote long integers so
      out.push_back(value);
      if (!take(',') && !next_is(')')) return std::nullopt;
    }
    return out;
  }

private:
  void skip_space() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n' || rest_.front() == '\t')) rest_.remove_prefix(1);
  }
  std::string_view rest_;
};

struct Seen {
  bool descr = false;
  bool fortran_order = false;
  bool shape = false;
};

// False: the text is no entry of the dictionary.
Result<bool> parse_entry(Literals& text, Header& out, Seen& seen) {
  const auto key = text.string();
  if (!key || !text.take(':')) return false;
  if (*key == "descr" && !seen.descr) {
    if (text.next_is('[')) return bad("a structured array; an array of numbers is expected", ErrorKind::Unsupported);
    const auto value = text.string();
    if (value) out.descr = *value;
    seen.descr = value.has_value();
    return seen.descr;
  }
  if (*key == "fortran_order" && !seen.fortran_order) {
    const auto value = text.boolean();
    if (value) out.fortran_order = *value;
    seen.fortran_order = value.has_value();
    return seen.fortran_order;
  }
  if (*key == "shape" && !seen.shape) {
    auto value = text.tuple();
    if (value) out.shape = std::move(*value);
    seen.shape = value.has_value();
    return seen.shape;
  }
  return false;
}

Result<Header> parse_dictionary(std::string_view dictionary) {
  const Diagnostic malformed = bad("the header is no dictionary of descr, fortran_order and shape");
  Header out;
  Seen seen;
  Literals text(dictionary);
  if (!text.take('{')) return malformed;
  while (!text.take('}')) {
    auto entry = parse_entry(text, out, seen);
    if (!entry) return std::move(entry).error();
    if (!*entry || (!text.take(',') && !text.next_is('}'))) return malformed;
  }
  if (!text.at_end() || !seen.descr || !seen.fortran_order || !seen.shape) return malformed;
  return out;
}

}  // namespace

Result<Header> parse_header(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.empty()) return bad("the file is empty; an .npy array is expected");
  if (!text.starts_with(Magic)) return bad("not an .npy file: it does not begin with \\x93NUMPY");
  const auto byte = [&](std::size_t k) { return static_cast<std::size_t>(static_cast<std::uint8_t>(text[k])); };
  if (text.size() < 12) return bad("the file ends inside its header");
  const std::size_t major = byte(6);
  if (major < 1 || major > 3 || byte(7) != 0) return bad(fmt::format("version {}.{} of the .npy format; 1.0, 2.0 and 3.0 are understood", major, byte(7)), ErrorKind::Unsupported);
  const std::size_t begin = major == 1 ? 10 : 12;
  std::size_t length = byte(8) | byte(9) << 8;
  if (major > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > MostHeader) return bad(fmt::format("the header has {} bytes; at most {} are read", length, MostHeader), ErrorKind::Limit);
  if (length > text.size() - begin) return bad("the file ends inside its header");
  auto header = parse_dictionary(text.substr(begin, length));
  if (header) header->data = begin + length;
  return header;
}

std::string format_header(const std::string& descr, const Extents& shape) {
  std::string dictionary = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (", descr);
  for (std::size_t k = 0; k < shape.size(); ++k) dictionary += fmt::format("{}{}", k ? ", " : "", shape[k]);
  dictionary += shape.size() == 1 ? ",), }" : "), }";
  const bool large = dictionary.size() + 128 > UINT16_MAX;
  const std::size_t begin = large ? 12 : 10;
  const std::size_t length = (begin + dictionary.size() + 1 + 63) / 64 * 64 - begin;
  dictionary.resize(length - 1, ' ');
  std::string out(Magic);
  out += large ? '\2' : '\1';
  out += '\0';
  for (std::size_t k = 0; k < begin - 8; ++k) out += static_cast<char>(length >> (8 * k) & 0xFF);
  return out + dictionary + '\n';
}

}  // namespace ulpian::npy
