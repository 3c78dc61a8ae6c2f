// exhausted_test.cpp: fibers that have run out, and those who recharge them.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include "support/spending.hpp"
#include <weft/testing.hpp>
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_exhausted;
using test::spend;
using test::WorkersTest;
using namespace std::chrono_literals;

class ExhaustedTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ExhaustedTest, ::testing::Values(1u, 2u));

constexpr Budget kPool{
    .ops = 1000, .memory = 1000, .spawn_count = 100, .channel_ops = 100};

Budget ops(std::uint32_t count) { return {.ops = count}; }

// R-BUDGET-03 R-BUDGET-04 R-YIELD-02
TEST_P(ExhaustedTest, StopsAfterWhatItHasAndGoesOnWhenRecharged) {
  in_fiber([] {
    std::atomic<int> done{0};
    Nursery nursery({.budget = kPool});
    auto hungry = nursery.spawn({.budget = ops(10)}, [&] {
      for (int i = 0; i < 15; ++i, ++done) spend(1);
    });
    await_exhausted(hungry);
    EXPECT_EQ(done, 10);
    auto other = nursery.spawn([] { return 7; });
    EXPECT_EQ(other.join().value(), 7);  // others go on
    await_exhausted(hungry);
    EXPECT_TRUE(nursery.recharge(hungry.id(), ops(2)));
    while (done != 12) this_fiber::yield();
    await_exhausted(hungry);
    EXPECT_TRUE(nursery.recharge(hungry.id(), ops(100)));
    EXPECT_TRUE(hungry.join());
    EXPECT_EQ(done, 15);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ExhaustedTest, IsReportedOnceEachTime) {
  in_fiber([] {
    Nursery nursery({.budget = kPool});
    auto hungry = nursery.spawn({.budget = ops(1)}, [] { spend(3); });
    for (int i = 0; i < 2; ++i) {
      const auto found = nursery.wait_exhausted();
      ASSERT_TRUE(found) << found.error();
      EXPECT_EQ(found->fiber, hungry.id());
      EXPECT_EQ(found->resource, Resource::ops);
      EXPECT_EQ(nursery.wait_exhausted(Deadline::after(0ns)).error(),
                Errc::timed_out);
      EXPECT_TRUE(nursery.recharge(found->fiber, ops(1)));
    }
    EXPECT_EQ(nursery.wait_exhausted().error(), Errc::closed);
    EXPECT_TRUE(hungry.join());
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ExhaustedTest, WatchingEndsWithTheLastChild) {
  in_fiber([] {
    Nursery nursery({.budget = kPool});
    EXPECT_EQ(nursery.wait_exhausted().error(), Errc::closed);
    Nursery watchers;
    auto child = nursery.spawn(
        [] { return this_fiber::sleep_until(Deadline::never()); });
    auto watcher = watchers.spawn(
        [&] { return nursery.wait_exhausted().error() == Errc::closed; });
    test::await_parked(watcher);
    child.cancel();
    EXPECT_TRUE(watcher.join().value());
    EXPECT_TRUE(watchers.join());
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ExhaustedTest, JoinSaysThatNobodyElseCanHelp) {
  in_fiber([] {
    Nursery nursery({.budget = kPool});
    auto a = nursery.spawn({.budget = ops(1)}, [] { spend(2); });
    auto b = nursery.spawn({.budget = ops(1)}, [] { spend(2); });
    auto c = nursery.spawn([] {});
    EXPECT_EQ(nursery.join().error(), Error::out_of(Resource::ops));
    EXPECT_TRUE(nursery.recharge(a.id(), ops(1)));
    EXPECT_EQ(nursery.join().error(), Error::out_of(Resource::ops));
    EXPECT_TRUE(nursery.recharge(b.id(), ops(1)));
    EXPECT_TRUE(nursery.join());
    EXPECT_TRUE(a.join() && b.join() && c.join());
  });
}

TEST_P(ExhaustedTest, JoinWaitsWhileSomebodyWatches) {
  in_fiber([] {
    Nursery watchers;
    Nursery nursery({.budget = kPool});
    std::atomic<bool> go{false};
    nursery.spawn({.budget = ops(1)}, [&] {
      while (!go) this_fiber::yield();
      spend(5);
    });
    auto watcher = watchers.spawn([&] {
      while (auto found = nursery.wait_exhausted()) {
        EXPECT_TRUE(nursery.recharge(found->fiber, ops(1)));
      }
    });
    test::await_parked(watcher);
    go = true;
    EXPECT_TRUE(nursery.join());
    EXPECT_TRUE(watcher.join());
    EXPECT_TRUE(watchers.join());
  });
}

TEST_P(ExhaustedTest, JoinWithADeadlineSaysSo) {
  in_fiber([] {
    Nursery nursery({.budget = kPool});
    auto child = nursery.spawn(
        [] { return this_fiber::sleep_until(Deadline::never()); });
    EXPECT_EQ(nursery.join(Deadline::after(1us)).error(), Errc::timed_out);
    nursery.cancel();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(child.join().error(), Errc::cancelled);
  });
}

// R-BUDGET-05
TEST_P(ExhaustedTest, RechargesOnlyWhatThereIsAndWhomThereIs) {
  in_fiber([] {
    Nursery nursery({.budget = Budget{.ops = 100, .spawn_count = 3}});
    auto hungry = nursery.spawn({.budget = ops(1)}, [] { spend(2); });
    await_exhausted(hungry);
    EXPECT_EQ(nursery.recharge(hungry.id(), ops(100)).error(),
              Error::out_of(Resource::ops));
    EXPECT_EQ(nursery.recharge({12345}, ops(1)).error(), Errc::invalid);
    EXPECT_EQ(nursery.budget().ops, 99u);
    auto greedy = nursery.spawn({.budget = ops(1)}, [&] {
      EXPECT_EQ(nursery.recharge(this_fiber::id(), ops(1)).error(),
                Errc::denied);
    });
    EXPECT_TRUE(greedy.join());
    EXPECT_TRUE(nursery.recharge(hungry.id(), ops(1)));
    EXPECT_TRUE(hungry.join());
    EXPECT_EQ(nursery.recharge({12345}, ops(1)).error(), Errc::invalid);
    EXPECT_TRUE(nursery.join());
    Nursery unlimited;
    EXPECT_EQ(unlimited.recharge({12345}, ops(1)).error(), Errc::invalid);
    EXPECT_TRUE(unlimited.join());
  });
}

TEST_P(ExhaustedTest, ARechargeThatComesEarlyIsKept) {
  in_fiber([] {
    std::atomic<bool> go{false};
    Nursery nursery({.budget = kPool});
    auto child = nursery.spawn({.budget = ops(1)}, [&] {
      while (!go) this_fiber::yield();
      spend(3);
    });
    EXPECT_TRUE(nursery.recharge(child.id(), ops(2)));
    go = true;
    EXPECT_TRUE(child.join());
    EXPECT_EQ(child.ledger().left, Budget::unlimited());  // empty handle
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ExhaustedTest, AParentWithoutAPoolPaysByItself) {
  in_fiber([] {
    Nursery nursery({.budget = kPool});
    auto child =
        nursery.spawn({.budget = Budget{.ops = 20, .spawn_count = 1}}, [] {
          Nursery own;
          auto hungry = own.spawn({.budget = ops(5)}, [] { spend(8); });
          EXPECT_EQ(own.join().error(), Error::out_of(Resource::ops));
          EXPECT_EQ(own.recharge(hungry.id(), ops(15)).error(),
                    Error::out_of(Resource::ops));
          EXPECT_TRUE(own.recharge(hungry.id(), ops(3)));
          EXPECT_TRUE(own.join());
          return this_fiber::ledger().left.ops;
        });
    EXPECT_EQ(child.join().value(), 11u);  // 20 - 1 - 8
    EXPECT_TRUE(nursery.join());
  });
}

// A child with limits among others that have none.
TEST_P(ExhaustedTest, JoinOfAnUnlimitedNurseryWaitsForTheOthers) {
  in_fiber([] {
    Nursery nursery;
    auto hungry = nursery.spawn({.budget = ops(1)}, [] { spend(2); });
    nursery.spawn([&] {
      while (hungry.state() != FiberState::exhausted) this_fiber::yield();
      EXPECT_TRUE(nursery.recharge(hungry.id(), ops(1)));
    });
    auto free = nursery.spawn([] { return this_fiber::ledger().left; });
    EXPECT_EQ(free.join().value(), Budget::unlimited());
    EXPECT_TRUE(nursery.join());
  });
}

// ---- Stopped meanwhile. R-NURS-06

TEST_P(ExhaustedTest, ACancelEndsTheWaitForARecharge) {
  in_fiber([] {
    auto channel = make_channel<int>(1);
    auto& sender = channel.sender;
    auto& receiver = channel.receiver;
    Nursery nursery({.budget = kPool});
    auto child =
        nursery.spawn({.budget = Budget{.ops = 1, .channel_ops = 10}}, [&] {
          EXPECT_TRUE(sender.send(1));
          EXPECT_EQ(receiver.receive().error(), Errc::cancelled);  // no ops
        });
    await_exhausted(child);
    nursery.cancel();
    EXPECT_TRUE(child.join());
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(receiver.size(), 1u);
  });
}

TEST_P(ExhaustedTest, WhoCannotBeToldMayGoOnALittle) {
  in_fiber([] {
    Nursery nursery({.budget = kPool});
    auto child = nursery.spawn({.budget = ops(1)}, [] {
      spend(100);
      EXPECT_EQ(this_fiber::checkpoint().error(), Errc::cancelled);
    });
    await_exhausted(child);
    nursery.cancel();
    EXPECT_TRUE(child.join());
    EXPECT_TRUE(nursery.join());
  });
}

// Else one that computes for ever in a shield could not be ended.
TEST_P(ExhaustedTest, AShieldDefersNoStopOfOneThatRanOut) {
  in_fiber([] {
    Nursery nursery({.budget = kPool});
    auto child = nursery.spawn({.budget = ops(1)}, [] {
      const Shield shield;
      spend(3);  // goes on a little
      EXPECT_TRUE(this_fiber::sleep_for(1us));
    });
    await_exhausted(child);
    nursery.cancel();
    EXPECT_TRUE(child.join());
    EXPECT_TRUE(nursery.join());
  });
}

// It was told before it ran out, and has seen it through the shield.
TEST_P(ExhaustedTest, AStopSeenInAShieldIsNotForgotten) {
  in_fiber([] {
    std::atomic<bool> in_shield{false};
    std::atomic<bool> go{false};
    Nursery nursery({.budget = kPool});
    auto child = nursery.spawn({.budget = ops(2)}, [&]() -> Status {
      const Shield shield;
      in_shield = true;
      while (!go) this_fiber::yield();
      WEFT_TRY(this_fiber::checkpoint());  // looks, and goes on
      spend(100);
      return {};
    });
    while (!in_shield) this_fiber::yield();
    nursery.cancel();
    go = true;
    EXPECT_TRUE(child.join());
    EXPECT_TRUE(nursery.join());
  });
}

// What cannot be given is not made by the wait for it.
TEST_P(ExhaustedTest, AskingForAllMemoryGivesNone) {
  in_fiber([] {
    Nursery nursery({.budget = kPool});
    auto child =
        nursery.spawn({.budget = Budget{.ops = 100, .memory = 10}}, [] {
          charge_allocation(~std::size_t{0});
          ADD_FAILURE() << "there is not so much";
        });
    await_exhausted(child);
    nursery.cancel();
    EXPECT_FALSE(child.join());
    EXPECT_EQ(nursery.budget().memory, kPool.memory);
    (void)nursery.join();
  });
}

TEST_P(ExhaustedTest, ADeadlineAroundTheNurseryEndsIt) {
  in_fiber([] {
    CancelScope scope;
    Nursery nursery({.budget = kPool});
    nursery.spawn({.budget = ops(1)}, []() -> Status {
      spend(2);
      return this_fiber::checkpoint();
    });
    EXPECT_EQ(nursery.join().error(), Error::out_of(Resource::ops));
    // Nobody recharges it: the deadline does the rest.
    scope.set_deadline(Deadline::after(1ms));
    EXPECT_EQ(this_fiber::sleep_until(Deadline::never()).error(),
              Errc::timed_out);
    EXPECT_EQ(nursery.join().error(), Errc::timed_out);
  });
}

// ---- Many at once.

TEST_P(ExhaustedTest, NoRechargeIsLostAmongMany) {
  in_fiber([] {
    constexpr int kChildren = 8;
    constexpr std::uint32_t kOps = 50;
    Nursery nursery({.budget = Budget{.ops = 8 * 50, .spawn_count = 8}});
    for (int i = 0; i < kChildren; ++i) {
      nursery.spawn({.budget = ops(0)}, [] { spend(kOps); });
    }
    Nursery helpers;  // of no use while there are no children
    for (int i = 0; i < 2; ++i) {
      helpers.spawn([&] {
        while (auto found = nursery.wait_exhausted()) {
          EXPECT_TRUE(nursery.recharge(found->fiber, ops(1)));
        }
      });
    }
    EXPECT_TRUE(helpers.join());
    EXPECT_TRUE(nursery.join());
  });
}

// R-BUDGET-04, over schedules: a recharge, a cancel and a watcher meet.
TEST(ExploredExhausted, EndsOverEverySchedule) {
  using testing::Search;
  using testing::Simulation;
  const auto result = testing::explore(
      {.search = Search::pct, .schedules = 2'000}, [](Simulation& sim) {
        int spent = 0;
        const auto end = sim.run([&](Nursery& outer) {
          auto channel = make_channel<int>(4);
          auto& sender = channel.sender;
          auto& receiver = channel.receiver;
          Nursery nursery({.budget = kPool});
          auto child = nursery.spawn(
              {.budget = Budget{.ops = 1, .channel_ops = 4}},
              [&, sender = std::move(sender)]() mutable -> Status {
                for (int i = 0; i < 3; ++i, ++spent) {
                  WEFT_TRY(sender.send(int{i}));
                }
                return {};
              });
          outer.spawn([&] {
            while (auto found = nursery.wait_exhausted()) {
              (void)nursery.recharge(found->fiber, ops(1));
            }
          });
          outer.spawn([&] { child.cancel(); });
          const auto how = child.wait();
          sim.check(how.has_value(), "the child ends");
          (void)child.join();
          sim.check(nursery.join().has_value(), "the nursery is joined");
          sim.check(static_cast<int>(receiver.size()) == spent,
                    "what was paid for was sent");
          sim.check(outer.join().has_value(), "the others end");
        });
        sim.check(end.has_value(), "all ends well");
      });
  EXPECT_TRUE(result) << result;
}

}  // namespace
}  // namespace weft
