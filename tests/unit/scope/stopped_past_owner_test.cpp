// stopped_past_owner_test.cpp: a stop goes past an owner that does not get a
// worker, or computes, so that it does not look itself.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::WorkersTest;
using namespace std::chrono_literals;

// ---- Children that keep every worker, until they are told

class StoppedPastOwnerTest : public test::RuntimeTest {
 protected:
  // On stacks of their own: a join with a deadline runs nobody in place.
  static Status join_pollers(Nursery& nursery, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      nursery.spawn([] {
        while (!this_fiber::cancelled()) {
        }
      });
    }
    return nursery.join(Deadline::after(1h));
  }
};

TEST_F(StoppedPastOwnerTest, ByTheDeadlineOfAScopeAroundIt) {
  for (const unsigned workers : {1u, 2u}) {
    Runtime runtime = start(workers);
    EXPECT_TRUE(runtime.run([workers] {
      const CancelScope scope(Deadline::after(1ms));
      Nursery nursery;
      EXPECT_EQ(join_pollers(nursery, workers).error(), Errc::timed_out);
    }));
    expect_empty(runtime);
  }
}

TEST_F(StoppedPastOwnerTest, ByItsOwnDeadline) {
  Runtime runtime = start(1);
  EXPECT_TRUE(runtime.run([](Nursery& nursery) {
    auto owner = nursery.spawn(
        {.deadline = Deadline::after(1ms), .on_failure = OnFailure::keep},
        [](Nursery& own) { return join_pollers(own, 1); });
    EXPECT_EQ(owner.join(Deadline::after(1h)).error(), Errc::timed_out);
  }));
  expect_empty(runtime);
}

// Two fibers further up, from another thread.
TEST_F(StoppedPastOwnerTest, ByACancelOfWhatIsAroundIt) {
  for (const bool alone : {true, false}) {
    Runtime runtime = start(1);
    Nursery root(runtime);
    std::atomic<bool> polls{false};
    auto top = root.spawn([&polls](Nursery& upper) {
      upper.spawn([&polls](Nursery& lower) {
        lower.spawn([&polls] {
          polls = true;
          while (!this_fiber::cancelled()) {
          }
        });
        (void)lower.join(Deadline::after(1h));
      });
      (void)upper.join(Deadline::after(1h));
    });
    while (!polls) this_fiber::yield();
    if (alone) {
      top.cancel();
    } else {
      root.cancel();
    }
    EXPECT_TRUE(root.join());
    expect_empty(runtime);
  }
}

// Its checkpoint lets nobody else run but its like.
TEST_F(StoppedPastOwnerTest, ACheckpointKnows) {
  Runtime runtime = start(1);
  EXPECT_TRUE(runtime.run([] {
    CancelScope scope;
    Nursery nursery;
    nursery.spawn([&scope] {
      EXPECT_TRUE(this_fiber::checkpoint());
      scope.cancel();
      EXPECT_EQ(this_fiber::checkpoint().error(), Errc::cancelled);
    });
    EXPECT_EQ(nursery.join(Deadline::after(1h)).error(), Errc::cancelled);
  }));
}

// ---- Children that have not started

class NotStartedTest : public WorkersTest {
 protected:
  // In a fiber whose nursery was opened before `stop` and is asked by nobody.
  // Answers how many children started after it.
  template <typename Stop>
  int children_started(Stop stop) {
    std::atomic<int> ran{0};
    in_fiber([&] {
      std::atomic<bool> opened{false};
      std::atomic<bool> stopped{false};
      Nursery outer;
      auto owner = outer.spawn([&] {
        Nursery own;
        opened = true;
        while (!stopped) this_fiber::yield();  // no cancel point
        for (int i = 0; i < 8; ++i) own.spawn([&ran] { ++ran; });
        while (own.live() != 0) this_fiber::yield();
        EXPECT_EQ(own.join().error(), Errc::cancelled);
      });
      while (!opened) this_fiber::yield();
      stop(outer, owner);
      stopped = true;
      EXPECT_TRUE(outer.join());
    });
    return ran;
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, NotStartedTest,
                         ::testing::Values(1u, 2u, 4u));

TEST_P(NotStartedTest, NeverStartOnceANurseryAroundTheirOwnersIsCancelled) {
  EXPECT_EQ(children_started([](Nursery& outer, Task<>&) { outer.cancel(); }),
            0);
}

TEST_P(NotStartedTest, NeverStartOnceTheirOwnerIsCancelled) {
  EXPECT_EQ(children_started([](Nursery&, Task<>& owner) { owner.cancel(); }),
            0);
}

TEST_P(NotStartedTest, StartWhereTheirOwnerIsShielded) {
  in_fiber([] {
    CancelScope scope;
    const Shield shield;
    scope.cancel();
    int ran = 0;
    Nursery nursery;
    nursery.spawn([&ran](Nursery& inner) {
      inner.spawn([&ran] {
        EXPECT_FALSE(this_fiber::cancelled());
        EXPECT_TRUE(this_fiber::checkpoint());
        ++ran;
      });
    });
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(ran, 1);
  });
}

}  // namespace
}  // namespace weft
