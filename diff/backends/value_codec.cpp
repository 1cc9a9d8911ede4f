#include "diff/backends/value_codec.h"

#include <cstring>

#include <fmt/format.h>

namespace ulpian::diff {
namespace {

constexpr std::size_t MostRank = 256;

std::uint32_t get_u32(const std::byte* p) {
  std::uint32_t v = 0;
  for (int k = 0; k < 4; ++k) v |= static_cast<std::uint32_t>(p[k]) << (8 * k);
  return v;
}

// A string tensor's blob: for each element its length (u32), then all elements' bytes.
std::string pack_strings(const std::vector<std::string>& strings) {
  std::string out;
  for (const std::string& s : strings) {
    ensure(s.size() <= 0xffffffffU, "a string element of 4 GiB");
    for (int k = 0; k < 4; ++k) out += static_cast<char>((s.size() >> (8 * k)) & 0xff);
  }
  for (const std::string& s : strings) out += s;
  return out;
}

std::vector<std::string> unpack_strings(std::int64_t count, std::span<const std::byte> blob) {
  if (count > static_cast<std::int64_t>(blob.size() / 4)) throw Malformed{fmt::format("{} strings in a blob of {} bytes", count, blob.size())};
  const auto n = static_cast<std::size_t>(count);
  std::span<const std::byte> rest = blob.subspan(4 * n);
  std::vector<std::string> out;
  out.reserve(n);
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t length = get_u32(blob.data() + 4 * k);
    if (length > rest.size()) throw Malformed{fmt::format("string {} has {} bytes, its blob only {} more", k, length, rest.size())};
    out.emplace_back(reinterpret_cast<const char*>(rest.data()), length);
    rest = rest.subspan(length);
  }
  if (!rest.empty()) throw Malformed{fmt::format("{} bytes are left over behind the strings", rest.size())};
  return out;
}

// Each element of at most 8 bits takes a byte whose other bits are zero.
void check_unused_bits(ElementType type, std::span<const std::byte> bytes) {
  const int width = bits_of(type);
  if (width >= 8) return;
  const auto unused = static_cast<std::byte>(0xff << width);
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    if ((bytes[k] & unused) != std::byte{0}) {
      throw Malformed{fmt::format("element {} of type {} is the byte 0x{:02x}; only its low {} bit{} may be set", k, name_of(type),
                                  static_cast<unsigned>(bytes[k]), width, width == 1 ? "" : "s")};
    }
  }
}

json encode_tensor(const Tensor& tensor, OutgoingFrame& frame) {
  json out = {{"type", name_of(tensor.type())}, {"extents", tensor.extents()}};
  if (tensor.type() == ElementType::String) {
    std::string blob = pack_strings(tensor.strings());
    out["bytes"] = blob.size();
    frame.append(std::move(blob));
  } else {
    out["bytes"] = tensor.bytes().size();
    frame.append(tensor.bytes());
  }
  return out;
}

Tensor decode_tensor(const json& header, BlobCursor& blobs) {
  const ElementType type = stored_type_of(member(header, "type"), "a tensor's \"type\"");
  Extents extents = extents_of(member(header, "extents"));
  const std::int64_t bytes = count_of(member(header, "bytes"), "\"bytes\"");
  const auto count = element_count(extents);
  if (!count) throw Malformed{fmt::format("extents {} are too large", to_string(extents))};
  const std::span<const std::byte> blob = blobs.next(bytes);
  if (type == ElementType::String) {
    std::vector<std::string> strings = unpack_strings(*count, blob);
    return Tensor(std::move(extents), std::move(strings));
  }
  // count is below the payload's length from here on: a declared size costs nothing before its bytes have come.
  if (*count > bytes || *count * bytes_of(type) != bytes) {
    throw Malformed{fmt::format("a tensor {}{} with {} bytes; each element takes {}", name_of(type), to_string(extents), bytes, bytes_of(type))};
  }
  check_unused_bits(type, blob);
  return Tensor::from_bytes(type, std::move(extents), blob);
}

}  // namespace

std::span<const std::byte> BlobCursor::next(std::int64_t bytes) {
  if (static_cast<std::uint64_t>(bytes) > rest_.size()) {
    throw Malformed{fmt::format("a blob of {} bytes is declared; the payload has {} left", bytes, rest_.size())};
  }
  const auto n = static_cast<std::size_t>(bytes);
  const std::span<const std::byte> blob = rest_.first(n);
  const std::size_t padded = (n + BlobAlignment - 1) / BlobAlignment * BlobAlignment;
  rest_ = rest_.subspan(std::min(padded, rest_.size()));
  return blob;
}

void BlobCursor::expect_end() const {
  if (!rest_.empty()) throw Malformed{fmt::format("{} bytes of the payload belong to no value", rest_.size())};
}

ElementType stored_type_of(const json& value, const char* what) {
  const std::string name = text_of(value, what);
  const auto type = element_type_named(name);
  if (!type || *type == ElementType::Z || *type == ElementType::R) throw Malformed{fmt::format("{} is {}, which is no element type", what, shown(name))};
  return *type;
}

Extents extents_of(const json& value) {
  array_of(value, "\"extents\"");
  if (value.size() > MostRank) throw Malformed{fmt::format("a rank of {}; the most is {}", value.size(), MostRank)};
  Extents extents;
  for (const json& e : value) extents.push_back(count_of(e, "an extent"));
  return extents;
}

json encode_value(const Value& value, OutgoingFrame& frame) {
  json out;
  if (const Tensor* tensor = value.tensor()) {
    out = encode_tensor(*tensor, frame);
  } else if (const auto* sequence = std::get_if<Sequence>(&value.value)) {
    json elements = json::array();
    for (const Tensor& t : sequence->elements) elements.push_back(encode_tensor(t, frame));
    out = {{"sequence", std::move(elements)}, {"type", name_of(sequence->type)}};
  } else {
    out = {{"absent", true}};
  }
  out["name"] = value.name;
  return out;
}

Value decode_value(const json& header, BlobCursor& blobs) {
  Value out;
  if (const json* name = optional_member(header, "name")) out.name = text_of(*name, "a value's \"name\"");
  if (const json* absent = optional_member(header, "absent"); absent && absent->is_boolean() && absent->get<bool>()) {
    out.value = Absent{};
  } else if (const json* elements = optional_member(header, "sequence")) {
    Sequence sequence;
    sequence.type = stored_type_of(member(header, "type"), "a sequence's \"type\"");
    for (const json& e : array_of(*elements, "\"sequence\"")) {
      sequence.elements.push_back(decode_tensor(e, blobs));
      if (sequence.elements.back().type() != sequence.type) throw Malformed{"a sequence whose elements have other types than it declares"};
    }
    out.value = std::move(sequence);
  } else {
    out.value = decode_tensor(header, blobs);
  }
  return out;
}

}  // namespace ulpian::diff
