#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::RuntimeTest;
using test::WorkersTest;
using namespace std::chrono_literals;

class YieldCheckTest : public WorkersTest {
 protected:
  // Runs the body in a fiber with that budget; answers what it spent.
  template <typename F>
  Budget spent_by(const Budget& budget, F&& body) {
    Budget spent;
    in_fiber([&] {
      Nursery nursery;
      nursery.spawn({.budget = budget}, [&] {
        const auto before = this_fiber::ledger();
        body();
        const auto after = this_fiber::ledger();
        spent = after.spent - before.spent;
        EXPECT_EQ(before.left - spent, after.left);
      });
      EXPECT_TRUE(nursery.join());
    });
    return spent;
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, YieldCheckTest, ::testing::Values(1u, 4u));

// R-YIELD-01, R-YIELD-03, R-BUDGET-06
TEST_P(YieldCheckTest, CostsWhatTheTableSays) {
  struct Row {
    const char* what;
    std::function<void()> action;
    Budget cost;
  };
  const auto loop = [](int turns) {
    int i = 0;
    for (LoopCheck check; i < turns; check.turn()) ++i;
  };
  const auto seven = [] { return 7; };
  SpinLock lock;
  const std::vector<Row> table = {
      {"a check", [] { yield_check(); }, {.ops = 1}},
      {"a check of more", [] { yield_check(5); }, {.ops = 5}},
      {"a check of nothing", [] { yield_check(0); }, {}},
      {"the macro", [] { WEFT_YIELD_CHECK(); }, {.ops = 1}},
      {"a call", [&] { EXPECT_EQ(WEFT_CALL(seven()), 7); }, {.ops = 1}},
      {"no turn", [&] { loop(0); }, {}},
      {"a turn", [&] { loop(1); }, {.ops = 1}},
      {"fewer turns than an interval", [&] { loop(100); }, {.ops = 100}},
      {"an interval", [&] { loop(1024); }, {.ops = 1024}},
      {"several intervals", [&] { loop(3000); }, {.ops = 3000}},
      {"memory", [] { charge_allocation(64); }, {.ops = 1, .memory = 64}},
      {"no memory", [] { charge_allocation(0); }, {.ops = 1}},
      {"a checkpoint",
       [] { EXPECT_TRUE(this_fiber::checkpoint()); },
       {.ops = 1}},
      {"a yield", [] { this_fiber::yield(); }, {}},
      {"a check under a lock",
       [&] {
         const std::lock_guard guard(lock);
         yield_check();
       },
       {.ops = 1}},
  };
  for (const auto& row : table) {
    EXPECT_EQ(spent_by(Budget::service(), row.action), row.cost) << row.what;
  }
}

// R-YIELD-02
TEST_P(YieldCheckTest, StopsAFiberThatHasNoOpLeft) {
  in_fiber([&] {
    int passed = 0;
    Nursery nursery({.budget = Budget{.ops = 100, .spawn_count = 1}});
    auto task = nursery.spawn({.budget = Budget{.ops = 10}}, [&] {
      for (; passed < 25; ++passed) yield_check();
    });
    for (const int expected : {10, 15, 20}) {
      const auto found = nursery.wait_exhausted();
      ASSERT_TRUE(found);
      EXPECT_EQ(found->fiber, task.id());
      EXPECT_EQ(found->resource, Resource::ops);
      EXPECT_EQ(passed, expected);
      EXPECT_TRUE(nursery.recharge(task.id(), {.ops = 5}));
    }
    EXPECT_TRUE(task.join());
    EXPECT_EQ(passed, 25);
    EXPECT_EQ(nursery.budget().ops, 75u);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(YieldCheckTest, ALoopCheckStopsWhereAnyCheckWould) {
  in_fiber([&] {
    int turns = 0;
    Nursery nursery({.budget = Budget{.ops = 2000, .spawn_count = 1}});
    auto task = nursery.spawn({.budget = Budget{.ops = 10}}, [&] {
      for (LoopCheck check; turns < 1500; check.turn()) ++turns;
    });
    ASSERT_TRUE(nursery.wait_exhausted());
    EXPECT_EQ(turns, 11);  // whose check was not passed
    EXPECT_TRUE(nursery.recharge(task.id(), {.ops = 3}));
    ASSERT_TRUE(nursery.wait_exhausted());
    EXPECT_EQ(turns, 14);
    EXPECT_TRUE(nursery.recharge(task.id(), {.ops = 1900}));
    EXPECT_TRUE(task.join());
    EXPECT_EQ(turns, 1500);
    EXPECT_EQ(nursery.budget().ops, 500u);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(YieldCheckTest, ChargesTheRestOfALoopThatIsLeftByAnException) {
  const auto leave = [] {
    int turns = 0;
    for (LoopCheck check;; check.turn()) {
      if (++turns == 42) throw turns;
    }
  };
  const auto body = [&leave] { EXPECT_THROW(leave(), int); };
  EXPECT_EQ(spent_by(Budget::service(), body).ops, 41u);
}

// C-08
TEST_P(YieldCheckTest, StopsAFiberThatHasNoMemoryLeft) {
  in_fiber([&] {
    int passed = 0;
    Nursery nursery(
        {.budget = Budget{.ops = 100, .memory = 200, .spawn_count = 1}});
    auto task =
        nursery.spawn({.budget = Budget{.ops = 50, .memory = 100}}, [&] {
          for (; passed < 4; ++passed) {
            charge_allocation(40);
          }
        });
    const auto found = nursery.wait_exhausted();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->resource, Resource::memory);
    EXPECT_EQ(passed, 2);
    EXPECT_TRUE(nursery.recharge(task.id(), {.memory = 60}));
    EXPECT_TRUE(task.join());
    EXPECT_EQ(nursery.budget().ops, 96u);
    EXPECT_EQ(nursery.budget().memory, 40u);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(YieldCheckTest, ACheckpointWaitsForARecharge) {
  in_fiber([&] {
    Nursery nursery({.budget = Budget{.ops = 10, .spawn_count = 2}});
    auto paid = nursery.spawn({.budget = Budget{}},
                              [] { return this_fiber::checkpoint(); });
    ASSERT_TRUE(nursery.wait_exhausted());
    EXPECT_TRUE(nursery.recharge(paid.id(), {.ops = 1}));
    EXPECT_TRUE(paid.join());
    auto stopped = nursery.spawn({.budget = Budget{}},
                                 [] { return this_fiber::checkpoint(); });
    ASSERT_TRUE(nursery.wait_exhausted());
    nursery.cancel();
    EXPECT_EQ(stopped.join().error(), Errc::cancelled);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(YieldCheckTest, IsNoCancelPoint) {
  in_fiber([&] {
    Nursery nursery;
    auto task = nursery.spawn({.budget = Budget{.ops = 100}}, [&] {
      nursery.cancel();
      for (int i = 0; i < 100; ++i) yield_check();
      return 7;
    });
    EXPECT_EQ(*task.join(), 7);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(YieldCheckTest, CostsNothingWithoutLimits) {
  in_fiber([&] {
    for (LoopCheck check; this_fiber::ledger().spent != Budget();) {
      check.turn();
    }
    for (int i = 0; i < 10'000; ++i) yield_check(3);
    charge_allocation(1 << 20);
    EXPECT_EQ(this_fiber::ledger().left, Budget::unlimited());
    EXPECT_EQ(this_fiber::ledger().spent, Budget());
  });
}

TEST_P(YieldCheckTest, KeepsErrno) {
  in_fiber([&] {
    Nursery nursery;
    for (int who = 1; who <= 8; ++who) {
      nursery.spawn([who] {
        for (int i = 0; i < 10; ++i) {
          const this_fiber::Pin pin;  // of errno the address as well
          errno = who;
          yield_check(1024);
          EXPECT_EQ(errno, who);
        }
      });
    }
    EXPECT_TRUE(nursery.join());
  });
}

// R-YIELD-06
TEST_P(YieldCheckTest, AFiberMayRunOnAnyCpu) {
  static_assert(AnyTask::tenancy() == Tenancy::cpu_parallel);
  in_fiber([&] {
    Nursery nursery;
    auto task = nursery.spawn([] { return this_fiber::tenancy(); });
    EXPECT_EQ(task.tenancy(), Tenancy::cpu_parallel);
    EXPECT_EQ(*task.join(), Tenancy::cpu_parallel);
    EXPECT_TRUE(nursery.join());
  });
}

TEST(YieldCheck, DoesNothingOnAPlainThread) {
  for (int i = 0; i < 10'000; ++i) WEFT_YIELD_CHECK();
  yield_check(UINT32_MAX);
  charge_allocation(SIZE_MAX);
  int turns = 0;
  for (LoopCheck check; turns < 5'000; check.turn()) ++turns;
  EXPECT_EQ(this_fiber::ledger().spent, Budget());
}

// ---- Turns.

// Who ran, and how many checks on end.
using Turns = std::vector<std::pair<int, int>>;

class YieldTurnsTest : public RuntimeTest {
 protected:
  // Two fibers with so many checks each.
  static Turns turns_of(const Config& config, int checks,
                        std::optional<Budget> budget = {}) {
    Turns turns;
    auto runtime = start(config);
    const auto body = [&](int who) {
      for (int i = 0; i < checks; ++i) {
        if (turns.empty() || turns.back().first != who) {
          turns.emplace_back(who, 0);
        }
        ++turns.back().second;
        yield_check();
      }
    };
    auto all = runtime.authority().value();
    EXPECT_TRUE(runtime.run([&](Nursery& nursery) -> Status {
      if (config.profile == Profile::sovereign) {
        const auto purse = budget.value_or(Budget::unlimited());
        NurseryIn<profile::Sovereign> box(all.budget, Budget::unlimited());
        for (const int who : {1, 2}) {
          box.spawn(all.spawn, {.budget = purse}, body, who);
        }
        return box.join();
      }
      for (const int who : {1, 2}) nursery.spawn({.budget = budget}, body, who);
      return nursery.join();
    }));
    expect_empty(runtime);
    return turns;
  }
};

// R-YIELD-04, R-BUDGET-08
TEST_F(YieldTurnsTest, AreAsLongAsTheProfileSays) {
  undisturbed();
  struct Row {
    Config config;
    int interval;
  };
  const Row table[] = {
      {{.workers = 1}, 1024},
      {{.workers = 1, .profile = Profile::service}, 1024},
      {{.workers = 1, .profile = Profile::cluster}, 512},
      {{.workers = 1, .profile = Profile::sovereign}, 1024},
      {{.workers = 1, .profile = Profile::sovereign, .yield_interval = 7}, 7},
      {{.workers = 1, .profile = Profile::cluster, .yield_interval = 100}, 100},
  };
  for (const auto& row : table) {
    for (const auto& budget :
         {std::optional<Budget>(), std::optional(Budget{.ops = 100'000})}) {
      const auto turns = turns_of(row.config, 3 * row.interval, budget);
      ASSERT_EQ(turns.size(), 6u) << row.interval;
      for (std::size_t i = 0; i < turns.size(); ++i) {
        EXPECT_EQ(turns[i].first, turns[i % 2].first);
        EXPECT_EQ(turns[i].second, row.interval);
      }
    }
  }
}

// R-BUDGET-08
TEST_F(YieldTurnsTest, AreTheSameForTheSameSeed) {
  std::vector<Turns> all;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Config config{.yield_interval = 50, .deterministic_seed = seed};
    all.push_back(turns_of(config, 500));
    EXPECT_EQ(all.back(), turns_of(config, 500)) << seed;
    EXPECT_EQ(turns_of(config, 500, Budget{.ops = 600}),
              turns_of(config, 500, Budget{.ops = 600}))
        << seed;
  }
  EXPECT_NE(std::set(all.begin(), all.end()).size(), 1u);
}

TEST_F(YieldTurnsTest, DoNotEndUnderASpinLock) {
  undisturbed();
  auto runtime = start(Config{.workers = 1, .yield_interval = 10});
  bool other_ran = false;
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    nursery.spawn([&] {
      nursery.spawn([&] { other_ran = true; });
      {
        SpinLock lock;
        const std::lock_guard guard(lock);
        for (int i = 0; i < 100; ++i) yield_check();
        EXPECT_FALSE(other_ran);
      }
      yield_check();
      EXPECT_TRUE(other_ran);
    });
  }));
}

// So who sleeps is woken by a turn, and not by a whole number of looks.
TEST_F(YieldTurnsTest, EndWithALookAtTheClock) {
  undisturbed();
  auto runtime = start(1);
  for (const auto& budget :
       {std::optional<Budget>(), std::optional(Budget{.ops = 100'000})}) {
    bool came = false;
    EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
      const auto when = Deadline::after(1ms);
      nursery.spawn({.budget = budget}, [&] {
        while (!when.expired()) {
        }
        int checks = 0;
        for (; !came && checks < 100'000; ++checks) yield_check();
        EXPECT_LE(checks, 1024);
      });
      EXPECT_TRUE(this_fiber::sleep_until(when));
      came = true;
    }));
  }
}

// A loop that waits for another, and says so by checks alone.
TEST_F(YieldTurnsTest, LetAnotherGoOn) {
  auto runtime = start(1);
  std::atomic<bool> ready{false};
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    nursery.spawn([&] {
      while (!ready) yield_check();
    });
    nursery.spawn([&] { ready = true; });
  }));
}

}  // namespace
}  // namespace weft
