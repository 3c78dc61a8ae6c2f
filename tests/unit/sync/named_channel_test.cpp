// named_channel_test.cpp: what a report of a deadlock calls a channel.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "support/death_test.hpp"
#include <weft/testing.hpp>
#include <weft/weft.hpp>

namespace weft {
namespace {

using testing::explore;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Simulation;
using testing::Verdict;

TEST(NamedChannel, IsCalledSoInReports) {
  const auto result = explore([](Simulation&) {
    auto orders = make_channel<int>(1, {.name = "orders"});
    auto bills = make_channel<int>(0, {.name = "bills"});
    auto others = make_channel<int>(0);
    Nursery nursery;
    nursery.spawn({.name = "cook"}, [&] { (void)orders.receiver.receive(); });
    nursery.spawn({.name = "cashier"}, [&] { (void)bills.sender.send(1); });
    nursery.spawn({.name = "guest"}, [&] { (void)others.sender.send(1); });
    nursery.spawn({.name = "waiter"}, [&] {
      (void)select(on_receive(orders.receiver, [](Result<int>) {}));
    });
    (void)nursery.join();
  });
  EXPECT_EQ(result.verdict, Verdict::deadlock);
  EXPECT_THAT(result.report,
              HasSubstr("\"cook\" receives from channel \"orders\"\n"));
  EXPECT_THAT(result.report,
              HasSubstr("\"cashier\" sends to channel \"bills\"\n"));
  EXPECT_THAT(result.report, HasSubstr("\"guest\" sends to #1\n"));
  EXPECT_THAT(result.report,
              HasSubstr("\"waiter\" selects from channel \"orders\"\n"));
}

// Others may be made where it was.
TEST(NamedChannel, TakesItsNameAlong) {
  const auto result = explore([](Simulation&) {
    for (int i = 0; i < 4; ++i) {
      auto gone = make_channel<int>(1, {.name = "gone"});
      (void)gone.sender.send(1);
    }
    auto channel = make_channel<int>(1);
    (void)channel.receiver.receive();
  });
  EXPECT_EQ(result.verdict, Verdict::deadlock);
  EXPECT_THAT(result.report, HasSubstr("\"test\" receives from #"));
  EXPECT_THAT(result.report, Not(HasSubstr("receives from channel")));
}

class NamedChannelDeathTest : public test::FreshProcessTest {};

TEST_F(NamedChannelDeathTest, IsCalledSoByADeterministicRuntime) {
  EXPECT_DEATH(
      {
        auto runtime = Runtime::start({.workers = 1, .deterministic_seed = 1});
        auto channel = make_channel<int>(1, {.name = "orders"});
        (void)runtime->run([&] { (void)channel.receiver.receive(); });
      },
      "fiber 1 receives from channel \"orders\".*deadlock: every fiber");
}

}  // namespace
}  // namespace weft
