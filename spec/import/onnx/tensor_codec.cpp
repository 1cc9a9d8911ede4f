#include "spec/import/onnx/tensor_codec.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstring>

#include "spec/import/onnx/element_code.h"
#include "spec/import/onnx/external_data.h"
#include "spec/import/onnx/names.h"
#include "spec/import/onnx/schema.h"

namespace ulpian::onnx_file {

static_assert(std::endian::native == std::endian::little, "raw_data is little endian, and copied as it is");

namespace {

Diagnostic wrong(const std::string& owner, std::string_view what, ErrorKind kind = ErrorKind::Input) {
  Diagnostic d;
  d.kind = kind;
  d.message = fmt::format("{}: {}", owner, what);
  return d;
}

// Bits that one element takes in a file: a bool takes a byte.
int file_bits(ElementType type) { return type == ElementType::Bool ? 8 : bits_of(type); }

std::int64_t packed_bytes(ElementType type, std::int64_t count) {
  const int bits = file_bits(type);
  if (bits >= 8) return count * (bits / 8);
  return count / 8 * bits + (count % 8 * bits + 7) / 8;
}

// The elements of the types of 2, 4 and 6 bits are a stream of bits, first element in the lowest ones: each is spread to a byte.
void unpack(ElementType type, std::span<const std::uint8_t> packed, Tensor& out) {
  const int bits = bits_of(type);
  const unsigned mask = (1u << bits) - 1;
  auto* to = out.writable<std::uint8_t>();
  std::size_t byte = 0;
  int shift = 0;
  for (std::int64_t k = 0; k < out.size(); ++k) {
    unsigned word = packed[byte];
    if (shift + bits > 8) word |= static_cast<unsigned>(packed[byte + 1]) << 8;
    to[k] = static_cast<std::uint8_t>((word >> shift) & mask);
    shift += bits;
    if (shift >= 8) ++byte, shift -= 8;
  }
}

std::span<const std::uint8_t> octets(const void* data, std::size_t size) { return {static_cast<const std::uint8_t*>(data), size}; }

// Whether an entry of int32_data is a byte of packed elements. Those of 6 bits, of which four take three bytes, have an entry each.
bool shares_entries(ElementType type) { return file_bits(type) < 8 && 8 % file_bits(type) == 0; }

Status check_bools(const Tensor& t, const std::string& owner) {
  const auto* data = t.data<std::uint8_t>();
  for (std::int64_t k = 0; k < t.size(); ++k)
    if (data[k] > 1) return wrong(owner, fmt::format("element {} of a bool tensor is {}; it must be 0 or 1", k, data[k]));
  return success();
}

enum class Field : std::uint8_t { Float, Int32, String, Int64, Double, Uint64, Raw };
constexpr const char* FieldNames[] = {"float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data", "raw_data"};

Field field_of(ElementType type) {
  switch (type) {
    case ElementType::F32: case ElementType::C64: return Field::Float;
    case ElementType::F64: case ElementType::C128: return Field::Double;
    case ElementType::I64: return Field::Int64;
    case ElementType::U32: case ElementType::U64: return Field::Uint64;
    case ElementType::String: return Field::String;
    default: return Field::Int32;
  }
}

std::int64_t entries(const ::onnx::TensorProto& p, Field field) {
  switch (field) {
    case Field::Float: return p.float_data_size();
    case Field::Int32: return p.int32_data_size();
    case Field::String: return p.string_data_size();
    case Field::Int64: return p.int64_data_size();
    case Field::Double: return p.double_data_size();
    case Field::Uint64: return p.uint64_data_size();
    case Field::Raw: return static_cast<std::int64_t>(p.raw_data().size());
  }
  ensure(false);
}

// Entries of `field` that `count` elements take.
std::int64_t entries_for(ElementType type, Field field, std::int64_t count) {
  if (type == ElementType::String) return count;
  if (field == Field::Raw) return packed_bytes(type, count);
  if (is_complex(type)) return 2 * count;
  return shares_entries(type) ? packed_bytes(type, count) : count;
}

std::int64_t memory_per_element(ElementType type) {
  return type == ElementType::String ? static_cast<std::int64_t>(sizeof(std::string)) : bytes_of(type);
}

struct Plan {
  ElementType type;
  Extents extents;
  std::int64_t count;
  Field field;
};

// Which field holds the elements, when the tensor isn't external. An empty tensor may have none.
Result<Field> field_in_use(const ::onnx::TensorProto& p, ElementType type, const std::string& owner) {
  const Field typed = field_of(type);
  std::optional<Field> used;
  if (p.has_raw_data()) used = Field::Raw;
  for (const Field f : {Field::Float, Field::Int32, Field::String, Field::Int64, Field::Double, Field::Uint64}) {
    if (entries(p, f) == 0) continue;
    if (used && entries(p, *used) > 0) return wrong(owner, fmt::format("its elements stand both in {} and in {}", FieldNames[static_cast<int>(*used)], FieldNames[static_cast<int>(f)]));
    if (f != typed) return wrong(owner, fmt::format("its elements stand in {}; those of type {} stand in {} or raw_data", FieldNames[static_cast<int>(f)], name_of(type), FieldNames[static_cast<int>(typed)]));
    used = f;
  }
  if (used == Field::Raw && type == ElementType::String) return wrong(owner, "strings stand in raw_data; they must stand in string_data");
  return used.value_or(typed);
}

Result<Plan> plan_of(const ::onnx::TensorProto& p, const std::string& owner, const DecodeLimits& limits) {
  auto type = checked_element_type(p.data_type(), owner);
  if (!type) return std::move(type).error();
  if (p.has_segment()) return wrong(owner, "tensors in segments are not supported", ErrorKind::Unsupported);
  Plan plan{*type, Extents(p.dims().begin(), p.dims().end()), 0, Field::Raw};
  if (plan.extents.size() > MostAxes) return wrong(owner, fmt::format("rank {} is above the limit of {}", plan.extents.size(), MostAxes), ErrorKind::Limit);
  for (const std::int64_t e : plan.extents)
    if (e < 0) return wrong(owner, fmt::format("extents {} hold a negative number", to_string(plan.extents)));
  const auto count = element_count(plan.extents);
  if (!count || *count > limits.memory_left / memory_per_element(*type))
    return wrong(owner, fmt::format("{} elements {} take more than the {} bytes that are left of the memory limit", to_string(plan.extents), name_of(*type), limits.memory_left), ErrorKind::Limit);
  plan.count = *count;
  return plan;
}

template <typename T, typename Entries>
void copy_entries(const Entries& from, Tensor& out) {
  if (from.size() > 0) std::memcpy(out.writable<T>(), from.data(), static_cast<std::size_t>(from.size()) * sizeof(T));
}

// The range of an entry of int32_data for one element: signed values of integers, bit patterns of all others.
std::pair<std::int64_t, std::int64_t> int32_range(ElementType type) {
  const int bits = file_bits(type);
  if (type == ElementType::Bool) return {0, 1};
  if (shares_entries(type)) return {0, 255};
  if (is_signed(type)) return {-(std::int64_t{1} << (bits - 1)), (std::int64_t{1} << (bits - 1)) - 1};
  return {0, (std::int64_t{1} << bits) - 1};
}

Status from_int32(const ::onnx::TensorProto& p, const std::string& owner, Tensor& out) {
  const ElementType type = out.type();
  const auto [least, most] = int32_range(type);
  const bool shared = shares_entries(type);
  std::vector<std::uint8_t> packed;
  if (shared) packed.resize(static_cast<std::size_t>(p.int32_data_size()));
  const auto width = static_cast<std::size_t>(bytes_of(type));
  std::byte* to = out.writable_bytes().data();
  for (int k = 0; k < p.int32_data_size(); ++k) {
    const std::int32_t v = p.int32_data(k);
    if (v < least || v > most) return wrong(owner, fmt::format("entry {} of int32_data is {}; type {} admits {} to {}", k, v, name_of(type), least, most));
    if (shared) packed[static_cast<std::size_t>(k)] = static_cast<std::uint8_t>(v);
    else std::memcpy(to + static_cast<std::size_t>(k) * width, &v, width);
  }
  if (shared) unpack(type, packed, out);
  return success();
}

Status from_uint64(const ::onnx::TensorProto& p, const std::string& owner, Tensor& out) {
  if (out.type() == ElementType::U64) {
    copy_entries<std::uint64_t>(p.uint64_data(), out);
    return success();
  }
  auto* to = out.writable<std::uint32_t>();
  for (int k = 0; k < p.uint64_data_size(); ++k) {
    const std::uint64_t v = p.uint64_data(k);
    if (v > UINT32_MAX) return wrong(owner, fmt::format("entry {} of uint64_data is {}; type u32 admits 0 to {}", k, v, UINT32_MAX));
    to[k] = static_cast<std::uint32_t>(v);
  }
  return success();
}

Status from_raw(const std::string& raw, Tensor& out) {
  if (bits_of(out.type()) < 8 && out.type() != ElementType::Bool) unpack(out.type(), octets(raw.data(), raw.size()), out);
  else if (!raw.empty()) std::memcpy(out.writable_bytes().data(), raw.data(), raw.size());
  return success();
}

Status fill(const ::onnx::TensorProto& p, Field field, const std::string& owner, Tensor& out) {
  switch (field) {
    case Field::Float: copy_entries<float>(p.float_data(), out); return success();
    case Field::Double: copy_entries<double>(p.double_data(), out); return success();
    case Field::Int64: copy_entries<std::int64_t>(p.int64_data(), out); return success();
    case Field::Uint64: return from_uint64(p, owner, out);
    case Field::Int32: return from_int32(p, owner, out);
    case Field::Raw: return from_raw(p.raw_data(), out);
    case Field::String: out.writable_strings().assign(p.string_data().begin(), p.string_data().end()); return success();
  }
  ensure(false);
}

void release_payload(::onnx::TensorProto& p) {
  std::string().swap(*p.mutable_raw_data());  // clearing alone would keep the memory
  p.clear_raw_data();
  p.clear_string_data();
}

struct ExternalPlace {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

Result<std::uint64_t> number(const std::string& text, std::string_view key, const std::string& owner) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > INT64_MAX)
    return wrong(owner, fmt::format("external data: {} is {}; it must be a number of bytes", key, shown(text)));
  return value;
}

Result<ExternalPlace> external_place(const ::onnx::TensorProto& p, const std::string& owner) {
  ExternalPlace place;
  for (const auto& entry : p.external_data()) {
    if (entry.key() == "location") place.location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length") continue;
    auto value = number(entry.value(), entry.key(), owner);
    if (!value) return std::move(value).error();
    if (entry.key() == "offset") place.offset = *value;
    else place.length = *value;
  }
  return place;
}

Result<Tensor> decode_external(const ::onnx::TensorProto& p, const Plan& plan, const std::string& owner, DecodeLimits& limits) {
  if (plan.type == ElementType::String) return wrong(owner, "strings cannot stand in external data");
  if (!limits.external) return wrong(owner, "its elements stand in another file, which a tensor on its own may not name");
  for (int f = 0; f <= static_cast<int>(Field::Raw); ++f)
    if (entries(p, static_cast<Field>(f)) > 0) return wrong(owner, fmt::format("its elements stand both in external data and in {}", FieldNames[f]));
  auto place = external_place(p, owner);
  if (!place) return std::move(place).error();
  const auto needed = static_cast<std::uint64_t>(packed_bytes(plan.type, plan.count));
  if (place->length && *place->length != needed)
    return wrong(owner, fmt::format("external data has {} bytes; {} elements {} take {}", *place->length, to_string(plan.extents), name_of(plan.type), needed));
  const auto located = [&](Diagnostic d) { d.message = owner + ": " + d.message; return d; };
  if (auto s = limits.external->check(place->location, place->offset, needed); !s) return located(std::move(s).error());
  Tensor out(plan.type, plan.extents);
  std::vector<std::byte> packed;
  if (bits_of(plan.type) < 8 && plan.type != ElementType::Bool) packed.resize(needed);
  const auto target = packed.empty() ? out.writable_bytes() : std::span<std::byte>(packed);
  if (auto s = limits.external->read(place->location, place->offset, target.first(needed)); !s) return located(std::move(s).error());
  if (!packed.empty()) unpack(plan.type, octets(packed.data(), packed.size()), out);
  return out;
}

Result<Tensor> decode_inline(const ::onnx::TensorProto& p, Plan plan, const std::string& owner) {
  auto field = field_in_use(p, plan.type, owner);
  if (!field) return std::move(field).error();
  const std::int64_t there = entries(p, *field);
  const std::int64_t needed = entries_for(plan.type, *field, plan.count);
  if (there != needed)
    return wrong(owner, fmt::format("{} has {} {}; {} elements {} take {}", FieldNames[static_cast<int>(*field)], there, *field == Field::Raw ? "bytes" : "entries",
                                    to_string(plan.extents), name_of(plan.type), needed));
  Tensor out(plan.type, std::move(plan.extents));
  if (auto s = fill(p, *field, owner, out); !s) return std::move(s).error();
  return out;
}

}  // namespace

Result<Tensor> decode(::onnx::TensorProto& proto, const std::string& owner, DecodeLimits& limits) {
  auto plan = plan_of(proto, owner, limits);
  if (!plan) return std::move(plan).error();
  const bool external = proto.data_location() == ::onnx::TensorProto::EXTERNAL;
  auto tensor = external ? decode_external(proto, *plan, owner, limits) : decode_inline(proto, *plan, owner);
  if (!tensor) return tensor;
  if (plan->type == ElementType::Bool)
    if (auto s = check_bools(*tensor, owner); !s) return std::move(s).error();
  release_payload(proto);
  limits.memory_left -= tensor->size() * memory_per_element(tensor->type());
  return tensor;
}

namespace {

// The row-major position of the k-th value, whose indices may be positions or one row of `rank` numbers each.
Result<std::int64_t> sparse_position(const Tensor& indices, std::int64_t k, const Extents& extents, std::int64_t count, const std::string& owner) {
  const auto* at = indices.data<std::int64_t>();
  if (indices.rank() == 1) {
    if (at[k] < 0 || at[k] >= count) return wrong(owner, fmt::format("index {} is {}; the tensor has {} elements", k, at[k], count));
    return at[k];
  }
  std::int64_t position = 0;
  const auto rank = static_cast<std::int64_t>(extents.size());
  for (std::int64_t d = 0; d < rank; ++d) {
    const std::int64_t i = at[k * rank + d];
    const std::int64_t extent = extents[static_cast<std::size_t>(d)];
    if (i < 0 || i >= extent) return wrong(owner, fmt::format("index {} is {} on axis {}, whose extent is {}", k, i, d, extent));
    position = position * extent + i;
  }
  return position;
}

void copy_element(const Tensor& from, std::int64_t k, Tensor& to, std::int64_t position) {
  if (from.type() == ElementType::String) {
    to.writable_strings()[static_cast<std::size_t>(position)] = from.strings()[static_cast<std::size_t>(k)];
    return;
  }
  const auto width = static_cast<std::size_t>(bytes_of(from.type()));
  std::memcpy(to.writable_bytes().data() + static_cast<std::size_t>(position) * width, from.bytes().data() + static_cast<std::size_t>(k) * width, width);
}

}  // namespace

Result<Tensor> decode(::onnx::SparseTensorProto& proto, const std::string& owner, DecodeLimits& limits) {
  auto values = decode(*proto.mutable_values(), owner + ", values", limits);
  if (!values) return values;
  auto indices = decode(*proto.mutable_indices(), owner + ", indices", limits);
  if (!indices) return indices;
  // The dense tensor's own size is checked as that of any other: by a proto without elements.
  ::onnx::TensorProto dense;
  dense.set_data_type(proto.values().data_type());
  *dense.mutable_dims() = proto.dims();
  DecodeLimits dense_limits;
  dense_limits.memory_left = std::min(limits.memory_left, limits.dense_left);
  auto plan = plan_of(dense, owner, dense_limits);
  if (!plan) return std::move(plan).error();

  const auto rank = static_cast<std::int64_t>(plan->extents.size());
  if (values->rank() != 1) return wrong(owner, fmt::format("values have extents {}; they must have rank 1", to_string(values->extents())));
  if (indices->type() != ElementType::I64) return wrong(owner, fmt::format("indices have type {}; they must be i64", name_of(indices->type())));
  const bool positions = indices->extents() == Extents{values->size()};
  if (!positions && indices->extents() != Extents{values->size(), rank})
    return wrong(owner, fmt::format("indices have extents {}; they must have [{}] or [{}, {}]", to_string(indices->extents()), values->size(), values->size(), rank));

  Tensor out(plan->type, plan->extents);
  std::int64_t last = -1;
  for (std::int64_t k = 0; k < values->size(); ++k) {
    auto position = sparse_position(*indices, k, plan->extents, plan->count, owner);
    if (!position) return std::move(position).error();
    if (*position <= last) return wrong(owner, fmt::format("index {} does not come after the one before; indices must ascend", k));
    last = *position;
    copy_element(*values, k, out, *position);
  }
  const std::int64_t taken = out.size() * memory_per_element(out.type());
  limits.memory_left -= taken;
  limits.dense_left -= taken;
  return out;
}

std::int64_t encoded_size(const Tensor& tensor) {
  if (tensor.type() != ElementType::String) return packed_bytes(tensor.type(), tensor.size());
  std::int64_t size = 0;
  for (const std::string& s : tensor.strings()) size += static_cast<std::int64_t>(s.size()) + 6;
  return size;
}

void encode(const Tensor& tensor, std::string_view name, ::onnx::TensorProto& out) {
  out.set_name(std::string(name));
  out.set_data_type(onnx_code_of(tensor.type()));
  for (const std::int64_t e : tensor.extents()) out.add_dims(e);
  if (tensor.type() == ElementType::String) {
    for (const std::string& s : tensor.strings()) out.add_string_data(s);
    return;
  }
  std::string& raw = *out.mutable_raw_data();
  const int bits = file_bits(tensor.type());
  if (bits >= 8) {
    raw.assign(reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size());
    return;
  }
  raw.assign(static_cast<std::size_t>(packed_bytes(tensor.type(), tensor.size())), '\0');
  std::size_t byte = 0;
  int shift = 0;
  for (std::int64_t k = 0; k < tensor.size(); ++k) {
    const int shifted = tensor.data<std::uint8_t>()[k] << shift;
    raw[byte] = static_cast<char>(raw[byte] | shifted);
    shift += bits;
    if (shift < 8) continue;
    ++byte, shift -= 8;
    if (shift > 0) raw[byte] = static_cast<char>(shifted >> 8);
  }
}

}  // namespace ulpian::onnx_file
