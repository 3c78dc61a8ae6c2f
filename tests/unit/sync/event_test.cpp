#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/event.hpp>
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::as_cancelled;
using test::await_parked;
using test::WorkersTest;
using namespace std::chrono_literals;

class EventTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, EventTest, ::testing::Values(1u, 2u, 4u));

// R-EVENT-01
TEST_P(EventTest, StaysSetUntilItIsReset) {
  in_fiber([] {
    Event event;
    EXPECT_FALSE(event.is_set());
    event.reset();  // it is
    EXPECT_FALSE(event.is_set());
    for (int i = 0; i < 3; ++i) {
      event.set();
      event.set();
      EXPECT_TRUE(event.is_set());
      EXPECT_TRUE(event.wait());
      EXPECT_TRUE(event.wait(Deadline::after(-1s)));
      event.reset();
      event.reset();
      EXPECT_FALSE(event.is_set());
      EXPECT_EQ(event.wait(Deadline::after(-1s)).error(), Errc::timed_out);
    }
  });
}

// R-EVENT-01 R-FUT-01
TEST_P(EventTest, WakesAllWhoWait) {
  in_fiber([] {
    Event event;
    int plain = 0;
    Nursery nursery;
    std::vector<Task<>> waiters;
    for (int i = 0; i < 50; ++i) {
      waiters.push_back(nursery.spawn([&] {
        EXPECT_TRUE(event.wait());
        EXPECT_EQ(plain, 1);
      }));
    }
    for (auto& waiter : waiters) await_parked(waiter);
    plain = 1;
    event.set();
    EXPECT_TRUE(nursery.join());
  });
}

// R-EVENT-02
TEST_P(EventTest, WakesWhoWaitedEvenIfAResetFollowsAtOnce) {
  in_fiber([] {
    Event event;
    Nursery nursery;
    std::vector<Task<>> waiters;
    for (int i = 0; i < 10; ++i) {
      waiters.push_back(nursery.spawn([&] { EXPECT_TRUE(event.wait()); }));
    }
    for (auto& waiter : waiters) await_parked(waiter);
    Event::Future registered;
    event.wait(registered);
    event.set();
    event.reset();
    EXPECT_TRUE(registered.wait(Deadline::after(-1s)));
    EXPECT_TRUE(nursery.join());
    EXPECT_FALSE(event.is_set());
    EXPECT_EQ(event.wait(Deadline::after(-1s)).error(), Errc::timed_out);
  });
}

// R-EVENT-01
TEST_P(EventTest, SetsFuturesWithoutAWait) {
  in_fiber([] {
    Event event;
    Event::Future first;
    Event::Future second;
    event.wait(first);
    event.wait(second);
    EXPECT_FALSE(first.is_set());
    second.cancel();
    EXPECT_EQ(second.wait().error(), Errc::cancelled);
    event.set();
    EXPECT_TRUE(first.wait());
    first.reset();
    event.wait(first);  // it is open
    EXPECT_TRUE(first.is_set());
    first.reset();
    event.reset();
    event.wait(first);
    EXPECT_FALSE(first.is_set());
    first.cancel();
  });
}

// R-TIMER-03
TEST_P(EventTest, IsAsItWasWhenAWaitEndsEarly) {
  in_fiber([] {
    Event event;
    EXPECT_EQ(event.wait(Deadline::after(1us)).error(), Errc::timed_out);
    Nursery nursery;
    auto first = nursery.spawn(
        [&] { EXPECT_EQ(event.wait().error(), Errc::cancelled); });
    auto second = nursery.spawn([&] { EXPECT_TRUE(event.wait()); });
    await_parked(first);
    await_parked(second);
    first.cancel();
    EXPECT_TRUE(first.join());
    EXPECT_FALSE(second.done());
    event.set();
    EXPECT_TRUE(second.join());
    as_cancelled([&] { EXPECT_EQ(event.wait().error(), Errc::cancelled); });
    EXPECT_TRUE(nursery.join());
  });
}

// R-EVENT-01 R-EVENT-02: each set wakes all who were there before it.
TEST_P(EventTest, LosesNobodyInAStormOfSetsAndResets) {
  in_fiber([] {
    const int rounds = explored() ? 20 : 200;
    Event event;
    std::atomic<int> left{4};
    Nursery nursery;
    for (int i = 0; i < 4; ++i) {
      nursery.spawn([&] {
        for (int n = 0; n < rounds; ++n) EXPECT_TRUE(event.wait());
        --left;
      });
    }
    for (int i = 0; i < 2; ++i) {
      nursery.spawn([&] {
        while (left != 0) {
          event.set();
          event.reset();
          this_fiber::yield();
        }
      });
    }
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(EventTest, ServesThreadsAndFibersTogether) {
  constexpr int kTurns = 300;
  Event to_fiber;
  Event to_thread;
  Nursery nursery(runtime());
  nursery.spawn([&] {
    for (int i = 0; i < kTurns; ++i) {
      EXPECT_TRUE(to_fiber.wait());
      to_fiber.reset();
      to_thread.set();
    }
  });
  std::thread thread([&] {
    for (int i = 0; i < kTurns; ++i) {
      to_fiber.set();
      EXPECT_TRUE(to_thread.wait());
      to_thread.reset();
    }
    EXPECT_EQ(to_thread.wait(Deadline::after(1us)).error(), Errc::timed_out);
  });
  thread.join();
  EXPECT_TRUE(nursery.join());
}

}  // namespace
}  // namespace weft
