#include "spec/import/onnx/tensor_proto.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <onnx/onnx-data.pb.h>
#include "spec/core/cut.h"
#include "spec/core/file.h"
#include "spec/import/onnx/export_onnx.h"
#include "spec/import/onnx/test_models.h"

namespace ulpian::onnx_file {
namespace {

namespace fs = std::filesystem;

Result<NamedTensor> parse(const onnx::TensorProto& p) {
  const std::string bytes = p.SerializeAsString();
  return parse_tensor_proto(bytes_of_text(bytes), "t.pb", 1 << 20);
}

std::string message_of(const onnx::TensorProto& p) {
  auto r = parse(p);
  return r ? "" : to_string(r.error());
}

onnx::TensorProto tensor(int code, std::vector<std::int64_t> dims) {
  onnx::TensorProto t;
  t.set_data_type(code);
  for (const auto d : dims) t.add_dims(d);
  return t;
}

TEST(TensorProto, TypedFieldsHoldWhatTheSchemaSays) {
  auto half = tensor(10, {2});  // 1.0 and -2.0 as bit patterns of f16
  half.add_int32_data(0x3c00);
  half.add_int32_data(0xc000);
  EXPECT_EQ(parse(half)->tensor.at(1), 0xc000u);
  auto byte = tensor(3, {2});
  byte.add_int32_data(-128);
  byte.add_int32_data(127);
  EXPECT_EQ(parse(byte)->tensor.at(0), 0x80u);
  auto nibbles = tensor(21, {3});  // two in a byte, the first in the low bits
  nibbles.add_int32_data(0x21);
  nibbles.add_int32_data(0x03);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(parse(nibbles)->tensor.at(k), static_cast<Bits>(k + 1));
  auto pairs = tensor(26, {5});  // four in a byte: 0b11'10'01'00, then 1
  pairs.add_int32_data(0xe4);
  pairs.add_int32_data(0x01);
  const Bits expected[] = {0, 1, 2, 3, 1};
  for (int k = 0; k < 5; ++k) EXPECT_EQ(parse(pairs)->tensor.at(k), expected[k]);
  // Of six bits: one an entry of int32_data; in raw_data four in three bytes, a stream whose first bits are the lowest.
  auto entries = tensor(27, {2});
  entries.add_int32_data(63);
  entries.add_int32_data(1);
  EXPECT_EQ(parse(entries)->tensor.at(0), 63u);
  auto stream = tensor(28, {5});  // 1, 2, 3, 4, 63: 0b000100'000011'000010'000001, then 0b111111
  stream.set_raw_data(std::string("\x81\x30\x10\x3f", 4));
  const Bits six[] = {1, 2, 3, 4, 63};
  for (int k = 0; k < 5; ++k) EXPECT_EQ(parse(stream)->tensor.at(k), six[k]);
  auto complex = tensor(14, {1});
  complex.add_float_data(1);
  complex.add_float_data(-2);
  EXPECT_EQ(parse(complex)->tensor.data<float>()[1], -2.0f);
  auto unsigned32 = tensor(12, {1});
  unsigned32.add_uint64_data(0xffffffff);
  EXPECT_EQ(parse(unsigned32)->tensor.at(0), 0xffffffffu);
  auto strings = tensor(8, {2});
  strings.add_string_data("a");
  strings.add_string_data(std::string("\0\xff", 2));
  EXPECT_EQ(parse(strings)->tensor.strings()[1], std::string("\0\xff", 2));
  EXPECT_EQ(parse(tensor(1, {0, 5}))->tensor.size(), 0);
}

TEST(TensorProto, ValuesOutsideOfTheTypeAreErrors) {
  const auto with = [](int code, std::int32_t value) {
    auto t = tensor(code, {1});
    t.add_int32_data(value);
    return message_of(t);
  };
  EXPECT_EQ(with(2, 256), "the tensor: entry 0 of int32_data is 256; type u8 admits 0 to 255 (t.pb)");
  EXPECT_EQ(with(3, 128), "the tensor: entry 0 of int32_data is 128; type i8 admits -128 to 127 (t.pb)");
  EXPECT_EQ(with(10, 65536), "the tensor: entry 0 of int32_data is 65536; type f16 admits 0 to 65535 (t.pb)");
  EXPECT_EQ(with(9, 2), "the tensor: entry 0 of int32_data is 2; type bool admits 0 to 1 (t.pb)");
  EXPECT_EQ(with(27, 64), "the tensor: entry 0 of int32_data is 64; type f6e2m3 admits 0 to 63 (t.pb)");
  EXPECT_EQ(with(21, 256), "the tensor: entry 0 of int32_data is 256; type u4 admits 0 to 255 (t.pb)");
  auto boolean = tensor(9, {2});
  boolean.set_raw_data(std::string("\1\3", 2));
  EXPECT_EQ(message_of(boolean), "the tensor: element 1 of a bool tensor is 3; it must be 0 or 1 (t.pb)");
  auto wide = tensor(12, {1});
  wide.add_uint64_data(std::uint64_t{1} << 32);
  EXPECT_NE(message_of(wide).find("type u32 admits 0 to 4294967295"), std::string::npos);
  auto strings = tensor(8, {1});
  strings.set_raw_data("a");
  EXPECT_NE(message_of(strings).find("strings stand in raw_data"), std::string::npos);
  auto external = tensor(1, {1});
  external.set_data_location(onnx::TensorProto::EXTERNAL);
  EXPECT_NE(message_of(external).find("may not name"), std::string::npos);
  EXPECT_NE(message_of(tensor(1, {1 << 20})).find("memory limit"), std::string::npos);
}

// --- where an optional value is declared

template <typename Proto>
Result<NamedDatum> optional(const Proto& p, bool of_sequence = false) {
  const std::string bytes = p.SerializeAsString();
  return parse_optional_proto(bytes_of_text(bytes), "o.pb", ElementType::F32, of_sequence, 1 << 20);
}

TEST(OptionalProto, ATensorMayStandForItself) {
  auto one = tensor(1, {1});
  one.add_float_data(2);
  auto held = optional(one);
  ASSERT_TRUE(held) << to_string(held.error());
  ASSERT_TRUE(held->value.tensor());
  EXPECT_EQ(held->value.tensor()->data<float>()[0], 2.0f);
  // Without dimensions its fields have the numbers of an optional's: 2 is also the kind, 4 to 7 are also values.
  const auto scalar = [](int code, auto fill) {
    auto t = tensor(code, {});
    fill(t);
    auto got = optional(t);
    EXPECT_TRUE(got) << code << ": " << to_string(got.error());
    return got && got->value.tensor() && got->value.tensor()->rank() == 0 ? std::optional(*got->value.tensor()) : std::nullopt;
  };
  const auto f32 = scalar(1, [](auto& t) { t.add_float_data(1.5F); });
  ASSERT_TRUE(f32);
  EXPECT_EQ(f32->data<float>()[0], 1.5f);
  for (int n : {0, 1, 8, 10, 127, -1}) {
    const auto i8 = scalar(3, [&](auto& t) { t.add_int32_data(n); });
    EXPECT_TRUE(i8 && to_int64(ElementType::I8, i8->at(0)) == n) << n;
  }
  const auto i64 = scalar(7, [](auto& t) { t.add_int64_data(10); });
  EXPECT_TRUE(i64 && i64->at(0) == 10u);
  const auto text = scalar(8, [](auto& t) { t.add_string_data("a"); });
  EXPECT_TRUE(text && text->strings()[0] == "a");
  const auto none = optional(tensor(1, {0, 5}));
  EXPECT_TRUE(none && none->value.tensor() && none->value.tensor()->extents() == (Extents{0, 5}));
}

TEST(OptionalProto, HoldsATensorASequenceOrNothing) {
  onnx::OptionalProto o;
  EXPECT_FALSE(optional(o)->value.is_present());
  EXPECT_FALSE(optional(o, true)->value.is_present());
  o.set_name("o");
  o.set_elem_type(onnx::OptionalProto::TENSOR);
  EXPECT_FALSE(optional(o)->value.is_present());
  auto& held = *o.mutable_tensor_value();
  held = tensor(7, {2});
  held.add_int64_data(3);
  held.add_int64_data(4);
  EXPECT_EQ(optional(o)->value.tensor()->at(1), 4u);
  EXPECT_EQ(optional(o)->name, "o");
  onnx::OptionalProto of_sequence;
  of_sequence.set_elem_type(onnx::OptionalProto::SEQUENCE);
  EXPECT_FALSE(optional(of_sequence, true)->value.is_present());
  *of_sequence.mutable_sequence_value()->add_tensor_values() = held;
  EXPECT_EQ(optional(of_sequence, true)->value.count(), 1u);
  // A sequence that stands for itself, of any length.
  onnx::SequenceProto s;
  s.set_elem_type(onnx::SequenceProto::TENSOR);
  for (std::size_t n = 0; n < 3; ++n) {
    auto items = optional(s, true);
    ASSERT_TRUE(items && items->value.sequence()) << n;
    EXPECT_EQ(items->value.count(), n);
    *s.add_tensor_values() = held;
  }
  const auto bad = parse_optional_proto(bytes_of_text("\xff\xff"), "o.pb", ElementType::F32, false, 1 << 20);
  EXPECT_EQ(to_string(bad.error()), "not a OptionalProto: truncated or corrupt (o.pb)");
}

std::vector<std::byte> file(const std::string& name) { return read_file(name, 1 << 20).value(); }

// The onnx package writes what this code reads, and reads what it writes.
TEST(TensorProto, AgreesWithTheOnnxPackage) {
  std::string folder = testing::TempDir() + "/ulpian_oracle_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string oracle = std::string("\"") + ULPIAN_PYTHON "\" \"" ULPIAN_SOURCE_DIR "/spec/import/onnx/testdata/onnx_oracle.py\" ";
  ASSERT_EQ(std::system((oracle + "write \"" + folder + "\"").c_str()), 0);
  for (int code = 0; code < static_cast<int>(ElementType::String); ++code) {
    const auto type = static_cast<ElementType>(code);
    const std::string stem = folder + "/" + std::string(name_of(type));
    const auto bits = file(stem + ".bits");
    for (const char* kind : {".typed.pb", ".raw.pb"}) {
      const auto bytes = file(stem + kind);
      auto t = parse_tensor_proto(bytes, stem, 1 << 20);
      ASSERT_TRUE(t.ok()) << to_string(t.error());
      EXPECT_EQ(t->tensor.type(), type);
      EXPECT_EQ(t->tensor.extents(), (Extents{3, 7}));
      ASSERT_EQ(t->tensor.bytes().size(), bits.size());
      EXPECT_EQ(std::memcmp(t->tensor.bytes().data(), bits.data(), bits.size()), 0) << stem << kind;
      auto held = parse_optional_proto(bytes, stem, ElementType::F32, false, 1 << 20);
      EXPECT_TRUE(held && held->value.tensor() && same_elements(*held->value.tensor(), t->tensor)) << stem << kind;
    }
    auto ours = format_tensor_proto(Tensor::from_bytes(type, {3, 7}, bits), name_of(type));
    ASSERT_TRUE(ours.ok());
    ASSERT_TRUE(write_file(stem + ".ours.pb", std::string_view(*ours)).ok());
  }
  auto functions = import_model(rich_model(true));
  ASSERT_TRUE(functions.ok()) << to_string(functions.error());
  ASSERT_TRUE(write_file(folder + "/rich.onnx", std::string_view(*export_onnx(*functions))).ok());
  const std::string small = small_model().SerializeAsString();
  auto graph = import_onnx(bytes_of_text(small));
  for (int k = 0; k < 2; ++k) {
    Cut part = k == 1 ? cut(*graph, std::vector<int>{k}, {graph->constants.begin(), graph->constants.end()}) : cut(*graph, std::vector<int>{k});
    for (GraphValue& v : part.graph.values) v.type = ElementType::F32, v.extents = std::vector<Dimension>{{}, {}};
    if (k == 1) part.graph.values[static_cast<std::size_t>(part.graph.constants[0].first)].extents.reset();
    ASSERT_TRUE(write_file(folder + "/cut" + std::to_string(k) + ".onnx", std::string_view(*export_onnx(part.graph))).ok());
  }
  const GraphValue h[] = {{"h", ElementType::F32, std::vector<Dimension>{{2, {}}, {3, {}}}, false, false}};
  ASSERT_TRUE(write_file(folder + "/exposed.onnx", std::string_view(*expose_values(bytes_of_text(small), h))).ok());
  EXPECT_EQ(std::system((oracle + "read \"" + folder + "\"").c_str()), 0);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace ulpian::onnx_file
