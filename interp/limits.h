// What one evaluation may use. Both evaluators check it regularly and answer ErrorKind::Limit.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

namespace ulpian::interp {

struct Limits {
  std::int64_t memory_bytes = std::numeric_limits<std::int64_t>::max();  // of tensors alive at once
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  const std::atomic<bool>* cancelled = nullptr;  // set from another thread: stop soon
  int threads = 1;
  // Operations of one call (interp/scalar/work.h), known before it starts: the largest products of today's models need about 2e12.
  std::int64_t work = 5'000'000'000'000;

  bool stopped() const {
    return (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) || std::chrono::steady_clock::now() > deadline;
  }
};

}  // namespace ulpian::interp
