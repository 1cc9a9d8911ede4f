// Any bytes as the other side of the backend protocol: as answers to the harness, as requests to a backend, and as the whole input of one.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "diff/backends/message.h"
#include "diff/backends/server.h"

namespace {

using namespace ulpian;
using namespace ulpian::diff;

constexpr FrameLimits Limits{1 << 20, 1 << 24};

// The next frame of `input`, which then begins behind it; empty where there is none.
std::optional<Frame> next_frame(std::span<const std::byte>& input) {
  FrameReader reader(Limits);
  while (!reader.complete()) {
    const auto room = reader.wanted();
    const std::size_t n = std::min(room.size(), input.size());
    if (n == 0) return std::nullopt;
    std::memcpy(room.data(), input.data(), n);
    input = input.subspan(n);
    if (!reader.received(n)) return std::nullopt;
  }
  return reader.take();
}

std::optional<Frame> sent(const OutgoingFrame& frame) {
  std::vector<std::byte> bytes;
  const auto append = [&](std::span<const std::byte> part) { bytes.insert(bytes.end(), part.begin(), part.end()); };
  append(std::as_bytes(std::span<const char>(frame.head)));
  for (const auto part : frame.parts) append(part);
  std::span<const std::byte> rest = bytes;
  return next_frame(rest);
}

// What one side understood must survive being said again.
void exercise(const Frame& frame) {
  if (auto answer = decode_answer(frame)) {
    const auto again = sent(encode(*answer));
    if (again) ensure(decode_answer(*again).ok(), to_string(decode_answer(*again).error()));
  }
  if (auto request = decode_request(frame)) {
    const auto again = sent(encode(*request));
    if (again) ensure(decode_request(*again).ok(), to_string(decode_request(*again).error()));
  }
}

class Echo : public Handler {
public:
  Introduction introduce(const HelloRequest&) override { return {.name = "echo", .version = {}, .formats = {"onnx"}, .element_types = {}, .details = {}}; }
  std::variant<PreparedAnswer, Refused, Failed> prepare(const PrepareRequest& request) override { return PreparedAnswer{request.inputs, request.inputs, 0}; }
  Outcome run(ProgramId, const Values& inputs) override { return {Outputs{inputs, {}}, 0, {}}; }
  void release(ProgramId) override {}
};

void serve_bytes(std::span<const std::byte> input) {
  static const int sink = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  static const int file = ::memfd_create("input", MFD_CLOEXEC);
  ensure(sink >= 0 && file >= 0);
  ensure(::ftruncate(file, 0) == 0 && ::lseek(file, 0, SEEK_SET) == 0);
  ensure(::write(file, input.data(), input.size()) == static_cast<ssize_t>(input.size()) && ::lseek(file, 0, SEEK_SET) == 0);
  Echo echo;
  // It says on standard error what it does not understand: thousands of lines here.
  std::fflush(stderr);
  const int kept = ::fcntl(2, F_DUPFD_CLOEXEC, 3);
  ::dup2(sink, 2);
  (void)serve(echo, file, sink, Limits);
  std::fflush(stderr);
  ::dup2(kept, 2);
  ::close(kept);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto whole = std::as_bytes(std::span(data, size));
  // Most of the logic is behind a header that parses: mutants of it need no right lengths.
  if (size > 0 && data[0] == '{') {
    const auto* end = static_cast<const std::uint8_t*>(std::memchr(data, 0, size));
    Frame frame;
    frame.header.assign(reinterpret_cast<const char*>(data), end ? static_cast<std::size_t>(end - data) : size);
    const auto blob = end ? whole.subspan(static_cast<std::size_t>(end - data) + 1) : std::span<const std::byte>{};
    frame.payload = std::move(*Payload::allocate((blob.size() + 63) / 64 * 64));
    std::fill(frame.payload.bytes().begin(), frame.payload.bytes().end(), std::byte{0});
    std::copy(blob.begin(), blob.end(), frame.payload.bytes().begin());
    exercise(frame);
    return 0;
  }
  std::span<const std::byte> rest = whole;
  while (const auto frame = next_frame(rest)) exercise(*frame);
  serve_bytes(whole);
  return 0;
}
