#include "diff/backends/server.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <set>

#include <fmt/format.h>

#include "diff/backends/frame.h"

namespace ulpian::diff {
namespace {

enum class Got : std::uint8_t { Frame, End, Trouble };

Got read_frame(int fd, FrameLimits limits, Frame& frame, std::string& trouble) {
  FrameReader reader(limits);
  while (!reader.complete()) {
    const auto room = reader.wanted();
    const ssize_t n = ::read(fd, room.data(), room.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      if (!reader.started()) return Got::End;
      trouble = "the input ends in the middle of a frame";
      return Got::Trouble;
    }
    if (Status status = reader.received(static_cast<std::size_t>(n)); !status.ok()) {
      trouble = status.error().message;
      return Got::Trouble;
    }
  }
  frame = reader.take();
  return Got::Frame;
}

bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

bool write_frame(int fd, const OutgoingFrame& frame) {
  if (!write_all(fd, std::as_bytes(std::span(frame.head)))) return false;
  for (const auto part : frame.parts) {
    if (!write_all(fd, part)) return false;
  }
  return true;
}

// What the handler does, with its exceptions as answers.
template <typename Out, typename Do>
Out guarded(Do&& action) {
  try {
    return action();
  } catch (const std::bad_alloc&) {
    return Out{OutOfMemory{.message = "an allocation failed"}};
  } catch (const std::exception& e) {
    return Out{Failed{FailureCause::Internal, e.what()}};
  }
}

class Server {
public:
  explicit Server(Handler& handler) : handler_(handler) {}

  using What = decltype(Answer::what);

  // An answer above what the other side accepts would be taken for nonsense: it is said in words.
  bool too_long(const OutgoingFrame& frame) const { return frame.head.size() > limits_.header_bytes || frame.payload_bytes > limits_.payload_bytes; }

  What answer(const HelloRequest& r) {
    limits_ = r.limits;
    return guarded<What>([&]() -> What { return handler_.introduce(r); });
  }
  What answer(const PrepareRequest& r) {
    return guarded<What>([&]() -> What {
      auto result = handler_.prepare(r);
      if (auto* refused = std::get_if<Refused>(&result)) return std::move(*refused);
      if (auto* f = std::get_if<Failed>(&result)) return std::move(*f);
      programs_.insert(r.program);
      return std::get<PreparedAnswer>(std::move(result));
    });
  }
  What answer(const RunRequest& r) {
    if (!programs_.contains(r.program)) return Failed{FailureCause::Internal, fmt::format("program {} was not prepared", r.program)};
    RunAnswer out;
    for (const Values& inputs : r.batches) {
      Outcome outcome;
      outcome.seconds = -1;
      outcome.what = guarded<decltype(Outcome::what)>([&]() -> decltype(Outcome::what) {
        outcome = handler_.run(r.program, inputs);
        return std::move(outcome.what);
      });
      out.batches.push_back(std::move(outcome));
    }
    return out;
  }
  What answer(const ReleaseRequest& r) {
    return guarded<What>([&]() -> What {
      if (programs_.erase(r.program)) handler_.release(r.program);
      return DoneAnswer{};
    });
  }
  What answer(const ByeRequest&) { return DoneAnswer{}; }

private:
  Handler& handler_;
  FrameLimits limits_;
  std::set<ProgramId> programs_;
};

int complain(const std::string& trouble) {
  fmt::print(stderr, "this is a backend's end of Ulpian's protocol (docs/backends.md): {}\n", trouble);
  return 1;
}

}  // namespace

int serve(Handler& handler, int input, int output, FrameLimits requests) {
  Server server(handler);
  for (;;) {
    Frame frame;
    std::string trouble;
    switch (read_frame(input, requests, frame, trouble)) {
      case Got::End: return 0;
      case Got::Trouble: return complain(trouble);
      case Got::Frame: break;
    }
    auto request = decode_request(frame);
    if (!request.ok()) return complain(request.error().message);
    const Answer answer{request->id, std::visit([&](const auto& r) { return server.answer(r); }, request->what)};
    OutgoingFrame out = encode(answer);
    if (server.too_long(out)) out = encode(Answer{request->id, OutOfMemory{.message = fmt::format("the answer takes {} bytes, more than is accepted", out.payload_bytes)}});
    if (!write_frame(output, out)) return 0;
    if (std::holds_alternative<ByeRequest>(request->what)) return 0;
  }
}

int serve(Handler& handler) {
  ::signal(SIGPIPE, SIG_IGN);
  const int output = ::fcntl(1, F_DUPFD_CLOEXEC, 3);
  if (output < 0 || ::dup2(2, 1) < 0) return complain("standard output is closed");
  return serve(handler, 0, output);
}

}  // namespace ulpian::diff
