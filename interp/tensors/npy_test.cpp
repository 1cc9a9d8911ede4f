#include "interp/tensors/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "interp/tensors/npy_header.h"

namespace ulpian {
namespace {

std::span<const std::byte> bytes_of_text(const std::string& s) { return std::as_bytes(std::span<const char>(s.data(), s.size())); }

// A file as NumPy's format document describes it, version 1.0.
std::string file_of(const std::string& dictionary, const std::string& data, int major = 1) {
  std::string header = dictionary + "\n";
  std::string out = std::string("\x93NUMPY") + static_cast<char>(major) + '\0';
  const std::size_t n = header.size();
  for (int k = 0; k < (major == 1 ? 2 : 4); ++k) out += static_cast<char>(n >> (8 * k) & 0xFF);
  return out + header + data;
}

std::string dictionary_of(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
}

Result<Tensor> parse(const std::string& file, std::optional<ElementType> type = {}) { return parse_npy(bytes_of_text(file), "a.npy", {type, 1 << 20}); }

std::string message_of(const Result<Tensor>& r) { return r ? "" : to_string(r.error()); }

TEST(Npy, ReadsAnArrayAsNumPyWritesIt) {
  // np.save of np.array([[1, 2, 3], [4, 5, 258]], dtype=np.int16)
  const std::string data("\1\0\2\0\3\0\4\0\5\0\2\1", 12);
  for (int major : {1, 2, 3}) {
    auto t = parse(file_of(dictionary_of("<i2", "(2, 3)"), data, major));
    ASSERT_TRUE(t.ok()) << message_of(t);
    EXPECT_EQ(t->type(), ElementType::I16);
    EXPECT_EQ(t->extents(), (Extents{2, 3}));
    EXPECT_EQ(t->data<std::int16_t>()[5], 258);
  }
}

TEST(Npy, ReadsFortranOrderAndBigEndian) {
  // np.asfortranarray([[1, 2, 3], [4, 5, 6]]) of '>u2': columns follow each other, high byte first.
  const std::string data("\0\1\0\4\0\2\0\5\0\3\0\6", 12);
  auto t = parse(file_of(dictionary_of(">u2", "(2, 3)", true), data));
  ASSERT_TRUE(t.ok()) << message_of(t);
  for (int k = 0; k < 6; ++k) EXPECT_EQ(t->data<std::uint16_t>()[k], k + 1);
}

TEST(Npy, FortranOrderOfRankThreeFollowsTheStrides) {
  std::string data;
  for (int c = 0; c < 4; ++c)
    for (int b = 0; b < 3; ++b)
      for (int a = 0; a < 2; ++a) data += static_cast<char>(a * 100 + b * 10 + c);
  auto t = parse(file_of(dictionary_of("|u1", "(2, 3, 4)", true), data));
  ASSERT_TRUE(t.ok()) << message_of(t);
  for (int a = 0, k = 0; a < 2; ++a)
    for (int b = 0; b < 3; ++b)
      for (int c = 0; c < 4; ++c, ++k) EXPECT_EQ(t->data<std::uint8_t>()[k], a * 100 + b * 10 + c);
}

TEST(Npy, ComplexBigEndianSwapsEachPart) {
  // 1 - 2i as '>c8': 3f800000 c0000000
  const std::string data("\x3f\x80\x00\x00\xc0\x00\x00\x00", 8);
  auto t = parse(file_of(dictionary_of(">c8", "()"), data));
  ASSERT_TRUE(t.ok()) << message_of(t);
  EXPECT_EQ(t->data<float>()[0], 1.0f);
  EXPECT_EQ(t->data<float>()[1], -2.0f);
  EXPECT_EQ(t->rank(), 0);
}

TEST(Npy, TypesThatNumPyLacksPassAsUnsignedIntegers) {
  const std::string file = file_of(dictionary_of("<u2", "(2,)"), std::string("\x80\x3f\xc0\x7f", 4));
  auto t = parse(file, ElementType::BF16);
  ASSERT_TRUE(t.ok()) << message_of(t);
  EXPECT_EQ(t->type(), ElementType::BF16);
  EXPECT_EQ(t->at(0), 0x3f80u);
  EXPECT_NE(message_of(parse(file, ElementType::F8E5M2)).find("the file holds '<u2'; f8e5m2 is asked for"), std::string::npos);
  EXPECT_NE(message_of(parse(file, ElementType::F16)).find("f16 is asked for, which stands in float16"), std::string::npos);
  auto raw = parse(file_of(dictionary_of("|V2", "(2,)"), std::string(4, '\1')), ElementType::BF16);  // np.save of an ml_dtypes array
  ASSERT_TRUE(raw.ok()) << message_of(raw);
  EXPECT_NE(message_of(parse(file_of(dictionary_of("|u1", "(2,)"), "\3\20"), ElementType::I4)).find("element 1 is 16; type i4 admits 0 to 15"), std::string::npos);
}

TEST(Npy, EveryTypeComesBackWithItsBits) {
  std::mt19937_64 random(7);
  for (int code = 0; code < static_cast<int>(ElementType::String); ++code) {
    const auto type = static_cast<ElementType>(code);
    for (const Extents& extents : {Extents{}, Extents{0}, Extents{3, 0, 2}, Extents{2, 5}, Extents{1, 1, 1, 1, 7}}) {
      Tensor t(type, extents);
      const int bits = bits_of(type);
      for (auto& b : t.writable_bytes()) b = static_cast<std::byte>(random() & (bits < 8 ? (1u << bits) - 1 : 255u));
      auto file = format_npy(t);
      ASSERT_TRUE(file.ok());
      EXPECT_EQ(npy::parse_header(bytes_of_text(*file))->data % 64, 0u);
      auto back = parse(*file, type);
      ASSERT_TRUE(back.ok()) << message_of(back);
      EXPECT_EQ(back->extents(), extents);
      ASSERT_EQ(back->bytes().size(), t.bytes().size());
      EXPECT_TRUE(t.size() == 0 || std::memcmp(back->bytes().data(), t.bytes().data(), t.bytes().size()) == 0);
      EXPECT_EQ(parse(*file).ok(), true);
    }
  }
}

TEST(Npy, StringsAreUnicode) {
  const Tensor t(Extents{2, 2}, {"", "abc", "\xc3\xa9\xe2\x82\xac", "\xf0\x9f\x98\x80x"});
  auto file = format_npy(t);
  ASSERT_TRUE(file.ok());
  EXPECT_NE(file->find("'<U3'"), std::string::npos);
  auto back = parse(*file);
  ASSERT_TRUE(back.ok()) << message_of(back);
  EXPECT_EQ(back->strings(), t.strings());
  auto ascii = parse(file_of(dictionary_of("|S3", "(2,)"), std::string("ab\0xyz", 6)));
  ASSERT_TRUE(ascii.ok());
  EXPECT_EQ(ascii->strings(), (std::vector<std::string>{"ab", "xyz"}));
  EXPECT_FALSE(format_npy(Tensor(Extents{1}, {"\xff"})).ok());
  EXPECT_FALSE(format_npy(Tensor(Extents{1}, {std::string("a\0", 2)})).ok());
  EXPECT_FALSE(parse(file_of(dictionary_of("<U1", "(1,)"), std::string("\0\xd8\0\0", 4))).ok());
}

TEST(Npy, RefusesWhatIsNoArrayOfNumbers) {
  const auto message = [](const std::string& dictionary, const std::string& data = "") { return message_of(parse(file_of(dictionary, data))); };
  EXPECT_NE(message(dictionary_of("|O", "(1,)"), "\x80\4.").find("pickle"), std::string::npos);
  EXPECT_NE(message("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }").find("structured array"), std::string::npos);
  EXPECT_NE(message(dictionary_of("<M8[ns]", "(1,)")).find("not a type of numbers"), std::string::npos);
  EXPECT_NE(message(dictionary_of("<f16", "(1,)")).find("no counterpart"), std::string::npos);
  EXPECT_NE(message(dictionary_of("|b1", "(2,)"), "\1\2").find("element 1 is 2"), std::string::npos);
  EXPECT_NE(message(dictionary_of("<f4", "(2,)"), "1234567").find("7 bytes follow the header; [2] elements '<f4' take 8"), std::string::npos);
  EXPECT_NE(message(dictionary_of("<f4", "(-1,)")).find("negative"), std::string::npos);
  EXPECT_NE(message(dictionary_of("<f4", "(1099511627776,)")).find("above the memory limit"), std::string::npos);
  EXPECT_NE(message(dictionary_of("<U0", "(1099511627776,)")).find("above the memory limit"), std::string::npos);
  EXPECT_NE(message(dictionary_of("<f4", "(4611686018427387904, 4611686018427387904)")).find("above the memory limit"), std::string::npos);
  EXPECT_NE(message("{'descr': '<f4', 'fortran_order': False}").find("no dictionary of"), std::string::npos);
  EXPECT_NE(message("{'descr': __import__('os'), 'fortran_order': False, 'shape': ()}").find("no dictionary of"), std::string::npos);
  EXPECT_NE(message_of(parse(std::string("\x93NUMPY\4\0\0\0\0\0", 12))).find("version 4.0"), std::string::npos);
  EXPECT_NE(message_of(parse(std::string("\x93NUMPY\2\0\xff\xff\xff\x7f", 12))).find("at most 1048576 are read"), std::string::npos);
  EXPECT_NE(message_of(parse("")).find("empty"), std::string::npos);
  EXPECT_EQ(message_of(parse("PK\3\4")), "not an .npy file: it does not begin with \\x93NUMPY (a.npy)");
}

TEST(Npy, TruncatedAndFlippedFilesGiveAnErrorOrATensor) {
  const std::string file = file_of(dictionary_of("<f4", "(2, 3)", true), std::string(24, '\1'));
  ASSERT_TRUE(parse(file).ok());
  for (std::size_t n = 0; n < file.size(); ++n) EXPECT_FALSE(parse(file.substr(0, n)).ok()) << n;
  constexpr int Seed = 20240611;
  std::mt19937_64 random(Seed);
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = file;
    for (int k = 0; k < 1 + round % 3; ++k) damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
    (void)parse(damaged);
    (void)parse(damaged, ElementType::BF16);
  }
}

}  // namespace
}  // namespace ulpian
