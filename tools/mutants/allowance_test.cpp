// On clocks that are turned by hand: what a thread is given of a loaded machine.
#include <vector>

#include <gtest/gtest.h>

#include "tools/mutants/allowance.h"

namespace ulpian::tools {
namespace {

struct Hand {
  double wall_now = 0, processor_now = 0;
};
struct HandClocks {
  Hand* hand;
  double wall() const { return hand->wall_now; }
  double processor() const { return hand->processor_now; }
};

// An attempt that needs `work` seconds of processor time where the thread has `share` of a processor; true if its deadline let it end.
struct Machine {
  Hand hand = {};
  double share = 1, work = 1;
  std::vector<double> allowances = {};

  bool run(double seconds) {
    return with_processor_time(
        seconds,
        [&](Deadline deadline) {
          const double allowed = std::chrono::duration<double>(deadline.time_since_epoch()).count() - hand.wall_now;
          allowances.push_back(allowed);
          const bool ends = work / share < allowed;
          const double took = ends ? work / share : allowed;
          hand.wall_now += took;
          hand.processor_now += took * share;
          return ends;
        },
        HandClocks{&hand});
  }
};

TEST(Allowance, OnAnIdleMachineIsTheTimeItself) {
  Machine quick{.share = 1, .work = 9};
  EXPECT_TRUE(quick.run(10));
  EXPECT_EQ(quick.allowances.size(), 1u);
  Machine slow{.share = 1, .work = 11};
  EXPECT_FALSE(slow.run(10));
  EXPECT_EQ(slow.allowances.size(), 1u);
}

TEST(Allowance, OnALoadedMachineIsWhatGivesTheThreadItsSeconds) {
  // A fifth of a processor: 10 seconds on the wall are 2 of work, and 9 of work take 45.
  Machine quick{.share = 0.2, .work = 9};
  EXPECT_TRUE(quick.run(10));
  ASSERT_EQ(quick.allowances.size(), 2u);
  EXPECT_DOUBLE_EQ(quick.allowances[0], 10);
  EXPECT_GE(quick.allowances[1], 50);
  EXPECT_LE(quick.allowances[1], 60);
  // What needs more than its seconds is out of time there, too.
  Machine slow{.share = 0.2, .work = 20};
  EXPECT_FALSE(slow.run(10));
  EXPECT_EQ(slow.allowances.size(), 2u);
}

TEST(Allowance, OfWhatNeverComputesEnds) {
  Machine waiting{.share = 1e-9, .work = 1};
  EXPECT_FALSE(waiting.run(10));
  EXPECT_LE(waiting.allowances.size(), 4u);
}

// A thread's processor time is no more than the time that passed, and sleep is none of it.
TEST(Allowance, ClocksTellComputingFromWaiting) {
  const double wall = Clocks::wall(), processor = Clocks::processor();
  while (Clocks::processor() - processor < 0.02) {}
  EXPECT_GE(Clocks::wall() - wall, 0.019);
}

}  // namespace
}  // namespace ulpian::tools
