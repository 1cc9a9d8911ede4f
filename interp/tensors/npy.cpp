#include "interp/tensors/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "interp/tensors/npy_header.h"
#include "interp/tensors/npy_strings.h"
#include "spec/core/file.h"

namespace ulpian {

namespace {

static_assert(std::endian::native == std::endian::little);

Diagnostic bad(std::string message, ErrorKind kind = ErrorKind::Input) {
  Diagnostic d;
  d.kind = kind;
  d.message = std::move(message);
  return d;
}

// NumPy's type: a letter and a number of bytes (of characters for U).
struct Descr {
  bool big_endian = false;
  char letter = 0;
  std::int64_t width = 0;
};

Result<Descr> parse_descr(const std::string& text) {
  Descr d;
  std::string_view rest = text;
  if (!rest.empty() && std::string_view("<>|=").find(rest.front()) != std::string_view::npos) {
    d.big_endian = rest.front() == '>';
    rest.remove_prefix(1);
  }
  if (!rest.empty()) d.letter = rest.front();
  if (d.letter == 'O') return bad("an array of Python objects (a pickle), which is refused", ErrorKind::Unsupported);
  const Diagnostic unknown = bad(fmt::format("the type '{}' is not a type of numbers", std::string_view(text).substr(0, 40)), ErrorKind::Unsupported);
  if (rest.size() < 2 || rest.size() > 12) return unknown;
  const char* end = rest.data() + rest.size();
  const auto [stop, error] = std::from_chars(rest.data() + 1, end, d.width);
  if (error != std::errc{} || stop != end || d.width < 0) return unknown;
  return d;
}

constexpr std::pair<std::string_view, ElementType> Native[] = {
    {"b1", ElementType::Bool}, {"i1", ElementType::I8},  {"i2", ElementType::I16}, {"i4", ElementType::I32}, {"i8", ElementType::I64},
    {"u1", ElementType::U8},   {"u2", ElementType::U16}, {"u4", ElementType::U32}, {"u8", ElementType::U64}, {"f2", ElementType::F16},
    {"f4", ElementType::F32},  {"f8", ElementType::F64}, {"c8", ElementType::C64}, {"c16", ElementType::C128}};

std::optional<ElementType> native_type(const Descr& d) {
  const std::string key = fmt::format("{}{}", d.letter, d.width);
  for (const auto& [name, type] : Native)
    if (name == key) return type;
  return std::nullopt;
}

// The type that the elements have, from what the file says and what the caller asks.
Result<ElementType> resolve(const std::string& text, const Descr& d, std::optional<ElementType> asked) {
  const bool strings = d.letter == 'U' || d.letter == 'S';
  const auto native = strings ? std::optional(ElementType::String) : native_type(d);
  if (native && (!asked || asked == native)) return *native;
  const bool raw = d.letter == 'u' || d.letter == 'V';
  if (asked && !numpy_has(*asked) && raw && d.width == bytes_of(*asked)) return *asked;
  if (asked) return bad(fmt::format("the file holds '{}'; {} is asked for, which stands in {}", text, name_of(*asked), numpy_name(*asked)));
  if (d.letter == 'V') return bad(fmt::format("the type '{}' is raw bytes; the element type must be given", text), ErrorKind::Unsupported);
  return bad(fmt::format("the type '{}' has no counterpart among the element types", text), ErrorKind::Unsupported);
}

// Maps row-major positions, in order, to positions of Fortran order.
class FortranOrder {
public:
  explicit FortranOrder(const Extents& extents) : extents_(extents), index_(extents.size(), 0), strides_(extents.size()) {
    std::int64_t stride = 1;
    for (std::size_t k = 0; k < extents.size(); ++k) {
      strides_[k] = stride;
      stride *= extents[k];
    }
  }
  std::int64_t next() {
    const std::int64_t here = position_;
    for (std::size_t k = extents_.size(); k-- > 0;) {
      position_ += strides_[k];
      if (++index_[k] < extents_[k]) break;
      position_ -= index_[k] * strides_[k];
      index_[k] = 0;
    }
    return here;
  }

private:
  const Extents& extents_;
  Extents index_;
  Extents strides_;
  std::int64_t position_ = 0;
};

void copy_elements(const npy::Header& header, std::size_t width, const std::byte* from, Tensor& out) {
  const auto count = static_cast<std::size_t>(out.size());
  if (count == 0) return;
  std::byte* to = out.writable_bytes().data();
  if (!header.fortran_order || out.rank() < 2) {
    std::memcpy(to, from, count * width);
    return;
  }
  FortranOrder order(out.extents());
  for (std::size_t k = 0; k < count; ++k) std::memcpy(to + k * width, from + static_cast<std::size_t>(order.next()) * width, width);
}

void swap_bytes(Tensor& t) {
  const auto part = static_cast<std::size_t>(is_complex(t.type()) ? bytes_of(t.type()) / 2 : bytes_of(t.type()));
  const auto bytes = t.writable_bytes();
  for (std::size_t k = 0; k + part <= bytes.size(); k += part) std::reverse(bytes.data() + k, bytes.data() + k + part);
}

// Bits beyond the type's width must be zero: a 4-bit element of 16 is an error, not 0.
Status check_width(const Tensor& t) {
  if (bytes_of(t.type()) != 1 || bits_of(t.type()) >= 8) return success();
  const auto limit = 1u << bits_of(t.type());
  const auto* data = t.data<std::uint8_t>();
  for (std::int64_t k = 0; k < t.size(); ++k)
    if (data[k] >= limit) return bad(fmt::format("element {} is {}; type {} admits 0 to {}", k, data[k], name_of(t.type()), limit - 1));
  return success();
}

Result<Tensor> read_strings(const npy::Header& header, const Descr& descr, std::span<const std::byte> data) {
  Tensor out(ElementType::String, header.shape);
  FortranOrder order(out.extents());
  const auto item = static_cast<std::size_t>(descr.letter == 'U' ? 4 * descr.width : descr.width);
  auto& strings = out.writable_strings();
  for (std::size_t k = 0; k < strings.size(); ++k) {
    const std::size_t from = header.fortran_order ? static_cast<std::size_t>(order.next()) : k;
    auto text = npy::decode_string(data.subspan(from * item, item), descr.letter == 'U', descr.big_endian);
    if (!text) return bad(fmt::format("string {} holds a number that is no Unicode character", k));
    strings[k] = std::move(*text);
  }
  return out;
}

Result<Tensor> parse(std::span<const std::byte> bytes, const NpyOptions& options) {
  auto header = npy::parse_header(bytes);
  if (!header) return std::move(header).error();
  auto descr = parse_descr(header->descr);
  if (!descr) return std::move(descr).error();
  auto type = resolve(header->descr, *descr, options.type);
  if (!type) return std::move(type).error();

  for (const std::int64_t e : header->shape)
    if (e < 0) return bad(fmt::format("extents {} hold a negative number", to_string(header->shape)));
  const auto count = element_count(header->shape);
  const bool strings = *type == ElementType::String;
  const std::int64_t item = descr->letter == 'U' ? 4 * descr->width : descr->width;
  const std::int64_t memory = item + (strings ? static_cast<std::int64_t>(sizeof(std::string)) : 0);
  if (!count || *count > options.memory_limit / memory)
    return bad(fmt::format("{} elements {} are above the memory limit of {} bytes", to_string(header->shape), name_of(*type), options.memory_limit), ErrorKind::Limit);
  const auto data = bytes.subspan(header->data);
  const auto needed = static_cast<std::size_t>(*count * item);
  if (data.size() != needed)
    return bad(fmt::format("{} bytes follow the header; {} elements '{}' take {}", data.size(), to_string(header->shape), header->descr, needed));
  if (strings) return read_strings(*header, *descr, data);

  Tensor out(*type, header->shape);
  copy_elements(*header, static_cast<std::size_t>(item), data.data(), out);
  if (descr->big_endian) swap_bytes(out);
  if (auto s = check_width(out); !s) return std::move(s).error();
  return out;
}

std::string descr_of(ElementType type) {
  const std::string order = bytes_of(type) == 1 ? "|" : "<";
  for (const auto& [name, native] : Native)
    if (native == type) return order + std::string(name);
  return fmt::format("{}u{}", order, bytes_of(type));
}

}  // namespace

bool numpy_has(ElementType type) {
  return type == ElementType::String || std::any_of(std::begin(Native), std::end(Native), [&](const auto& row) { return row.second == type; });
}

std::string numpy_name(ElementType type) {
  if (type == ElementType::String) return "str";
  if (type == ElementType::Bool) return "bool";
  const char letter = descr_of(type)[1];
  const char* stem = letter == 'f' ? "float" : letter == 'c' ? "complex" : letter == 'i' ? "int" : "uint";
  return fmt::format("{}{}", stem, 8 * bytes_of(type));
}

Result<Tensor> parse_npy(std::span<const std::byte> bytes, const std::string& source, const NpyOptions& options) {
  auto tensor = parse(bytes, options);
  if (!tensor) tensor.error().in_program(source);
  return tensor;
}

Result<Tensor> read_npy(const std::string& file, const NpyOptions& options) {
  constexpr std::int64_t Header = std::int64_t{2} << 20;
  auto bytes = read_file(file, static_cast<std::uint64_t>(options.memory_limit + Header));
  if (!bytes) return std::move(bytes).error();
  return parse_npy(*bytes, file, options);
}

Result<std::string> format_npy(const Tensor& tensor) {
  if (tensor.type() == ElementType::String) return npy::format_strings(tensor);
  std::string out = npy::format_header(descr_of(tensor.type()), tensor.extents());
  out.append(reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size());
  return out;
}

Status write_npy(const std::string& file, const Tensor& tensor) {
  auto bytes = format_npy(tensor);
  if (!bytes) return std::move(bytes.error().in_program(file));
  return write_file(file, std::string_view(*bytes));
}

}  // namespace ulpian
