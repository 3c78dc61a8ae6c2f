#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "context/sanitizer.hpp"
#include "sched/worker.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::RuntimeTest;
using test::WorkersTest;
using namespace std::chrono_literals;

#if defined(WEFT_TSAN)  // which knows some 8000 stacks at most
constexpr std::size_t kManySleepers = 2000;
#else
constexpr std::size_t kManySleepers = 20'000;
#endif

class SleepTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, SleepTest, ::testing::Values(1u, 2u, 4u));
class SleepOrderTest : public RuntimeTest {};

// R-TIMER-01 R-TIMER-02
TEST_P(SleepTest, NeverEndsBeforeItsDeadline) {
  in_fiber([&] {
    Nursery nursery;
    for (int i = 0; i < 100; ++i) {
      nursery.spawn([i] {
        const auto when = Deadline::after(std::chrono::microseconds(17 * i));
        EXPECT_TRUE(this_fiber::sleep_until(when));
        EXPECT_TRUE(when.expired());
        EXPECT_GE(Clock::now(), when.when());
      });
    }
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(SleepTest, EndsAtOnceIfItsDeadlineHasPassed) {
  in_fiber([&] {
    EXPECT_TRUE(this_fiber::sleep_for(0s));
    EXPECT_TRUE(this_fiber::sleep_for(-1h));
    EXPECT_TRUE(this_fiber::sleep_until(Deadline(Clock::time_point{})));
  });
}

// R-TIMER-01
TEST_P(SleepTest, EndsForVeryManySleepers) {
  std::atomic<std::size_t> ended{0};
  in_fiber([&] {
    Nursery nursery;
    const auto when = Clock::now() + 5ms;
    for (std::size_t i = 0; i < kManySleepers; ++i) {
      nursery.spawn([&, i] {
        const auto mine = when + std::chrono::microseconds(i % 1000);
        EXPECT_TRUE(this_fiber::sleep_until(Deadline(mine)));
        ++ended;
      });
    }
    EXPECT_TRUE(nursery.join());
  });
  EXPECT_EQ(ended, kManySleepers);
}

// R-TIMER-02
TEST_P(SleepTest, EndsBeforeALongerOneThatBeganEarlier) {
  in_fiber([&] {
    Nursery nursery;
    auto longer =
        nursery.spawn([]() -> Status { return this_fiber::sleep_for(1h); });
    while (longer.state() != FiberState::parked) this_fiber::yield();
    auto shorter =
        nursery.spawn([]() -> Status { return this_fiber::sleep_for(1ms); });
    EXPECT_TRUE(shorter.join(Deadline::after(1h)));
    EXPECT_FALSE(longer.done());
    longer.cancel();
    EXPECT_EQ(longer.join().error(), Errc::cancelled);
    EXPECT_TRUE(nursery.join());
  });
}

// R-TIMER-04
TEST_P(SleepTest, IsCancelledByItsTask) {
  in_fiber([&] {
    Nursery nursery;
    for (const auto when : {Deadline::never(), Deadline::after(1h)}) {
      auto sleeper = nursery.spawn(
          [when]() -> Status { return this_fiber::sleep_until(when); });
      while (sleeper.state() != FiberState::parked) this_fiber::yield();
      sleeper.cancel();
      EXPECT_EQ(sleeper.join().error(), Errc::cancelled);
    }
    EXPECT_TRUE(nursery.join());
  });
}

// R-TIMER-04
TEST_P(SleepTest, IsCancelledBeforeDuringAndAfter) {
  in_fiber([&] {
    for (int i = 0; i < 300; ++i) {
      Nursery nursery;
      auto sleeper =
          nursery.spawn([]() -> Status { return this_fiber::sleep_for(20us); });
      const auto until = Clock::now() + std::chrono::nanoseconds(200 * i);
      while (Clock::now() < until) this_fiber::yield();
      sleeper.cancel();
      const Status end = sleeper.join();
      EXPECT_TRUE(end || end.error() == Errc::cancelled);
      EXPECT_TRUE(nursery.join());
    }
  });
}

// R-TIMER-04
TEST_P(SleepTest, FailsAtOnceInACancelledFiber) {
  in_fiber([&] {
    std::atomic<bool> cancelled{false};
    Nursery nursery;
    auto fiber = nursery.spawn([&] {
      while (!this_fiber::cancelled()) this_fiber::yield();
      EXPECT_EQ(this_fiber::sleep_for(1h).error(), Errc::cancelled);
      EXPECT_EQ(this_fiber::sleep_until(Deadline::never()).error(),
                Errc::cancelled);
      EXPECT_EQ(this_fiber::checkpoint().error(), Errc::cancelled);
      this_fiber::yield();  // not a cancel point
      cancelled = true;
    });
    while (fiber.state() == FiberState::ready) this_fiber::yield();
    fiber.cancel();
    EXPECT_TRUE(fiber.join());
    EXPECT_TRUE(cancelled);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(SleepTest, WorksOnAPlainThread) {
  const auto when = Deadline::after(1ms);
  EXPECT_TRUE(this_fiber::sleep_until(when));
  EXPECT_TRUE(when.expired());
  EXPECT_TRUE(this_fiber::sleep_for(-1s));
}

// R-TIMER-01
TEST_P(SleepTest, CostsFewDispatches) {
  constexpr std::uint64_t kSleepers = 1000;
  in_fiber([&] {
    Nursery nursery;
    for (std::uint64_t i = 0; i < kSleepers; ++i) {
      nursery.spawn([] { EXPECT_TRUE(this_fiber::sleep_for(2ms)); });
    }
    EXPECT_TRUE(nursery.join(Deadline::after(1h)));
  });
  std::uint64_t dispatched = 0;
  std::uint64_t timers = 0;
  for (const auto& worker : runtime().ref().stats().workers) {
    dispatched += worker.dispatched;
    timers += worker.timers;
  }
  EXPECT_LE(timers, kSleepers);
  EXPECT_LE(dispatched, 3 * kSleepers);  // one to start, one to go on
}

TEST_F(SleepOrderTest, IsThatOfTheDeadlines) {
  undisturbed();  // who parks anew may come late
  Runtime runtime = start(1);
  constexpr int kSleepers = std::min<int>(50, sched::Worker::kRecentSlots);
  std::vector<int> order;
  bool late = true;
  for (auto delay = 1ms; late; delay *= 2) {  // until all slept in time
    late = false;
    order.clear();
    int begun = 0;
    ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
      const auto base = Clock::now() + delay;
      for (int i = 0; i < kSleepers; ++i) {
        const int rank = i * 7 % kSleepers;  // all ranks, mixed
        nursery.spawn([&, base, rank] {
          const auto when = base + std::chrono::microseconds(rank);
          late |= Clock::now() >= base;
          ++begun;
          EXPECT_TRUE(this_fiber::sleep_until(Deadline(when)));
          order.push_back(rank);
        });
      }
      while (begun < kSleepers) this_fiber::yield();
      while (Clock::now() < base + 1ms) {  // then all pass at once
      }
    }));
  }
  EXPECT_EQ(order.size(), std::size_t{kSleepers});
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

// R-TIMER-02
TEST_F(SleepOrderTest, IsKeptWhileTheWorkerOfTheSleeperIsStuck) {
  Runtime runtime = start(Config{.workers = 2, .steal = false});
  std::atomic<bool> woken{false};
  const auto sleeps = [&](std::size_t worker) {
    return runtime.ref().stats().workers[worker].sleeps;
  };
  while (sleeps(0) == 0 || sleeps(1) == 0) std::this_thread::yield();
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    const this_fiber::Pin pin;
    auto sleeper = nursery.spawn([&] {
      EXPECT_TRUE(this_fiber::sleep_for(1ms));
      woken = true;
    });
    while (sleeper.state() != FiberState::parked && !woken) {
      this_fiber::yield();
    }
    // The other worker sleeps; it must watch this one's clock.
    const auto limit = Clock::now() + 5s;
    while (!woken && Clock::now() < limit) std::this_thread::yield();
    EXPECT_TRUE(woken);
  }));
  expect_empty(runtime);
}

// R-TIMER-02: nor one whose worker looks at the clock. The other one sleeps,
// wakes, searches, or is about to sleep.
TEST_F(SleepOrderTest, DoesNotNeedTheWorkerOfTheSleeper) {
  Runtime runtime = start(2);
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    for (int i = 0; i < 400; ++i) {
      std::atomic<bool> woken{false};
      auto busy = nursery.spawn([&] {
        while (!woken) std::this_thread::yield();
      });
      const auto when = Deadline::after(std::chrono::microseconds(i / 4));
      EXPECT_TRUE(this_fiber::sleep_until(when));
      EXPECT_TRUE(when.expired());
      woken = true;
      EXPECT_TRUE(busy.join());
    }
  }));
  expect_empty(runtime);
}

// R-TIMER-02: nobody needs a worker of its own to be woken.
TEST_F(SleepOrderTest, IsKeptWhileEveryWorkerSleeps) {
  Runtime runtime = start(4);
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
      for (int i = 0; i < 8; ++i) {
        nursery.spawn([i] {
          EXPECT_TRUE(
              this_fiber::sleep_for(std::chrono::microseconds(100 * (8 - i))));
        });
      }
    }));
  }
  expect_empty(runtime);
}

}  // namespace
}  // namespace weft
