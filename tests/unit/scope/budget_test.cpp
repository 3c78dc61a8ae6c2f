// budget_test.cpp: what fibers may spend, and what becomes of those who cannot.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <sstream>
#include <vector>

#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include "support/spending.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_exhausted;
using test::spend;
using test::WorkersTest;
using namespace std::chrono_literals;

class BudgetTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, BudgetTest, ::testing::Values(1u, 2u));

constexpr Budget kSome{.ops = 100,
                       .memory = 1000,
                       .spawn_count = 10,
                       .channel_ops = 20,
                       .syscalls = 5};

// ---- Numbers. R-BUDGET-01 R-BUDGET-02 R-BUDGET-09

TEST(Budgets, AreWhatTheSpecificationSays) {
  static_assert(std::is_same_v<decltype(Budget::ops), std::uint32_t>);
  static_assert(std::is_same_v<decltype(Budget::memory), std::size_t>);
  static_assert(std::is_same_v<decltype(Budget::spawn_count), std::uint16_t>);
  static_assert(std::is_same_v<decltype(Budget::channel_ops), std::uint16_t>);
  static_assert(std::is_same_v<decltype(Budget::syscalls), std::uint16_t>);
  EXPECT_EQ(Budget(), (Budget{0, 0, 0, 0, 0}));
  EXPECT_EQ(Budget::child(), (Budget{10'000, 1u << 20, 0, 100, 10}));
  EXPECT_EQ(Budget::service(), (Budget{100'000, 10u << 20, 100, 1000, 100}));
  EXPECT_EQ(Budget::cluster(),
            (Budget{1'000'000, 100u << 20, 1000, 10'000, 1000}));
}

TEST(Budgets, AddUpToALimitAndNeverToNone) {
  const auto most = Budget::unlimited() - Budget();
  EXPECT_EQ(most, Budget::unlimited());
  constexpr Budget large{.ops = 0xFFFF'FFF0, .spawn_count = 65'000};
  const auto sum = large + large;
  EXPECT_EQ(sum.ops, 0xFFFF'FFFEu);
  EXPECT_EQ(sum.spawn_count, 65'534);
  EXPECT_EQ((large + Budget::unlimited()), Budget::unlimited());
}

TEST(Budgets, AreSubtractedDownToZero) {
  EXPECT_EQ(kSome - kSome, Budget());
  EXPECT_EQ(Budget() - kSome, Budget());
  EXPECT_EQ(Budget::unlimited() - kSome, Budget::unlimited());
  EXPECT_EQ((kSome - Budget{.ops = 1}).ops, 99u);
}

TEST(Budgets, TellWhatIsLacking) {
  EXPECT_EQ(kSome.lacks(kSome), Resource::none);
  EXPECT_EQ(kSome.lacks(kSome + Budget{.ops = 1}), Resource::ops);
  EXPECT_EQ(kSome.lacks(kSome + Budget{.memory = 1}), Resource::memory);
  EXPECT_EQ(kSome.lacks(kSome + Budget{.spawn_count = 1}), Resource::spawns);
  EXPECT_EQ(kSome.lacks(kSome + Budget{.channel_ops = 1}),
            Resource::channel_ops);
  EXPECT_EQ(kSome.lacks(kSome + Budget{.syscalls = 1}), Resource::syscalls);
  EXPECT_EQ(min(kSome, Budget::child()).ops, 100u);
  EXPECT_EQ(min(kSome, Budget::child()).spawn_count, 0);
}

TEST(Budgets, ArePrintedForPeople) {
  std::ostringstream out;
  auto budget = kSome;
  budget.memory = Budget::unlimited().memory;
  out << budget;
  EXPECT_EQ(out.str(),
            "ops 100, memory unlimited, spawns 10, channel_ops 20, syscalls 5");
}

// ---- Who has one.

TEST_P(BudgetTest, IsUnlimitedIfNobodySaysElse) {
  in_fiber([] {
    EXPECT_EQ(this_fiber::ledger().left, Budget::unlimited());
    Nursery nursery;
    EXPECT_EQ(nursery.budget(), Budget::unlimited());
    auto child = nursery.spawn([] {
      spend(1000);
      return this_fiber::ledger();
    });
    const auto ledger = child.join().value();
    EXPECT_EQ(ledger.left, Budget::unlimited());
    EXPECT_EQ(ledger.spent, Budget());
    EXPECT_TRUE(nursery.join());
  });
  EXPECT_EQ(this_fiber::ledger().left, Budget::unlimited());  // a plain thread
}

// R-BUDGET-07
TEST_P(BudgetTest, OfAChildIsTakenFromThePoolUpToTheDefault) {
  in_fiber([] {
    const Budget pool{.ops = 15'000,
                      .memory = 3u << 20,
                      .spawn_count = 2,
                      .channel_ops = 150,
                      .syscalls = 15};
    Nursery nursery({.budget = pool});
    EXPECT_EQ(nursery.budget(), pool);
    const auto read = [] { return this_fiber::ledger().left; };
    std::atomic<bool> go{false};
    auto first = nursery.spawn([&] {
      while (!go) this_fiber::yield();
      return read();
    });
    EXPECT_EQ(first.ledger().left, Budget::child());
    EXPECT_EQ(nursery.budget(),
              (Budget{5'000, 2u << 20, 1, 50, 5}));  // and one spawn
    auto second = nursery.spawn(read);
    EXPECT_EQ(second.join().value(), (Budget{5'000, 1u << 20, 0, 50, 5}));
    go = true;
    EXPECT_EQ(first.join().value(), Budget::child());
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(BudgetTest, ComesBackAsFarAsItWasNotSpent) {
  in_fiber([] {
    Nursery nursery({.budget = kSome});
    nursery.spawn({.budget = Budget{.ops = 40, .channel_ops = 4}},
                  [] { spend(10); });
    EXPECT_TRUE(nursery.join());
    auto left = kSome;
    left.ops -= 10;
    left.spawn_count -= 1;
    EXPECT_EQ(nursery.budget(), Budget());  // it is over: nothing is held
    // The same seen from a limited fiber, to which it all goes back.
    Nursery outer({.budget = kSome});
    auto child = outer.spawn(
        {.budget = Budget{.ops = 50, .spawn_count = 2, .channel_ops = 4}}, [] {
          {
            Nursery inner({.budget = Budget{.ops = 30, .spawn_count = 1}});
            EXPECT_EQ(this_fiber::ledger().left.ops, 20u);
            EXPECT_EQ(this_fiber::ledger().left.spawn_count, 1);
            inner.spawn({.budget = Budget{.ops = 30}}, [] { spend(7); });
            EXPECT_TRUE(inner.join());
          }
          return this_fiber::ledger().left;
        });
    // 1 op for the spawn, 7 of the grandchild.
    EXPECT_EQ(child.join().value(),
              (Budget{.ops = 42, .spawn_count = 1, .channel_ops = 4}));
    EXPECT_TRUE(outer.join());
  });
}

TEST_P(BudgetTest, OfANurseryIsNoMoreThanItsFiberHas) {
  in_fiber([] {
    Nursery outer({.budget = kSome});
    auto child = outer.spawn({.budget = Budget{.ops = 50}}, [] {
      Nursery inner({.budget = Budget::unlimited()});
      return inner.budget();
    });
    EXPECT_EQ(child.join().value(), Budget{.ops = 50});
    EXPECT_TRUE(outer.join());
  });
}

// ---- Spawns. R-NURS-04 R-ERR-01

TEST_P(BudgetTest, RefusesSpawnsThatItDoesNotCover) {
  in_fiber([] {
    Nursery nursery({.budget = kSome});
    const auto refused = [&](const Budget& asked) {
      const auto task = nursery.try_spawn({.budget = asked}, [] {});
      EXPECT_FALSE(task);
      return task.error();
    };
    EXPECT_EQ(refused({.ops = 101}), Error::out_of(Resource::ops));
    EXPECT_EQ(refused({.memory = 1001}), Error::out_of(Resource::memory));
    EXPECT_EQ(refused({.spawn_count = 10}),  // and one for the child itself
              Error::out_of(Resource::spawns));
    EXPECT_EQ(refused({.channel_ops = 21}),
              Error::out_of(Resource::channel_ops));
    EXPECT_EQ(refused({.syscalls = 6}), Error::out_of(Resource::syscalls));
    EXPECT_EQ(nursery.budget(), kSome);  // nothing was taken
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(BudgetTest, ARefusedSpawnFailsTheNursery) {
  in_fiber([] {
    Nursery nursery({.budget = Budget{.ops = 10}});
    auto child = nursery.spawn([] { FAIL() << "it has no spawns"; });
    EXPECT_EQ(child.join().error(), Error::out_of(Resource::spawns));
    EXPECT_EQ(nursery.join().error(), Error::out_of(Resource::spawns));
  });
}

TEST_P(BudgetTest, AChildMaySpawnOnlyIfItWasGranted) {
  in_fiber([] {
    Nursery outside;  // without limits, and within reach of the child
    Nursery nursery({.budget = kSome});
    auto child = nursery.spawn([&] {
      Nursery own;
      EXPECT_EQ(own.try_spawn([] {}).error(), Error::out_of(Resource::spawns));
      EXPECT_EQ(outside.try_spawn([] {}).error(),
                Error::out_of(Resource::spawns));
      EXPECT_EQ(nursery.try_spawn([] {}).error(),
                Error::out_of(Resource::spawns));
      Nursery root(this_fiber::runtime());
      EXPECT_EQ(root.try_spawn([] {}).error(), Error::out_of(Resource::spawns));
      EXPECT_TRUE(own.join());
      EXPECT_TRUE(root.join());
    });
    EXPECT_TRUE(child.join());
    EXPECT_TRUE(nursery.join());
    EXPECT_TRUE(outside.join());
  });
}

TEST_P(BudgetTest, GrandchildrenArePaidForByTheirSpawner) {
  in_fiber([] {
    Nursery nursery({.budget = kSome});
    auto child =
        nursery.spawn({.budget = Budget{.ops = 50, .spawn_count = 3}}, [] {
          Nursery own;
          Event go;
          auto one = own.spawn({.budget = Budget{.ops = 20}}, [&go] {
            EXPECT_TRUE(go.wait());
            return this_fiber::ledger().left.ops;
          });
          EXPECT_EQ(own.budget().ops, 29u);  // one for the spawn
          EXPECT_EQ(own.budget().spawn_count, 2);
          EXPECT_EQ(own.try_spawn({.budget = Budget{.ops = 30}}, [] {}).error(),
                    Error::out_of(Resource::ops));
          EXPECT_EQ(own.budget().spawn_count, 2);
          go.set();
          EXPECT_EQ(one.join().value(), 20u);
          EXPECT_TRUE(own.join());
          return this_fiber::ledger().left;
        });
    EXPECT_EQ(child.join().value(), (Budget{.ops = 49, .spawn_count = 2}));
    EXPECT_TRUE(nursery.join());
  });
}

// ---- Channels. R-BUDGET-06

TEST_P(BudgetTest, PaysForWhatItDoesWithChannels) {
  in_fiber([] {
    for (const std::size_t capacity : {std::size_t{1}, std::size_t{8}}) {
      auto channel = make_channel<int>(capacity);
      auto& sender = channel.sender;
      auto& receiver = channel.receiver;
      Nursery nursery({.budget = kSome});
      auto child =
          nursery.spawn({.budget = Budget{.ops = 50, .channel_ops = 8}}, [&] {
            const auto cost = [](auto operation) {
              const auto before = this_fiber::ledger().left;
              operation();
              const auto after = this_fiber::ledger().left;
              EXPECT_EQ(before.ops - after.ops, 1u);
              EXPECT_EQ(before.channel_ops - after.channel_ops, 1);
            };
            cost([&] { EXPECT_TRUE(sender.send(1)); });
            cost([&] { EXPECT_TRUE(receiver.receive()); });
            cost([&] { EXPECT_TRUE(sender.try_send(2)); });
            cost([&] { EXPECT_TRUE(receiver.try_receive()); });
            cost([&] { EXPECT_TRUE(sender.send(3)); });
            cost([&] {
              EXPECT_TRUE(select(on_receive(receiver, [](Result<int>) {})));
            });
            cost([&] {
              EXPECT_TRUE(select(on_receive(receiver, [](Result<int>) {}),
                                 otherwise([] {})));
            });
            cost([&] { EXPECT_TRUE(sender.send(4)); });
            const auto out = Error::out_of(Resource::channel_ops);
            EXPECT_EQ(sender.send(5).error(), out);
            EXPECT_EQ(sender.try_send(5).error(), out);
            EXPECT_EQ(receiver.receive().error(), out);
            EXPECT_EQ(receiver.try_receive().error(), out);
            EXPECT_EQ(select(on_receive(receiver, [](Result<int>) {})).error(),
                      out);
            EXPECT_EQ(this_fiber::ledger().spent,
                      (Budget{.ops = 8, .channel_ops = 8}));
          });
      EXPECT_TRUE(child.join());
      EXPECT_EQ(receiver.receive().value(), 4);  // nothing was lost
      EXPECT_TRUE(nursery.join());
    }
  });
}

TEST_P(BudgetTest, PaysForEachValueOfABatch) {
  in_fiber([] {
    auto channel = make_channel<int>(8);
    auto& sender = channel.sender;
    auto& receiver = channel.receiver;
    Nursery nursery({.budget = kSome});
    auto child =
        nursery.spawn({.budget = Budget{.ops = 50, .channel_ops = 4}}, [&] {
          std::vector<int> values{1, 2, 3, 4, 5, 6};
          return sender.send_many(values);
        });
    EXPECT_EQ(child.join().value(), 4u);
    EXPECT_EQ(receiver.size(), 4u);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(BudgetTest, PaysForBroadcasts) {
  in_fiber([] {
    Broadcast<int> news(4);
    auto mine = news.subscribe();
    Nursery nursery({.budget = kSome});
    auto child =
        nursery.spawn({.budget = Budget{.ops = 50, .channel_ops = 3}}, [&] {
          EXPECT_TRUE(news.send(1));
          EXPECT_TRUE(news.send(2));
          EXPECT_EQ(mine.receive().value(), 1);
          const auto out = Error::out_of(Resource::channel_ops);
          EXPECT_EQ(news.send(3).error(), out);
          EXPECT_EQ(mine.receive().error(), out);
          EXPECT_EQ(mine.try_receive().error(), out);
        });
    EXPECT_TRUE(child.join());
    EXPECT_EQ(mine.receive().value(), 2);
    EXPECT_TRUE(nursery.join());
  });
}

// A yield costs nothing. R-YIELD-03
TEST_P(BudgetTest, PaysNothingForYieldsAndSleeps) {
  in_fiber([] {
    Nursery nursery({.budget = kSome});
    auto child = nursery.spawn([] {
      const auto before = this_fiber::ledger().left;
      for (int i = 0; i < 10; ++i) this_fiber::yield();
      EXPECT_TRUE(this_fiber::sleep_for(1us));
      return before == this_fiber::ledger().left;
    });
    EXPECT_TRUE(child.join().value());
    EXPECT_TRUE(nursery.join());
  });
}

}  // namespace
}  // namespace weft
