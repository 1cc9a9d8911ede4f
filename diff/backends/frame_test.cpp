#include "diff/backends/frame.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "diff/backends/message.h"

namespace ulpian::diff {
namespace {

std::string bytes_of_frame(const OutgoingFrame& frame) {
  std::string out = frame.head;
  for (const auto part : frame.parts) out.append(reinterpret_cast<const char*>(part.data()), part.size());
  return out;
}

// Feeds the bytes in pieces as a pipe would; empty if the frame is incomplete or refused.
std::optional<Frame> read_frame(std::string_view bytes, std::mt19937_64& random, std::string* trouble = nullptr, std::size_t* used = nullptr) {
  FrameReader reader(FrameLimits{1 << 16, 1 << 20});
  std::size_t at = 0;
  while (!reader.complete() && at < bytes.size()) {
    const auto room = reader.wanted();
    const std::size_t n = std::min({room.size(), bytes.size() - at, static_cast<std::size_t>(random() % 40 + 1)});
    std::memcpy(room.data(), bytes.data() + at, n);
    at += n;
    if (Status status = reader.received(n); !status.ok()) {
      if (trouble) *trouble = status.error().message;
      return std::nullopt;
    }
  }
  if (used) *used = at;
  if (!reader.complete()) return std::nullopt;
  return reader.take();
}

Tensor tensor_of(ElementType type, Extents extents, std::mt19937_64& random) {
  Tensor t(type, std::move(extents));
  for (std::int64_t k = 0; k < t.size(); ++k) {
    for (int b = 0; b < bytes_of(type); ++b) {
      const auto mask = bits_of(type) < 8 ? (1u << bits_of(type)) - 1 : 0xffu;
      t.writable_bytes()[static_cast<std::size_t>(k * bytes_of(type) + b)] = static_cast<std::byte>(random() & mask);
    }
  }
  return t;
}

// Every stored type, empty and scalar tensors, strings that are not UTF-8, sequences, an absent optional.
Values samples(std::mt19937_64& random) {
  Values out;
  for (int k = 0; k < ElementTypeCount; ++k) {
    const auto type = static_cast<ElementType>(k);
    if (type == ElementType::Z || type == ElementType::R) continue;
    if (type == ElementType::String) {
      Tensor s({2, 2}, {"", std::string("a\0b", 3), "\xff\xfe", "grün"});
      out.push_back({"strings", s});
      continue;
    }
    for (const Extents& e : {Extents{}, Extents{3, 0}, Extents{5, 13}, Extents{64}}) out.push_back({std::string(name_of(type)), tensor_of(type, e, random)});
  }
  out.push_back({"sequence", Sequence{ElementType::I64, {tensor_of(ElementType::I64, {2}, random), tensor_of(ElementType::I64, {}, random)}}});
  out.push_back({"empty sequence", Sequence{ElementType::BF16, {}}});
  out.push_back({"absent \"x\"\n", Absent{}});
  return out;
}

void expect_same(const Value& a, const Value& b) {
  EXPECT_EQ(a.name, b.name);
  ASSERT_EQ(a.value.index(), b.value.index());
  const auto same_tensor = [](const Tensor& x, const Tensor& y) {
    EXPECT_EQ(x.type(), y.type());
    EXPECT_EQ(x.extents(), y.extents());
    if (x.type() == ElementType::String) {
      EXPECT_EQ(x.strings(), y.strings());
    } else {
      ASSERT_EQ(x.bytes().size(), y.bytes().size());
      EXPECT_EQ(std::memcmp(x.bytes().data(), y.bytes().data(), x.bytes().size()), 0);
    }
  };
  if (a.tensor()) same_tensor(*a.tensor(), *b.tensor());
  if (const auto* s = std::get_if<Sequence>(&a.value)) {
    const auto& t = std::get<Sequence>(b.value);
    EXPECT_EQ(s->type, t.type);
    ASSERT_EQ(s->elements.size(), t.elements.size());
    for (std::size_t k = 0; k < s->elements.size(); ++k) same_tensor(s->elements[k], t.elements[k]);
  }
}

TEST(Frame, HasTheBytesThatTheDocumentationShows) {
  // docs/backends.md, "Frames", worked out by hand.
  OutgoingFrame frame;
  frame.append(std::string("abc"));
  frame.finish("{}");
  std::string expected("ULPIAN/1\x02\0\0\0\0\0\0\0\x40\0\0\0\0\0\0\0{}abc", 29);
  expected.append(61, '\0');
  EXPECT_EQ(bytes_of_frame(frame), expected);
}

TEST(Message, EveryValueComesBackBitForBit) {
  std::mt19937_64 random(1);
  const Request request{77, RunRequest{5, {samples(random), {}, samples(random)}}};
  const auto frame = read_frame(bytes_of_frame(encode(request)), random);
  ASSERT_TRUE(frame);
  const auto got = decode_request(*frame);
  ASSERT_TRUE(got.ok()) << to_string(got.error());
  EXPECT_EQ(got->id, 77);
  const auto& run = std::get<RunRequest>(got->what);
  const auto& sent = std::get<RunRequest>(request.what);
  EXPECT_EQ(run.program, 5);
  ASSERT_EQ(run.batches.size(), 3u);
  for (std::size_t b = 0; b < 3; ++b) {
    ASSERT_EQ(run.batches[b].size(), sent.batches[b].size());
    for (std::size_t k = 0; k < run.batches[b].size(); ++k) expect_same(sent.batches[b][k], run.batches[b][k]);
  }
}

TEST(Message, EveryOutcomeOfABatchComesBack) {
  std::mt19937_64 random(2);
  Outputs outputs{samples(random), {true, "up"}};
  RunAnswer answer;
  answer.batches.push_back({outputs, 0.125, {}});
  answer.batches.push_back({Refused{Refusal::Invalid, "not \xff UTF-8"}, -1, {}});
  answer.batches.push_back({Failed{FailureCause::Internal, "f"}, -1, {}});
  answer.batches.push_back({OutOfMemory{0, 0, "m"}, -1, {}});
  const Answer whole{3, answer};
  const auto frame = read_frame(bytes_of_frame(encode(whole)), random);
  ASSERT_TRUE(frame);
  const auto got = decode_answer(*frame);
  ASSERT_TRUE(got.ok()) << to_string(got.error());
  const auto& batches = std::get<RunAnswer>(got->what).batches;
  ASSERT_EQ(batches.size(), 4u);
  ASSERT_TRUE(batches[0].outputs());
  EXPECT_EQ(batches[0].seconds, 0.125);
  EXPECT_EQ(batches[0].outputs()->float_state.flushes_subnormals, true);
  EXPECT_EQ(batches[0].outputs()->float_state.rounding, "up");
  EXPECT_EQ(batches[0].outputs()->values.size(), outputs.values.size());
  EXPECT_EQ(describe(batches[1]), "refused (invalid): not \xef\xbf\xbd UTF-8");
  EXPECT_EQ(describe(batches[2]), "failed: f");
  EXPECT_EQ(describe(batches[3]), "out of memory: m");
}

TEST(Message, MembersThatThisVersionDoesNotKnowAreIgnored) {
  OutgoingFrame out;
  out.finish(R"({"type": "done", "id": 9, "colour": {"deep": [1, {"er": null}]}})");
  std::mt19937_64 random(3);
  const auto frame = read_frame(bytes_of_frame(out), random);
  ASSERT_TRUE(frame);
  const auto got = decode_answer(*frame);
  ASSERT_TRUE(got.ok()) << to_string(got.error());
  EXPECT_EQ(got->id, 9);
}

// Mutations of sound frames and plain noise: an error or a message, never a crash, and never more memory than arrived or the caps allow.
TEST(Frame, MutatedFramesAreErrorsOrMessages) {
  constexpr std::uint64_t Seed = 20240611;
  SCOPED_TRACE(testing::Message() << "seed " << Seed);
  std::mt19937_64 random(Seed);
  std::vector<std::string> sound;
  const Values few{{"x", tensor_of(ElementType::BF16, {3, 2}, random)}, {"s", Tensor({2}, {"ab", "c"})}, {"q", Sequence{ElementType::I4, {tensor_of(ElementType::I4, {3}, random)}}}};
  const auto program = std::make_shared<const std::string>("program");
  for (const Request& r : {Request{1, HelloRequest{}}, Request{2, PrepareRequest{1, "onnx", program, {Port{"x", ElementType::F32, {1, -1}}}}}, Request{3, RunRequest{1, {few, few}}}}) {
    sound.push_back(bytes_of_frame(encode(r)));
  }
  const Answer answer{4, RunAnswer{{Outcome{Outputs{few, {}}, 0.5, {}}, Outcome{Refused{Refusal::Invalid, "no"}, -1, {}}}}};
  sound.push_back(bytes_of_frame(encode(answer)));
  sound.push_back(bytes_of_frame(encode(Answer{5, Introduction{"n", "v", {"onnx"}, {ElementType::F32}, true, 7, {{"d", "[1]"}}}})));

  const std::string_view spice[] = {"[", "{", "\"", "-1", "1e999", "4611686018427387905", "18446744073709551616", "null", "\\u0000", "\xff", ":", ",", "0.5", "\"f32\"", "\"Z\"", "true"};
  int messages = 0, errors = 0;
  for (int round = 0; round < 60000; ++round) {
    std::string bytes = sound[random() % sound.size()];
    for (std::uint64_t k = random() % 4 + 1; k > 0; --k) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 5) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << (random() % 8))); break;
        case 2: bytes.resize(at + 1); break;
        case 3: bytes.insert(at, spice[random() % std::size(spice)]); break;
        case 4: bytes.erase(at, random() % 9 + 1); break;
      }
      if (bytes.empty()) bytes = "x";
    }
    // The header's length is repaired half of the time, so that the mutations reach the decoder.
    const auto brace = bytes.rfind('}');
    if (random() % 2 && brace != std::string::npos && brace > PreludeBytes && bytes.size() >= PreludeBytes) {
      const std::uint64_t length = brace + 1 - PreludeBytes;
      bytes.resize(brace + 1);
      bytes.resize(bytes.size() + random() % 8 * 64);
      const std::uint64_t payload = bytes.size() - brace - 1;
      std::memcpy(bytes.data(), FrameMagic.data(), 8);
      std::memcpy(bytes.data() + 8, &length, 8);
      std::memcpy(bytes.data() + 16, &payload, 8);
    }
    const auto frame = read_frame(bytes, random);
    const bool ok = frame && (decode_answer(*frame).ok() || decode_request(*frame).ok());
    ++(ok ? messages : errors);
  }
  EXPECT_GT(messages, 100);
  EXPECT_GT(errors, 10000);
}

TEST(Frame, TextInPlaceOfAFrameIsRecognisedByItsFirstByte) {
  std::mt19937_64 random(4);
  std::string trouble;
  EXPECT_FALSE(read_frame("W", random, &trouble));
  EXPECT_NE(trouble.find("\"W\" where a frame belongs"), std::string::npos) << trouble;
}

TEST(Frame, DeclaredLengthsAboveTheCapsAreRefusedBeforeAllocation) {
  std::mt19937_64 random(5);
  std::string trouble;
  std::string prelude("ULPIAN/1\xff\xff\xff\xff\xff\xff\xff\x7f\0\0\0\0\0\0\0\0", 24);
  EXPECT_FALSE(read_frame(prelude, random, &trouble));
  EXPECT_NE(trouble.find("header of 9223372036854775807 bytes"), std::string::npos) << trouble;
  prelude = std::string("ULPIAN/1\x02\0\0\0\0\0\0\0\xc0\xff\xff\xff\xff\xff\xff\xff", 24);
  EXPECT_FALSE(read_frame(prelude, random, &trouble));
  EXPECT_NE(trouble.find("payload of 18446744073709551552 bytes"), std::string::npos) << trouble;
  prelude = std::string("ULPIAN/1\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0", 24);
  EXPECT_FALSE(read_frame(prelude, random, &trouble));
  EXPECT_NE(trouble.find("multiple of 64"), std::string::npos) << trouble;
}

TEST(Frame, NoFrameTakesBytesOfTheNext) {
  std::mt19937_64 random(6);
  const std::string one = bytes_of_frame(encode(Request{1, RunRequest{1, {samples(random)}}}));
  std::size_t used = 0;
  EXPECT_TRUE(read_frame(one + one, random, nullptr, &used));
  EXPECT_EQ(used, one.size());
}

}  // namespace
}  // namespace ulpian::diff
