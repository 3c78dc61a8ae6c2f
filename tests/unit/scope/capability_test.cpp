// capability_test.cpp: authority, split, used, given back and refused.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <type_traits>
#include <utility>

#include "unit/scope/capability_fixture.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::kNoLimit32;
using test::kPurse;
using test::Sandbox;

class CapabilityTest : public test::AuthorityTest {};
INSTANTIATE_TEST_SUITE_P(Workers, CapabilityTest, ::testing::Values(1u, 2u));

// R-CAP-04
TEST(Capability, CannotBeMadeOrCopied) {
  const auto check = [](auto* none) {
    using Cap = std::remove_pointer_t<decltype(none)>;
    static_assert(!std::is_default_constructible_v<Cap>);
    static_assert(!std::is_copy_constructible_v<Cap>);
    static_assert(!std::is_copy_assignable_v<Cap>);
    static_assert(std::is_nothrow_move_constructible_v<Cap>);
    static_assert(std::is_nothrow_move_assignable_v<Cap>);
    static_assert(sizeof(Cap) == sizeof(void*));
  };
  check(static_cast<CapSpawn*>(nullptr));
  check(static_cast<CapBudget*>(nullptr));
  check(static_cast<CapChannel*>(nullptr));
  check(static_cast<CapExecutor*>(nullptr));
}

TEST_P(CapabilityTest, GoesToTheFirstWhoAsks) {
  EXPECT_EQ(all().spawn.limits().max_tasks, kNoLimit32);
  EXPECT_EQ(all().spawn.limits().task_budget, Budget::unlimited());
  EXPECT_EQ(all().budget.limits(), Budget::unlimited());
  EXPECT_EQ(all().channel.limits().max_channels, kNoLimit32);
  EXPECT_EQ(runtime().authority().error(), Errc::denied);
  EXPECT_EQ(audit().authority.granted, 1u);
  EXPECT_EQ(audit().authority.denied, 1u);
}

TEST_P(CapabilityTest, OutlivesItsRuntime) {
  std::optional<CapSpawn> kept;
  {
    auto other = start(GetParam());
    kept.emplace(other.authority().value().spawn);
  }
  EXPECT_TRUE(kept->narrow({.max_tasks = 1, .task_budget = {}}));
}

TEST_P(CapabilityTest, IsOfNoUseInAnotherRuntime) {
  auto other = start(1);
  auto foreign = other.authority().value();
  in_fiber([&] {
    Sandbox unpaid(foreign.budget, kPurse);
    EXPECT_EQ(unpaid.try_spawn(all().spawn, [] {}).error(), Errc::denied);
    Sandbox sandbox(all().budget, kPurse);
    EXPECT_EQ(sandbox.try_spawn(foreign.spawn, [] {}).error(), Errc::denied);
    EXPECT_EQ(sandbox.refill(foreign.budget, {}).error(), Errc::denied);
    EXPECT_EQ(make_channel<int>(foreign.channel, 1).error(), Errc::denied);
    EXPECT_FALSE(foreign.executor.allows(Executor::fibers));
    auto child = sandbox.spawn(
        all().spawn, [&] { return this_fiber::recharge(foreign.budget, {}); });
    EXPECT_EQ(child.join().error(), Errc::denied);
    EXPECT_EQ(sandbox.join().error(), Errc::denied);
    EXPECT_TRUE(unpaid.join());
  });
  // A plain thread is in no runtime.
  EXPECT_TRUE(make_channel<int>(foreign.channel, 1));
  EXPECT_TRUE(foreign.executor.allows(Executor::fibers));
}

// ---- Splitting.

TEST_P(CapabilityTest, IsSplitAndComesTogetherAgain) {
  auto ten = all().spawn.narrow({10, kPurse}).value();
  EXPECT_EQ(ten.limits(), (SpawnLimits{10, kPurse}));
  EXPECT_EQ(all().spawn.limits().max_tasks, kNoLimit32);
  {
    auto three = ten.narrow({3, {.ops = 1}}).value();
    auto seven = ten.narrow({7, kPurse}).value();
    EXPECT_EQ(ten.limits().max_tasks, 0u);
    EXPECT_EQ(ten.narrow({1, {}}).error(), Errc::denied);
    EXPECT_EQ(three.narrow({1, {.ops = 2}}).error(), Errc::denied);
    EXPECT_EQ(three.limits().max_tasks, 3u);
  }
  EXPECT_EQ(ten.limits(), (SpawnLimits{10, kPurse}));
}

TEST_P(CapabilityTest, SplitsEveryPartOfABudget) {
  auto purse = all().budget.narrow(kPurse).value();
  for (const Budget& one :
       {Budget{.ops = 1}, Budget{.memory = 1}, Budget{.spawn_count = 1},
        Budget{.channel_ops = 1}, Budget{.syscalls = 1}}) {
    EXPECT_EQ(purse.narrow(kPurse + one).error(), Errc::denied);
    const auto part = purse.narrow(one).value();
    EXPECT_EQ(purse.limits(), kPurse - one);
    EXPECT_EQ(part.limits(), one);
  }
  EXPECT_EQ(purse.limits(), kPurse);
}

TEST_P(CapabilityTest, SplitsChannelsAndBackends) {
  auto few = all().channel.narrow({16, 3}).value();
  EXPECT_EQ(few.narrow({17, 1}).error(), Errc::denied);
  EXPECT_EQ(few.narrow({16, 4}).error(), Errc::denied);
  auto one = few.narrow({8, 1}).value();
  EXPECT_EQ(few.limits(), (ChannelLimits{16, 2}));
  EXPECT_EQ(one.limits(), (ChannelLimits{8, 1}));

  auto io = all().executor.narrow({Executor::io | Executor::fibers}).value();
  EXPECT_TRUE(io.allows(Executor::io));
  EXPECT_TRUE(io.allows(Executor::io | Executor::fibers));
  EXPECT_FALSE(io.allows(Executor::blocking));
  EXPECT_FALSE(io.allows(Executor::io | Executor::blocking));
  EXPECT_EQ(io.narrow({Executor::blocking}).error(), Errc::denied);
  EXPECT_TRUE(all().executor.allows(Executor::io));  // shared, not split
}

TEST_P(CapabilityTest, HasNothingOnceItWasMovedFrom) {
  auto one = all().spawn.narrow({1, kPurse}).value();
  CapSpawn moved(std::move(one));
  EXPECT_EQ(one.limits(), SpawnLimits());  // NOLINT: what is left of it
  EXPECT_EQ(one.narrow({}).error(), Errc::denied);
  one = std::move(moved);
  EXPECT_EQ(one.limits().max_tasks, 1u);
  auto& same = one;
  one = std::move(same);
  EXPECT_EQ(one.limits().max_tasks, 1u);
  one = all().spawn.narrow({2, {}}).value();
  EXPECT_EQ(one.limits().max_tasks, 2u);
}

// What is split again and again, and let go from the top, is not a recursion.
TEST_P(CapabilityTest, SurvivesALongChainOfParts) {
  auto last = all().spawn.narrow({5, {}}).value();
  auto first = last.narrow({4, {}}).value();
  for (int i = 0; i < 200'000; ++i) {
    auto next = first.narrow({4, {}}).value();
    first = std::move(next);
  }
  EXPECT_EQ(last.limits().max_tasks, 1u);
  { const CapSpawn gone(std::move(first)); }
  EXPECT_EQ(last.limits().max_tasks, 5u);
}

TEST_P(CapabilityTest, IsSplitBySeveralAtOnceAndNeverGrows) {
  auto hundred = all().budget.narrow({.ops = 100}).value();
  in_fiber([&] {
    Sandbox sandbox(all().budget, Budget::unlimited());
    for (int i = 0; i < 8; ++i) {
      sandbox.spawn(all().spawn, [&] {
        for (int round = 0; round < 200; ++round) {
          auto part = hundred.narrow({.ops = 30});
          this_fiber::yield();
          EXPECT_LE(hundred.limits().ops, 100u);
        }
      });
    }
    EXPECT_TRUE(sandbox.join());
  });
  EXPECT_EQ(hundred.limits().ops, 100u);
}

// ---- Spawning. R-CAP-01 R-CAP-02

TEST_P(CapabilityTest, LimitsHowManyAreAliveAtOnce) {
  auto two = all().spawn.narrow({2, Budget::unlimited()}).value();
  in_fiber([&] {
    Event go;
    Sandbox sandbox(all().budget, kPurse);
    auto first = sandbox.spawn(two, [&] { (void)go.wait(); });
    auto second = sandbox.spawn(two, [&] { (void)go.wait(); });
    EXPECT_EQ(two.limits().max_tasks, 0u);
    EXPECT_EQ(sandbox.try_spawn(two, [] {}).error(), Errc::denied);
    go.set();
    EXPECT_TRUE(first.join());
    EXPECT_TRUE(sandbox.try_spawn(two, [] {}));
    EXPECT_TRUE(second.join());
    EXPECT_TRUE(sandbox.join());
    EXPECT_EQ(two.limits().max_tasks, 2u);
  });
  EXPECT_GE(audit().spawn.granted, 3u);
  EXPECT_EQ(audit().spawn.denied, 1u);
}

TEST_P(CapabilityTest, LimitsWhatAChildGets) {
  auto poor = all().spawn.narrow({9, {.ops = 10}}).value();
  in_fiber([&] {
    Sandbox sandbox(all().budget, kPurse);
    const auto left = [] { return this_fiber::ledger().left; };
    auto usual = sandbox.spawn(poor, left);
    EXPECT_EQ(usual.join().value(), Budget{.ops = 10});
    auto asked = sandbox.spawn(poor, {.budget = Budget{.ops = 7}}, left);
    EXPECT_EQ(asked.join().value(), Budget{.ops = 7});
    auto rich = sandbox.try_spawn(poor, {.budget = Budget{.ops = 11}}, left);
    EXPECT_EQ(rich.error(), Errc::denied);
    // Permitted, but the pool does not have it: nothing was taken.
    auto two = all().spawn.narrow({2, Budget::unlimited()}).value();
    auto broke = sandbox.try_spawn(two, {.budget = Budget{.ops = 2000}}, left);
    EXPECT_EQ(broke.error(), Error::out_of(Resource::ops));
    EXPECT_EQ(two.limits().max_tasks, 2u);
    EXPECT_EQ(poor.limits().max_tasks, 9u);
    EXPECT_TRUE(sandbox.join());
  });
}

TEST_P(CapabilityTest, IsAFailureOfTheNurseryIfItDoesNotSuffice) {
  auto none = all().spawn.narrow({}).value();
  in_fiber([&] {
    Sandbox sandbox(all().budget, kPurse);
    EXPECT_EQ(sandbox.spawn(none, [] {}).join().error(), Errc::denied);
    EXPECT_EQ(sandbox.join().error(), Errc::denied);
  });
}

TEST_P(CapabilityTest, KeepsThePlacesOfChildrenThatNeverStartOrThrow) {
  auto four = all().spawn.narrow({4, Budget::unlimited()}).value();
  in_fiber([&] {
    Sandbox sandbox(all().budget, kPurse);
    sandbox.cancel();
    for (int i = 0; i < 2; ++i) sandbox.spawn(four, [] { ADD_FAILURE(); });
    struct Throws {
      Throws() = default;
      Throws(const Throws&) { throw 7; }
      void operator()() const {}
    } const body;
    EXPECT_THROW(sandbox.spawn(four, body), int);
    (void)sandbox.join();
    EXPECT_EQ(four.limits().max_tasks, 4u);
  });
}

// Authority is an argument: a plugin spawns by what it was given, and no more.
TEST_P(CapabilityTest, IsHandedToAChild) {
  in_fiber([&] {
    Sandbox sandbox(all().budget, {.ops = 1000, .spawn_count = 9});
    auto purse = all().budget.narrow({.ops = 10, .spawn_count = 9}).value();
    auto two = all().spawn.narrow({2, Budget::unlimited()}).value();
    auto plugin = sandbox.spawn(
        all().spawn, {.budget = Budget{.ops = 100}},
        [](CapSpawn may_spawn, CapBudget may_spend) {
          Event go;
          Sandbox own(may_spend, {.ops = 10, .spawn_count = 9});
          int started = 0;
          for (int i = 0; i < 5; ++i) {
            started += own.try_spawn(may_spawn, {.budget = Budget{.ops = 1}},
                                     [&] { (void)go.wait(); })
                           .has_value();
          }
          go.set();
          EXPECT_TRUE(own.join());
          return started;
        },
        std::move(two), std::move(purse));
    EXPECT_EQ(plugin.join().value(), 2);
    EXPECT_TRUE(sandbox.join());
  });
}

// R-CAP-03: a fork bomb stays in its box.
TEST_P(CapabilityTest, ContainsAForkBomb) {
  struct Bomb {
    void go() {
      EXPECT_LE(++alive, 8);
      for (int i = 0; i < 4; ++i) {
        (void)box.try_spawn(by, kEach, [this] { go(); });
        this_fiber::yield();
      }
      --alive;
    }
    const SpawnOptions kEach{.budget = Budget{.ops = 9, .spawn_count = 2}};
    Sandbox& box;
    CapSpawn& by;
    std::atomic<int> alive{0};
  };
  auto some = all().spawn.narrow({8, Budget::unlimited()}).value();
  in_fiber([&] {
    Sandbox box(all().budget, {.ops = 2000, .spawn_count = 300});
    Bomb bomb{.box = box, .by = some};
    box.spawn(some, bomb.kEach, [&] { bomb.go(); });
    Nursery others;
    EXPECT_EQ(others.spawn([] { return 7; }).join().value(), 7);
    EXPECT_TRUE(others.join());
    EXPECT_TRUE(box.join());
    EXPECT_EQ(some.limits().max_tasks, 8u);
  });
}

}  // namespace
}  // namespace weft
