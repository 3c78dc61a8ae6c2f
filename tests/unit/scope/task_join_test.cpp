// task_join_test.cpp: the ways in which a join ends.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "support/gate.hpp"
#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;
using test::Gate;
using test::WorkersTest;
using namespace std::chrono_literals;

class TaskJoinTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, TaskJoinTest, ::testing::Values(1u, 2u, 4u));

// R-JOIN-07
TEST_P(TaskJoinTest, IsEmptyOnceJoined) {
  in_fiber([&] {
    Nursery nursery;
    auto task = nursery.spawn([] { return 1; });
    EXPECT_TRUE(task);
    EXPECT_TRUE(task.join());
    EXPECT_FALSE(task);
    EXPECT_EQ(task.join().error(), Errc::invalid);
    EXPECT_EQ(task.try_join().error(), Errc::invalid);
    EXPECT_EQ(task.wait().error(), Errc::invalid);
    EXPECT_EQ(task.id().value, 0u);
    EXPECT_TRUE(task.done());
    task.cancel();  // nobody there
    const Task<int> empty;
    EXPECT_FALSE(empty);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(TaskJoinTest, RefusesToJoinItself) {
  in_fiber([&] {
    Gate placed;
    Task<> self;
    Nursery nursery;
    auto task = nursery.spawn([&] {
      EXPECT_TRUE(placed.pass());
      EXPECT_EQ(self.join().error(), Errc::invalid);
      EXPECT_EQ(self.wait(Deadline::after(1h)).error(), Errc::invalid);
      EXPECT_TRUE(self);
    });
    self = std::move(task);
    placed.open();
    EXPECT_TRUE(nursery.join());
  });
}

// R-JOIN-07
TEST_P(TaskJoinTest, RefusesASecondJoiner) {
  in_fiber([&] {
    Gate gate;
    Nursery nursery;
    auto task = nursery.spawn([&] {
      EXPECT_TRUE(gate.pass());
      return 5;
    });
    while (gate.waiting() == 0) this_fiber::yield();
    AnyTask& handle = task;
    auto waiter = nursery.spawn([&]() -> Status { return handle.wait(); });
    while (waiter.state() != FiberState::parked) this_fiber::yield();
    EXPECT_EQ(handle.wait().error(), Errc::invalid);
    gate.open();
    EXPECT_TRUE(waiter.join());
    EXPECT_EQ(task.join().value(), 5);
    EXPECT_TRUE(nursery.join());
  });
}

// R-JOIN-07. The first one's wait is the child itself, on its stack.
TEST_P(TaskJoinTest, RefusesASecondJoinerOfAChildInPlace) {
  in_fiber([] {
    Gate gate;
    std::atomic<AnyTask*> shared{nullptr};
    Nursery nursery;
    auto first = nursery.spawn([&] {
      Nursery inner;
      auto task = inner.spawn([&] {
        EXPECT_TRUE(gate.pass());
        return 5;
      });
      shared = &task;
      EXPECT_EQ(task.join().value(), 5);
    });
    await_parked(first);
    EXPECT_EQ(shared.load()->wait().error(), Errc::invalid);
    gate.open();
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(TaskJoinTest, WouldBlockUntilItsFiberHasEnded) {
  in_fiber([&] {
    Gate gate;
    Nursery nursery;
    auto task = nursery.spawn([&] {
      EXPECT_TRUE(gate.pass());
      return 5;
    });
    EXPECT_EQ(task.try_join().error(), Errc::would_block);
    EXPECT_TRUE(task);
    gate.open();
    EXPECT_TRUE(task.wait());
    EXPECT_EQ(task.try_join().value(), 5);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(TaskJoinTest, TimesOutAndIsJoinedAgain) {
  in_fiber([&] {
    Gate gate;
    Nursery nursery;
    auto task = nursery.spawn([&] {
      EXPECT_TRUE(gate.pass());
      return 5;
    });
    EXPECT_EQ(task.join(Deadline::after(1us)).error(), Errc::timed_out);
    EXPECT_EQ(task.join(Deadline::after(-1s)).error(), Errc::timed_out);
    gate.open();
    EXPECT_EQ(task.join(Deadline::after(1h)).value(), 5);
    EXPECT_TRUE(nursery.join());
  });
}

// R-JOIN-03
TEST_P(TaskJoinTest, EndsOneWayWhenItsDeadlineRacesWithItsEnd) {
  in_fiber([&] {
    for (int i = 0; i < 500; ++i) {
      Nursery nursery;
      auto task = nursery.spawn([i] { return i; });
      auto end = task.join(Deadline::after(std::chrono::nanoseconds(50 * i)));
      if (!end) {
        ASSERT_EQ(end.error(), Errc::timed_out);
        end = task.join();
      }
      ASSERT_EQ(end.value(), i);
      EXPECT_TRUE(nursery.join());
    }
  });
}

TEST_P(TaskJoinTest, FailsItsJoinWhenTheJoinerIsCancelled) {
  in_fiber([&] {
    Gate gate;
    Nursery nursery;
    auto slow = nursery.spawn([&] { EXPECT_TRUE(gate.pass()); });
    while (gate.waiting() == 0) this_fiber::yield();
    auto joiner = nursery.spawn([&]() -> Status { return slow.join(); });
    while (joiner.state() != FiberState::parked) this_fiber::yield();
    joiner.cancel();
    EXPECT_EQ(joiner.join().error(), Errc::cancelled);
    EXPECT_TRUE(slow);
    gate.open();
    EXPECT_TRUE(slow.join());
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(TaskJoinTest, EndsInPlaceBeforeItsJoinerFollowsACancel) {
  in_fiber([&] {
    Gate gate;
    Nursery nursery;
    auto joiner = nursery.spawn([&](Nursery& inner) {
      auto slow = inner.spawn([&] {
        const Shield shield;
        EXPECT_TRUE(gate.pass());
        return 5;
      });
      EXPECT_EQ(slow.join().value(), 5);  // in place, or not if it was stolen
      EXPECT_TRUE(this_fiber::cancelled());
      EXPECT_EQ(this_fiber::checkpoint().error(), Errc::cancelled);
    });
    while (gate.waiting() == 0) this_fiber::yield();
    joiner.cancel();
    gate.open();
    EXPECT_TRUE(joiner.join());
    EXPECT_TRUE(nursery.join());
  });
}

}  // namespace
}  // namespace weft
