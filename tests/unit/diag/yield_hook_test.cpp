// What weft_enable_yield_checks() makes of code that never mentions a check.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <csignal>
#include <thread>
#include <tuple>
#include <utility>

#include "support/runtime_test.hpp"
#include "unit/diag/checked_code.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::RuntimeTest;
using test::WorkersTest;
using namespace test;  // checked_...

class YieldHookTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, YieldHookTest, ::testing::Values(1u, 4u));

TEST(YieldHook, DoesNothingOutsideOfFibers) {
  EXPECT_EQ(checked_before_main, 100);
  checked_turns(10'000);
  std::thread([] { checked_turns(10'000); }).join();
  EXPECT_EQ(checked_depth(100), 100);
  checked_odd_places(1'000);
}

// R-YIELD-01
TEST_P(YieldHookTest, ChargesEveryTurnAndEveryCall) {
  in_fiber([] {
    Nursery nursery;
    nursery.spawn({.budget = Budget{.ops = 1'000'000}}, [] {
      const auto ops_of = [](auto&& action) {
        const auto before = this_fiber::ledger().spent.ops;
        action();
        return this_fiber::ledger().spent.ops - before;
      };
      const auto once = ops_of([] { checked_turns(0); });
      EXPECT_GE(once, 1u);
      EXPECT_GE(ops_of([] { checked_turns(1'000); }), 1'000u + once);
      EXPECT_GE(ops_of([] { checked_depth(100); }), 100u);
      EXPECT_EQ(ops_of([] { checked_turns(777); }),
                ops_of([] { checked_turns(777); }));
      EXPECT_GE(ops_of([] { checked_odd_places(100); }), 200u);
    });
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(YieldHookTest, CostsNothingWithoutLimits) {
  in_fiber([] {
    checked_turns(100'000);
    EXPECT_EQ(this_fiber::ledger().spent, Budget());
  });
}

TEST_P(YieldHookTest, LetsLoopsWaitForEachOther) {
  std::atomic<int> turn{0};
  std::atomic<bool> flags[2] = {};
  in_fiber([&] {
    Nursery nursery;
    nursery.spawn([&] { checked_play(turn, 0, 100); });
    nursery.spawn([&] { checked_play(turn, 1, 100); });
    nursery.spawn([&] {
      flags[0] = true;
      checked_spin_until(flags[1]);
    });
    nursery.spawn([&] {
      flags[1] = true;
      checked_spin_until(flags[0]);
    });
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(YieldHookTest, LetsTimersFire) {
  std::atomic<bool> flag{false};
  in_fiber([&] {
    Nursery nursery;
    nursery.spawn([&] {
      EXPECT_TRUE(this_fiber::sleep_for(std::chrono::milliseconds(1)));
      flag = true;
    });
    for (unsigned i = 0; i < GetParam(); ++i) {
      nursery.spawn([&] { checked_spin_until(flag); });
    }
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(YieldHookTest, StopsAnEndlessLoopWithABudget) {
  in_fiber([] {
    Nursery sandbox({.budget = Budget{.ops = 5'000, .spawn_count = 1}});
    auto task = sandbox.spawn({.budget = Budget{.ops = 5'000}},
                              [] { checked_spin_for_ever(); });
    const auto found = sandbox.wait_exhausted();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->fiber, task.id());
    EXPECT_EQ(found->resource, Resource::ops);
    sandbox.cancel();
    EXPECT_EQ(task.join().error(), Errc::exhausted);
    EXPECT_EQ(sandbox.join().error(), Errc::exhausted);
  });
}

TEST_P(YieldHookTest, MayComeInOddPlaces) {
  in_fiber([] {
    Nursery nursery;
    for (int i = 0; i < 8; ++i) {
      nursery.spawn([] {
        for (int k = 0; k < 20; ++k) checked_odd_places(700);
      });
    }
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(YieldHookTest, MayComeUnderALock) {
  constexpr int kFibers = 8;
  constexpr int kRounds = 500;
  int count = 0;
  Mutex mutex;
  in_fiber([&] {
    Nursery nursery;
    for (int i = 0; i < kFibers; ++i) {
      nursery.spawn([&] { checked_under_mutex(mutex, count, kRounds); });
    }
    EXPECT_TRUE(nursery.join());
  });
  EXPECT_EQ(count, kFibers * kRounds);
}

// A slot that somebody is filling is spun upon by others: he must not leave.
TEST_P(YieldHookTest, DoesNotStopATransferHalfway) {
  constexpr std::size_t kEach = 300;
  for (const std::size_t capacity : {0u, 1u, 2u, 16u}) {
    std::atomic<std::size_t> sum{0};
    in_fiber([&] {
      auto ends = make_channel<CheckedElement>(capacity);
      Nursery nursery;
      for (int i = 0; i < 4; ++i) {
        nursery.spawn(checked_send, ends.sender, kEach);
        nursery.spawn([&sum, from = ends.receiver]() mutable {
          sum += checked_receive(std::move(from));
        });
      }
      { const auto gone = std::move(ends.sender); }
      { const auto gone = std::move(ends.receiver); }
      EXPECT_TRUE(nursery.join());
    });
    EXPECT_EQ(sum, 4 * kEach * (kEach + 1) / 2) << capacity;
  }
}

// The same of values whose moves nobody has written: wherever in a send a turn
// ends, or what was granted.
class HalfwayTest
    : public RuntimeTest,
      public ::testing::WithParamInterface<std::tuple<unsigned, std::size_t>> {
 protected:
  static unsigned workers() { return std::get<0>(GetParam()); }
  static std::size_t capacity() { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Workers, HalfwayTest,
                         ::testing::Combine(::testing::Values(1u, 2u),
                                            ::testing::Values(0u, 1u, 4u)));

TEST_P(HalfwayTest, ATurnEndsBesideATransfer) {
  static constexpr int kValues = 2000;
  for (std::uint32_t interval = 2; interval < 40; ++interval) {
    auto runtime =
        start(Config{.workers = workers(), .yield_interval = interval});
    EXPECT_TRUE(runtime.run([]() -> Status {
      auto ends = checked_channel(capacity());
      Nursery nursery;
      nursery.spawn(checked_send_ints, std::move(ends.sender), kValues);
      auto sum = nursery.spawn(checked_sum_of_ints, std::move(ends.receiver));
      EXPECT_EQ(sum.join().value(), kValues * (kValues + 1L) / 2) << capacity();
      return nursery.join();
    }));
    expect_empty(runtime);
  }
}

// The receiver has no limits, and is the one who can recharge.
TEST_P(HalfwayTest, WhatWasGrantedEndsBesideATransfer) {
  static constexpr int kValues = 5;
  auto runtime = start(Config{.workers = workers()});
  for (std::uint32_t ops = 1; ops < 120; ++ops) {
    EXPECT_TRUE(runtime.run([ops]() -> Status {
      auto ends = checked_channel(capacity());
      Nursery sandbox(
          {.budget = Budget{
               .ops = 1'000'000, .spawn_count = 1, .channel_ops = 1000}});
      auto sender =
          sandbox.spawn({.budget = Budget{.ops = ops, .channel_ops = 100}},
                        checked_send_ints, std::move(ends.sender), kValues);
      int next = 1;
      while (next <= kValues) {
        if (auto got = ends.receiver.try_receive()) {
          EXPECT_EQ(got->value, next++);
        } else if (sender.state() == FiberState::exhausted) {
          EXPECT_TRUE(sandbox.recharge(sender.id(), Budget{.ops = 1000}));
        } else {
          this_fiber::yield();
        }
      }
      while (!sender.done()) {
        if (sender.state() == FiberState::exhausted) {
          EXPECT_TRUE(sandbox.recharge(sender.id(), Budget{.ops = 1000}));
        }
        this_fiber::yield();
      }
      return sandbox.join();
    })) << ops;
  }
  expect_empty(runtime);
}

// In a user's waitable, between its being published and its parking.
TEST_P(YieldHookTest, DoesNotStopAFiberThatIsAboutToPark) {
  struct CheckedGate {  // concept Waitable
    bool try_complete(Waiter& /*waiter*/) noexcept {
      checked_turns(2'000);
      const std::lock_guard guard(lock);
      return is_open;
    }
    bool publish(Waiter& waiter) noexcept {
      checked_turns(2'000);
      {
        const std::lock_guard guard(lock);
        waiting.push_back(waiter);
        if (is_open) (void)waiting.wake_all();
      }
      checked_turns(2'000);
      return true;
    }
    void unpublish(Waiter& waiter) noexcept {
      checked_turns(2'000);
      const std::lock_guard guard(lock);
      waiting.remove(waiter);
    }
    void open() {
      const std::lock_guard guard(lock);
      is_open = true;
      (void)waiting.wake_all();
    }
    SpinLock lock;
    bool is_open = false;
    WaitList waiting;
  };
  for (const bool metered : {false, true}) {
    in_fiber([&] {
      CheckedGate gate;
      Nursery nursery;
      SpawnOptions options;
      if (metered) options.budget = Budget{.ops = 1'000'000};
      for (int i = 0; i < 8; ++i) {
        nursery.spawn(options, [&gate] { EXPECT_TRUE(wait(gate)); });
      }
      for (int i = 0; i < 20; ++i) this_fiber::yield();
      gate.open();
      EXPECT_TRUE(nursery.join());
    });
  }
}

// Where a fiber stands on another stack than its own it stays.
TEST_P(YieldHookTest, DoesNotLeaveASignalHandlerOnItsOwnStack) {
  static std::atomic<int> handled;
  handled = 0;
  struct sigaction action = {};
  struct sigaction before = {};
  action.sa_handler = [](int) {
    checked_turns(5'000);
    ++handled;
  };
  action.sa_flags = SA_ONSTACK;
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  in_fiber([] {
    Nursery nursery;
    for (int i = 0; i < 8; ++i) {
      nursery.spawn([] {
        for (int k = 0; k < 20; ++k) {
          ::raise(SIGUSR1);
          this_fiber::yield();
        }
      });
    }
    EXPECT_TRUE(nursery.join());
  });
  EXPECT_EQ(::sigaction(SIGUSR1, &before, nullptr), 0);
  EXPECT_EQ(handled, 8 * 20);
}

TEST(YieldHook, StopsAtTheSamePlacesForTheSameSeed) {
  const auto order_of = [](std::uint64_t seed) {
    std::vector<int> order;
    auto runtime =
        Runtime::start({.yield_interval = 100, .deterministic_seed = seed});
    EXPECT_TRUE(runtime);
    EXPECT_TRUE(runtime->run([&order](Nursery& nursery) {
      for (int who = 0; who < 3; ++who) {
        nursery.spawn([&order, who] {
          for (int i = 0; i < 50; ++i) {
            checked_turns(37);
            order.push_back(who);
          }
        });
      }
    }));
    return order;
  };
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    EXPECT_EQ(order_of(seed), order_of(seed)) << seed;
  }
  EXPECT_NE(order_of(1), order_of(2));
}

}  // namespace
}  // namespace weft
