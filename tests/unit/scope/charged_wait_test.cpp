// charged_wait_test.cpp: what calls that wait cost, and how long they wait for
// that.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory_resource>

#include "support/runtime_test.hpp"
#include "support/spending.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using namespace std::chrono_literals;

class ChargedWaitTest : public test::WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ChargedWaitTest, ::testing::Values(1u, 2u));

// R-BUDGET-04: who has no ops waits for them, as long as the call may.
TEST_P(ChargedWaitTest, TheDeadlineOfACallCountsWhileItWaitsForOps) {
  in_fiber([] {
    auto channel = make_channel<int>(4);
    Broadcast<int> news(4);
    auto mine = news.subscribe();
    EXPECT_TRUE(news.send(1));
    EXPECT_TRUE(channel.sender.send(1));
    Nursery nursery;
    const auto run = [&](auto body) {
      auto child = nursery.spawn(
          {.budget = Budget{.ops = 0, .channel_ops = 4}}, [&body] {
            EXPECT_EQ(body(Deadline::after(1us)).error(), Errc::timed_out);
            const Shield shield;
            EXPECT_EQ(body(Deadline::after(1us)).error(), Errc::timed_out);
          });
      EXPECT_TRUE(child.join());
    };
    run([&](Deadline by) { return channel.sender.send(2, by); });
    run([&](Deadline by) { return channel.receiver.receive(by); });
    run([&](Deadline by) { return news.send(2, by); });
    run([&](Deadline by) { return mine.receive(by); });
    run([&](Deadline by) {
      Selector several(1);
      EXPECT_TRUE(
          several.add(on_receive(channel.receiver, [](Result<int>) {})));
      return several.wait(by);
    });
    EXPECT_EQ(channel.receiver.try_receive().value(), 1);
    EXPECT_EQ(channel.receiver.try_receive().error(), Errc::would_block);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ChargedWaitTest, WaitingForOneOfSeveralIsNoOperationOfAChannel) {
  in_fiber([] {
    Nursery nursery;
    auto child = nursery.spawn(
        {.budget = Budget{.ops = 100'000, .spawn_count = 20}}, []() -> Status {
          WEFT_TRY(race([] { return 1; }, [] { return 2; }));
          WEFT_TRY(any([]() -> Result<int> { return Error::user(1); },
                       []() -> Result<int> { return 2; }));
          EXPECT_EQ(this_fiber::ledger().spent.channel_ops, 0);
          return {};
        });
    EXPECT_TRUE(child.join());
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ChargedWaitTest, ABlockThatNobodyPaidForMakesNoMemory) {
  in_fiber([] {
    Nursery nursery;
    auto* const memory = nursery.memory();
    void* const unpaid = memory->allocate(500);
    auto child =
        nursery.spawn({.budget = Budget{.ops = 100, .memory = 1'000}}, [&] {
          memory->deallocate(unpaid, 500);
          EXPECT_EQ(this_fiber::ledger().left.memory, 1'000u);
          void* const own = memory->allocate(300);
          EXPECT_EQ(this_fiber::ledger().left.memory, 700u);
          memory->deallocate(own, 300);
          EXPECT_EQ(this_fiber::ledger().left.memory, 1'000u);
        });
    EXPECT_TRUE(child.join());
    EXPECT_TRUE(nursery.join());
  });
}

// ---- A join of those who go on without a recharge.

class DeadlineTest : public test::WorkersTest {
 protected:
  // Joins a child that has no ops to receive with, and nobody to help.
  template <typename Receive>
  static void expect_joined(const SpawnOptions& options, Receive receive) {
    auto channel = make_channel<int>(1);
    Nursery nursery({.budget = Budget::service()});
    auto how = options;
    how.budget = Budget{.channel_ops = 4};
    auto child = nursery.spawn(how, [&] { return receive(channel.receiver); });
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(child.join().error(), Errc::timed_out);
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, DeadlineTest, ::testing::Values(1u, 2u));

constexpr SpawnOptions kKeep{.on_failure = OnFailure::keep};
constexpr auto kReceive = [](auto& from) { return from.receive(); };

TEST_P(DeadlineTest, OfTheCallKeepsAJoinWaiting) {
  in_fiber([] {
    expect_joined(
        kKeep, [](auto& from) { return from.receive(Deadline::after(5ms)); });
  });
}

TEST_P(DeadlineTest, OfAScopeKeepsAJoinWaiting) {
  in_fiber([] {
    expect_joined(kKeep, [](auto& from) {
      const CancelScope scope(Deadline::after(5ms));
      const Shield shield;  // holds nothing off from who is out of ops
      const CancelScope inner;
      const auto end = from.receive();
      EXPECT_EQ(end.error(), Error::out_of(Resource::ops));
      return Result<int>(Errc::timed_out);
    });
  });
}

TEST_P(DeadlineTest, OfTheChildKeepsAJoinWaiting) {
  in_fiber([] {
    auto how = kKeep;
    how.deadline = Deadline::after(5ms);
    expect_joined(how, kReceive);
  });
}

// Who watches is told all the same.
TEST_P(DeadlineTest, OfTheCallHidesNobodyWhoIsExhausted) {
  in_fiber([] {
    auto channel = make_channel<int>(1);
    Nursery nursery({.budget = Budget::service()});
    const auto receive = [&](Deadline by) {
      return nursery.spawn({.budget = Budget{.channel_ops = 4}},
                           [&, by] { (void)channel.receiver.receive(by); });
    };
    auto child = receive(Deadline::after(1h));
    EXPECT_EQ(nursery.wait_exhausted().value().fiber, child.id());
    test::await_exhausted(child);  // it was told of before it left its stack
    EXPECT_TRUE(channel.sender.send(1));
    EXPECT_TRUE(nursery.recharge(child.id(), {.ops = 1}));
    EXPECT_TRUE(child.join());
    // Of the others the join speaks.
    auto waits = receive(Deadline::never());
    auto ends = receive(Deadline::after(1ms));
    EXPECT_EQ(nursery.join().error(), Error::out_of(Resource::ops));
    EXPECT_TRUE(ends.join());
    test::await_exhausted(waits);
    EXPECT_TRUE(channel.sender.send(1));
    EXPECT_TRUE(nursery.recharge(waits.id(), {.ops = 1}));
    EXPECT_TRUE(nursery.join());
  });
}

// Ids are of one runtime: another's child may have that of who recharges it.
class RechargeTest : public test::RuntimeTest {};

TEST_F(RechargeTest, OfAChildOfAnotherRuntimeIsNotOfOneself) {
  Runtime here = start(1);
  Runtime there = start(1);
  EXPECT_TRUE(here.run([&] {
    Nursery theirs(there, {.budget = Budget::unlimited()});
    auto child =
        theirs.spawn({.budget = Budget{.ops = 1}}, [] { test::spend(2); });
    EXPECT_EQ(theirs.wait_exhausted().value().fiber, child.id());
    EXPECT_EQ(child.id(), this_fiber::id()) << "each the first of its runtime";
    EXPECT_TRUE(theirs.recharge(child.id(), {.ops = 1}));
    EXPECT_TRUE(child.join());
    EXPECT_TRUE(theirs.join());
  }));
}

}  // namespace
}  // namespace weft
