// cost_table_test.cpp: the table of docs/reference_scopes.md, row by row, and
// what is charged for calls of the system.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "support/runtime_test.hpp"
#include "support/spending.hpp"
#include <weft/testing.hpp>
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_exhausted;
using namespace std::chrono_literals;

class CostTableTest : public test::WorkersTest {
 protected:
  // In a fiber of its own with that budget.
  template <typename F>
  void metered(const Budget& budget, F&& body) {
    in_fiber([&] {
      Nursery nursery;
      nursery.spawn({.budget = budget}, [&body] { body(); });
      EXPECT_TRUE(nursery.join());
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, CostTableTest, ::testing::Values(1u, 2u));

struct PricedAction {
  const char* what;
  std::function<void()> action;
  Budget cost;
};

constexpr Budget of_channels(std::uint16_t count) {
  return {.ops = count, .channel_ops = count};
}

std::vector<PricedAction> priced_checks() {
  return {
      {"a turn of a loop",
       [] {
         LoopCheck check;
         check.turn();
       },
       Budget{.ops = 1}},
      {"a call", [] { EXPECT_EQ(WEFT_CALL([] { return 7; }()), 7); },
       Budget{.ops = 1}},
      {"a checkpoint", [] { EXPECT_TRUE(this_fiber::checkpoint()); },
       Budget{.ops = 1}},
      {"so much memory",
       [] { charge_allocation(100); },
       {.ops = 1, .memory = 100}},
      {"memory of a nursery",
       [] {
         Nursery nursery;
         (void)nursery.memory()->allocate(200);
       },
       {.ops = 1, .memory = 200}},
      {"a system call",
       [] { EXPECT_TRUE(charge_syscall()); },
       {.ops = 1, .syscalls = 1}},
  };
}

std::vector<PricedAction> priced_spawns() {
  return {
      {"a spawn",
       [] {
         Nursery nursery;
         nursery.spawn({.budget = Budget{.ops = 100}}, [] {});
         EXPECT_TRUE(nursery.join());
       },
       {.ops = 1, .spawn_count = 1}},
      {"two that race",
       [] {
         Nursery nursery;
         std::vector<Task<int>> tasks;
         for (int i = 0; i < 2; ++i) {
           tasks.push_back(
               nursery.spawn({.budget = Budget{.ops = 9}}, [] { return 1; }));
         }
         EXPECT_TRUE(join_race(tasks));
         EXPECT_TRUE(join_all(tasks));
       },
       {.ops = 2, .spawn_count = 2}},
      {"a refused spawn",
       [] {
         Nursery nursery;
         EXPECT_FALSE(
             nursery.try_spawn({.budget = Budget{.memory = 1 << 30}}, [] {}));
       },
       {}},
  };
}

std::vector<PricedAction> priced_channels() {
  return {
      {"a send and a receive",
       [] {
         auto [sender, receiver] = make_channel<int>(1);
         EXPECT_TRUE(sender.send(1));
         EXPECT_TRUE(receiver.receive());
       },
       of_channels(2)},
      {"both, at once",
       [] {
         auto [sender, receiver] = make_channel<int>(1);
         EXPECT_TRUE(sender.try_send(1));
         EXPECT_EQ(sender.try_send(2).error(), Errc::would_block);
         EXPECT_TRUE(receiver.try_receive());
         EXPECT_EQ(receiver.try_receive().error(), Errc::would_block);
       },
       of_channels(4)},
      {"a receive in vain",
       [] {
         auto [sender, receiver] = make_channel<int>(1);
         EXPECT_EQ(receiver.receive(Deadline::after(1us)).error(),
                   Errc::timed_out);
       },
       of_channels(1)},
      {"a batch",
       [] {
         auto [sender, receiver] = make_channel<int>(8);
         std::vector<int> values{1, 2, 3};
         EXPECT_EQ(sender.send_many(values).value(), 3u);
       },
       of_channels(3)},
      {"a select",
       [] {
         auto [sender, receiver] = make_channel<int>(1);
         EXPECT_TRUE(select(on_receive(receiver, [](Result<int>) {}),
                            otherwise([] {})));
       },
       of_channels(1)},
      {"a broadcast",
       [] {
         Broadcast<int> news(1);
         auto mine = news.subscribe();
         EXPECT_TRUE(news.send(1));
         EXPECT_TRUE(mine.receive());
       },
       of_channels(2)},
      {"a change of what is watched",
       [] {
         Watch<int> watch(1);
         watch.set(2);
         watch.update([](int& value) { ++value; });
       },
       {.ops = 2}},
      {"what is watched, and its change",
       [] {
         const Watch<int> watch(1);
         std::uint64_t seen = 0;
         EXPECT_TRUE(watch.changed(seen));
         EXPECT_EQ(watch.get(), 1);
       },
       of_channels(1)},
  };
}

std::vector<PricedAction> unpriced() {
  return {
      {"a yield", [] { this_fiber::yield(); }, {}},
      {"a sleep", [] { EXPECT_TRUE(this_fiber::sleep_for(1us)); }, {}},
      {"a lock",
       [] {
         Mutex mutex;
         const std::lock_guard guard(mutex);
       },
       {}},
      {"a wait",
       [] {
         Event event;
         event.set();
         EXPECT_TRUE(event.wait());
       },
       {}},
  };
}

// R-BUDGET-06
TEST_P(CostTableTest, IsWhatAFiberPays) {
  for (const auto& part :
       {priced_checks(), priced_spawns(), priced_channels(), unpriced()}) {
    for (const auto& row : part) {
      metered(Budget::service(), [&row] {
        const auto before = this_fiber::ledger();
        row.action();
        const auto after = this_fiber::ledger();
        EXPECT_EQ(after.spent - before.spent, row.cost) << row.what;
        // Memory of a nursery comes back with its end, and stays spent.
        const Budget back{.memory = after.left.memory + row.cost.memory -
                                    before.left.memory};
        EXPECT_EQ(before.left - row.cost + back, after.left) << row.what;
      });
    }
  }
}

// ---- Calls of the system.

// C-08
TEST_P(CostTableTest, RefusesASystemCallThatIsNotGranted) {
  metered({.ops = 10, .syscalls = 2}, [] {
    EXPECT_TRUE(charge_syscall());
    EXPECT_TRUE(charge_syscall());
    EXPECT_EQ(charge_syscall().error(), Error::out_of(Resource::syscalls));
    EXPECT_EQ(this_fiber::ledger().left, Budget{.ops = 8});  // nothing was paid
  });
  metered({}, [] {  // nor can it be waited for
    EXPECT_EQ(charge_syscall().error(), Error::out_of(Resource::syscalls));
  });
}

TEST_P(CostTableTest, ASystemCallWaitsForOps) {
  in_fiber([] {
    static constexpr Budget kNoOps{.syscalls = 1};
    Nursery nursery(
        {.budget = Budget{.ops = 5, .spawn_count = 3, .syscalls = 3}});
    auto fed = nursery.spawn({.budget = kNoOps}, [] {
      EXPECT_TRUE(charge_syscall());
      EXPECT_EQ(this_fiber::ledger().left, Budget());
    });
    await_exhausted(fed);
    EXPECT_TRUE(nursery.recharge(fed.id(), Budget{.ops = 1}));
    EXPECT_TRUE(fed.join());
    auto late = nursery.spawn({.budget = kNoOps}, [] {
      EXPECT_EQ(charge_syscall(Deadline::after(1us)).error(), Errc::timed_out);
      EXPECT_EQ(this_fiber::ledger().left, kNoOps);
    });
    EXPECT_TRUE(late.join());
    auto stopped = nursery.spawn({.budget = kNoOps}, [] {
      EXPECT_EQ(charge_syscall().error(), Errc::cancelled);
      EXPECT_EQ(this_fiber::ledger().left, kNoOps);
    });
    await_exhausted(stopped);
    stopped.cancel();
    EXPECT_TRUE(stopped.join());
  });
}

TEST_P(CostTableTest, ASystemCallIsRefusedWhereItCannotWaitForOps) {
  metered({.ops = 1, .syscalls = 2}, [] {
    SpinLock lock;
    const std::lock_guard guard(lock);
    EXPECT_TRUE(charge_syscall());
    EXPECT_EQ(charge_syscall().error(), Error::out_of(Resource::ops));
    EXPECT_EQ(this_fiber::ledger().left, (Budget{.syscalls = 1}));
  });
}

TEST_P(CostTableTest, ASystemCallOfWhoCleansUpIsPaidFor) {
  metered({.ops = 2, .syscalls = 2}, [] {
    CancelScope scope;
    scope.cancel();
    EXPECT_TRUE(charge_syscall());
    EXPECT_EQ(this_fiber::checkpoint().error(), Errc::cancelled);
    EXPECT_TRUE(charge_syscall());
  });
}

TEST_P(CostTableTest, ASystemCallIsFreeForWhoHasNoLimits) {
  in_fiber([] {
    for (int i = 0; i < 5'000; ++i) EXPECT_TRUE(charge_syscall());
    EXPECT_EQ(this_fiber::ledger().spent, Budget());
  });
  EXPECT_TRUE(charge_syscall());  // a plain thread
}

// As of checks: the fiber is another's when it comes back.
TEST_P(CostTableTest, ASystemCallKeepsErrnoAndLetsOthersRun) {
  in_fiber([] {
    Nursery nursery;
    for (int who = 1; who <= 4; ++who) {
      nursery.spawn({.budget = Budget{.ops = 5'000, .syscalls = 5'000}}, [who] {
        const this_fiber::Pin pin;  // of errno the address as well
        for (int i = 0; i < 5'000; ++i) {
          errno = who;
          ASSERT_TRUE(charge_syscall());
          ASSERT_EQ(errno, who);
        }
      });
    }
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(CostTableTest, ALoopOfSystemCallsKeepsNoWorkerToItself) {
  for (const bool limited : {false, true}) {
    in_fiber([&] {
      std::atomic<bool> ran{false};
      const auto loop = [&ran] {
        while (!ran) EXPECT_TRUE(charge_syscall());
      };
      SpawnOptions how;
      if (limited) how.budget = Budget::unlimited();
      Nursery nursery;
      nursery.spawn(how, loop);
      nursery.spawn([&ran] { ran = true; });
      EXPECT_TRUE(nursery.join());
    });
  }
}

// A recharge and a cancel meet a fiber that is about to pay.
TEST(ExploredSyscall, IsPaidForOnceOrNotAtAll) {
  using testing::Search;
  using testing::Simulation;
  const auto result = testing::explore(
      {.search = Search::pct, .schedules = 1'000}, [](Simulation& sim) {
        const auto end = sim.run([&](Nursery& outer) {
          std::uint16_t made = 0;
          Budget spent;
          Nursery nursery(
              {.budget = Budget{.ops = 3, .spawn_count = 1, .syscalls = 2}});
          auto child = nursery.spawn({.budget = Budget{.syscalls = 2}}, [&] {
            while (charge_syscall()) ++made;
            spent = this_fiber::ledger().spent;
          });
          const auto id = child.id();
          outer.spawn([&, id] {
            (void)nursery.recharge(id, Budget{.ops = 1});
            (void)nursery.recharge(id, Budget{.ops = 2});
          });
          outer.spawn([&] { child.cancel(); });
          sim.check(child.wait().has_value(), "the child ends");
          sim.check(spent == Budget{.ops = made, .syscalls = made},
                    "what was made was paid for, and no more");
          sim.check(outer.join().has_value(), "the others end");
          sim.check(nursery.join().has_value(), "so does the nursery");
        });
        sim.check(end.has_value(), "all ends well");
      });
  EXPECT_TRUE(result) << result;
}

// It cannot say that it is out of ops.
TEST_P(CostTableTest, AChangeIsPublishedByWhoHasNoOps) {
  metered({}, [] {
    Watch<int> watch(1);
    watch.set(2);
    EXPECT_EQ(watch.get(), 2);
    std::uint64_t seen = 0;
    EXPECT_EQ(watch.changed(seen).error(),
              Error::out_of(Resource::channel_ops));
    EXPECT_EQ(seen, 0u);
  });
}

}  // namespace
}  // namespace weft
