// stopped_around_test.cpp: nurseries inside of scopes that were stopped before.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::WorkersTest;

class StoppedAroundTest : public WorkersTest {
 protected:
  // Opens a nursery here, which is stopped already.
  static void expect_stopped(Errc why) {
    std::atomic<bool> ran{false};
    Nursery nursery;
    for (int i = 0; i < 8; ++i) nursery.spawn([&ran] { ran = true; });
    while (nursery.live() != 0) this_fiber::yield();  // whoever takes them
    EXPECT_EQ(nursery.join().error(), why);
    EXPECT_FALSE(ran);
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, StoppedAroundTest,
                         ::testing::Values(1u, 2u, 4u));

TEST_P(StoppedAroundTest, NoChildStartsInACancelledScope) {
  in_fiber([] {
    CancelScope scope;
    scope.cancel();
    expect_stopped(Errc::cancelled);
    EXPECT_EQ(this_fiber::checkpoint().error(), Errc::cancelled);
    expect_stopped(Errc::cancelled);
  });
}

TEST_P(StoppedAroundTest, NoChildStartsInAScopeWhoseDeadlineHasPassed) {
  in_fiber([] {
    CancelScope scope(Deadline::after(Clock::duration::zero()));
    expect_stopped(Errc::timed_out);
  });
}

TEST_P(StoppedAroundTest, NoChildStartsInACancelledFiber) {
  in_fiber([] {
    Event started;
    Event cancelled;
    Nursery nursery;
    auto task = nursery.spawn([&started, &cancelled] {
      started.set();
      {
        Shield shield;
        (void)cancelled.wait();
      }
      expect_stopped(Errc::cancelled);
    });
    EXPECT_TRUE(started.wait());
    task.cancel();
    cancelled.set();
    EXPECT_TRUE(task.join());
  });
}

TEST_P(StoppedAroundTest, ChildrenStartInAShield) {
  in_fiber([] {
    CancelScope scope;
    scope.cancel();
    const Shield shield;
    std::atomic<bool> ran{false};
    Nursery nursery;
    nursery.spawn([&ran] { ran = true; });
    EXPECT_TRUE(nursery.join());
    EXPECT_TRUE(ran);
  });
}

// All children have ended before the owner comes to its first cancel point.
TEST_P(StoppedAroundTest, AJoinTellsOfAStopThatNoChildHeardOf) {
  in_fiber([] {
    CancelScope scope;
    Nursery nursery;
    nursery.spawn([] {});
    while (nursery.live() != 0) this_fiber::yield();
    scope.cancel();
    EXPECT_EQ(nursery.join().error(), Errc::cancelled);
  });
}

TEST_P(StoppedAroundTest, AJoinInsideOfAStoppedScopeIsNotStoppedByThat) {
  in_fiber([] {
    Nursery nursery;
    nursery.spawn([] {});
    while (nursery.live() != 0) this_fiber::yield();
    CancelScope inside;
    inside.cancel();
    EXPECT_TRUE(nursery.join());
  });
}

// On one worker, which sits in the fiber that asks: nobody else looks.
TEST(StoppedAroundByTheClock, AScopeKnowsThatItsDeadlineHasPassed) {
  Runtime runtime = *Runtime::start({.workers = 1});
  EXPECT_TRUE(runtime.run([] {
    const CancelScope scope(Deadline::after(std::chrono::microseconds(100)));
    while (!scope.timed_out()) {
    }
    EXPECT_TRUE(this_fiber::cancelled());
    const Shield shield(Deadline::after(std::chrono::microseconds(100)));
    while (!shield.timed_out()) {
    }
  }));
}

TEST(StoppedAroundByTheClock, NoChildIsStartedByAJoinAfterTheDeadline) {
  Runtime runtime = *Runtime::start({.workers = 1});
  EXPECT_TRUE(runtime.run([] {
    bool ran = false;
    const auto deadline = Deadline::after(std::chrono::microseconds(100));
    Nursery nursery({.deadline = deadline});
    nursery.spawn([&ran] { ran = true; });
    while (!deadline.expired()) {
    }
    EXPECT_EQ(nursery.join().error(), Errc::timed_out);
    EXPECT_FALSE(ran);
  }));
}

}  // namespace
}  // namespace weft
