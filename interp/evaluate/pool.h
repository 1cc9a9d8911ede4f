// A few threads that share numbered tasks. What a task computes never depends on which thread runs it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ulpian::interp::block {

class Pool {
public:
  explicit Pool(int threads);  // the caller's thread is one of them
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  // task(k, worker) for every k < count. Rethrows the exception of the first task that threw.
  void run(std::int64_t count, const std::function<void(std::int64_t, int)>& task);

private:
  void work(int worker);
  void take(int worker);

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable start_, done_;
  const std::function<void(std::int64_t, int)>* task_ = nullptr;
  std::int64_t next_ = 0, count_ = 0, failed_at_ = 0;
  std::uint64_t round_ = 0;
  int busy_ = 0;
  bool ending_ = false;
  std::exception_ptr failure_;
};

}  // namespace ulpian::interp::block
