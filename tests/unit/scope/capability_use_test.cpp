// capability_use_test.cpp: budgets and channels by capabilities.
#include <gtest/gtest.h>

#include <utility>

#include "support/spending.hpp"
#include "unit/scope/capability_fixture.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::kNoLimit32;
using test::kPurse;
using test::Sandbox;
using test::spend;

class CapabilityUseTest : public test::AuthorityTest {};
INSTANTIATE_TEST_SUITE_P(Workers, CapabilityUseTest, ::testing::Values(1u, 2u));

// ---- Budgets.

TEST_P(CapabilityUseTest, PaysForAPoolAndGetsBackWhatIsLeft) {
  auto purse = all().budget.narrow(kPurse).value();
  in_fiber([&] {
    Sandbox sandbox(purse, {.ops = 300, .spawn_count = 5});
    EXPECT_EQ(purse.limits(), (kPurse - Budget{.ops = 300, .spawn_count = 5}));
    EXPECT_EQ(sandbox.budget(), (Budget{.ops = 300, .spawn_count = 5}));
    sandbox.spawn(all().spawn, [] { spend(40); });
    EXPECT_TRUE(sandbox.join());
    EXPECT_EQ(purse.limits(), (kPurse - Budget{.ops = 40, .spawn_count = 1}));
  });
  EXPECT_EQ(purse.limits(), (kPurse - Budget{.ops = 40, .spawn_count = 1}));
}

TEST_P(CapabilityUseTest, DeniesAPoolThatItCannotPayFor) {
  auto purse = all().budget.narrow({.ops = 10}).value();
  in_fiber([&] {
    Sandbox sandbox(purse, {.ops = 11});
    EXPECT_EQ(sandbox.try_spawn(all().spawn, [] {}).error(), Errc::denied);
    EXPECT_EQ(sandbox.refill(purse, {.ops = 1}).error(), Errc::invalid);
    EXPECT_TRUE(sandbox.join());
  });
  EXPECT_EQ(purse.limits(), Budget{.ops = 10});
  EXPECT_EQ(all().spawn.limits().max_tasks, kNoLimit32);
}

TEST_P(CapabilityUseTest, RefillsAPool) {
  auto purse = all().budget.narrow({.ops = 100}).value();
  in_fiber([&] {
    Sandbox sandbox(all().budget, {.ops = 5, .spawn_count = 9});
    EXPECT_EQ(sandbox.refill(purse, {.ops = 101}).error(), Errc::denied);
    EXPECT_TRUE(sandbox.refill(purse, {.ops = 60}));
    EXPECT_EQ(sandbox.budget().ops, 65u);
    EXPECT_EQ(purse.limits().ops, 40u);
    EXPECT_TRUE(sandbox.join());
  });
  EXPECT_EQ(purse.limits().ops, 40u);  // the rest went to who paid first
  EXPECT_GE(audit().budget.granted, 3u);
  EXPECT_EQ(audit().budget.denied, 1u);
}

// R-BUDGET-05: by oneself, with a capability, up to its limit.
TEST_P(CapabilityUseTest, RechargesItsHolderUpToItsLimit) {
  auto purse = all().budget.narrow({.ops = 100}).value();
  in_fiber([&] {
    EXPECT_EQ(this_fiber::recharge(purse, {.ops = 1}).error(), Errc::invalid);
    Sandbox sandbox(all().budget, {.ops = 50, .spawn_count = 9});
    auto child =
        sandbox.spawn(all().spawn, {.budget = Budget{.ops = 50}}, [&purse] {
          spend(50);
          EXPECT_EQ(this_fiber::ledger().left.ops, 0u);
          EXPECT_TRUE(this_fiber::recharge(purse, {.ops = 70}));
          spend(70);
          EXPECT_EQ(this_fiber::recharge(purse, {.ops = 31}).error(),
                    Errc::denied);
          EXPECT_EQ(purse.limits().ops, 30u);
          EXPECT_TRUE(this_fiber::recharge(purse, {.ops = 30}));
          spend(30);
          return this_fiber::ledger();
        });
    const auto ledger = child.join().value();
    EXPECT_EQ(ledger.left, Budget());
    EXPECT_EQ(ledger.spent.ops, 150u);
    EXPECT_TRUE(sandbox.join());
  });
  EXPECT_EQ(purse.limits(), Budget());
}

// ---- Channels.

TEST_P(CapabilityUseTest, LimitsChannels) {
  auto two = all().channel.narrow({16, 2}).value();
  EXPECT_EQ(make_channel<int>(two, 17).error(), Errc::denied);
  auto first = make_channel<int>(two, 16);
  ASSERT_TRUE(first);
  auto second = make_channel<int>(two, 0, {.name = "second"});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->sender.name(), "second");
  EXPECT_EQ(make_channel<int>(two, 1).error(), Errc::denied);
  EXPECT_TRUE(first->sender.try_send(7));
  EXPECT_EQ(first->receiver.try_receive().value(), 7);
  // One that is gone gives its place back: when both of its sides are.
  { const auto gone = std::move(first->sender); }
  EXPECT_EQ(two.limits().max_channels, 0u);
  { const auto gone = std::move(first->receiver); }
  EXPECT_EQ(two.limits().max_channels, 1u);
  EXPECT_TRUE(make_channel<int>(two, 1));
  EXPECT_EQ(audit().channel.denied, 2u);
  EXPECT_EQ(audit().channel.granted, 4u);  // a part and three channels
}

TEST_P(CapabilityUseTest, IsNotNeededOnceTheChannelIsThere) {
  auto channel = [&] {
    auto one = all().channel.narrow({1, 1}).value();
    return make_channel<int>(one, 1).value();
  }();
  EXPECT_TRUE(channel.sender.try_send(1));
  EXPECT_EQ(channel.receiver.try_receive().value(), 1);
}

}  // namespace
}  // namespace weft
