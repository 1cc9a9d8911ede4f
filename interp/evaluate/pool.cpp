#include "interp/evaluate/pool.h"

namespace ulpian::interp::block {

Pool::Pool(int threads) {
  for (int k = 1; k < threads; ++k) workers_.emplace_back([this, k] { work(k); });
}

Pool::~Pool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  start_.notify_all();
  for (std::thread& t : workers_) t.join();
}

void Pool::work(int worker) {
  std::uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return ending_ || round_ != seen; });
      if (ending_) return;
      seen = round_;
    }
    take(worker);
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) done_.notify_one();
  }
}

void Pool::take(int worker) {
  for (;;) {
    std::int64_t k = 0;
    {
      const std::lock_guard lock(mutex_);
      if (next_ >= count_) return;
      k = next_++;
    }
    try {
      (*task_)(k, worker);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_ || k < failed_at_) {
        failure_ = std::current_exception();
        failed_at_ = k;
      }
      next_ = count_;
    }
  }
}

void Pool::run(std::int64_t count, const std::function<void(std::int64_t, int)>& task) {
  {
    const std::lock_guard lock(mutex_);
    task_ = &task;
    next_ = 0;
    count_ = count;
    failure_ = nullptr;
    busy_ = static_cast<int>(workers_.size());
    ++round_;
  }
  start_.notify_all();
  take(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return busy_ == 0; });
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace ulpian::interp::block
