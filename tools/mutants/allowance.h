// How long a mutant may take: processor time of its thread. On a loaded machine the clock on the wall says little of that, and limits are by that clock.
#pragma once

#include <ctime>

#include <algorithm>
#include <chrono>
#include <utility>

namespace ulpian::tools {

using Deadline = std::chrono::steady_clock::time_point;

// Seconds, from anywhere on.
struct Clocks {
  static double wall() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
  // Where threads have no clock of their own, the one on the wall.
  static double processor() {
#ifdef CLOCK_THREAD_CPUTIME_ID
    timespec t{};
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0) return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
#endif
    return wall();
  }
};

inline constexpr double MostAllowances = 1000;  // what waits without computing ends, too

// What `attempt` returns for a deadline. If that passes although the thread was given less than `seconds` of processor time, it is tried again with as
// many times more as that was less: the last one either ended in time or had its seconds.
template <class Attempt, class Clock = Clocks> auto with_processor_time(double seconds, const Attempt& attempt, Clock clock = {}) {
  for (double allowance = seconds;;) {
    const double begin = clock.wall(), used_before = clock.processor();
    auto result = attempt(Deadline(std::chrono::duration_cast<Deadline::duration>(std::chrono::duration<double>(begin + allowance))));
    const double took = clock.wall() - begin, used = clock.processor() - used_before;
    if (took < allowance || used >= 0.95 * seconds || allowance >= MostAllowances * seconds) return result;
    allowance *= std::clamp(1.1 * seconds / std::max(used, 1e-3 * seconds), 1.1, 64.0);
  }
}

}  // namespace ulpian::tools
