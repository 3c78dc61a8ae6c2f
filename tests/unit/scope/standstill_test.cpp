// standstill_test.cpp: when a join says that nobody but the joiner can help.
#include <gtest/gtest.h>

#include <cstdint>

#include "support/runtime_test.hpp"
#include "support/spending.hpp"
#include <weft/testing.hpp>
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_exhausted;
using test::spend;

class StandstillTest : public test::WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, StandstillTest, ::testing::Values(1u, 2u));

constexpr Budget kTwoSpawns{.ops = 100, .spawn_count = 2};
constexpr Budget kOneOp{.ops = 1};

Status spend_two() {
  spend(2);
  return this_fiber::checkpoint();
}

TEST_P(StandstillTest, JoinWaitsForWhomACancelEnds) {
  in_fiber([] {
    for (int round = 0; round < 200; ++round) {
      Nursery nursery({.budget = kTwoSpawns});
      auto child = nursery.spawn({.budget = kOneOp}, spend_two);
      await_exhausted(child);
      child.cancel();
      const Status end = nursery.join();
      ASSERT_TRUE(end) << end.error();
      EXPECT_EQ(child.join().error(), Errc::cancelled);
    }
  });
}

// The one that is left is another one's business.
TEST_P(StandstillTest, JoinTellsOfTheOneThatIsNotCancelled) {
  in_fiber([] {
    Nursery nursery({.budget = kTwoSpawns});
    auto one = nursery.spawn({.budget = kOneOp}, spend_two);
    auto other = nursery.spawn({.budget = kOneOp}, spend_two);
    await_exhausted(one);
    await_exhausted(other);
    one.cancel();
    EXPECT_EQ(nursery.join().error(), Error::out_of(Resource::ops));
    EXPECT_TRUE(one.done());
    await_exhausted(other);
    EXPECT_TRUE(nursery.recharge(other.id(), {.ops = 10}));
    EXPECT_TRUE(nursery.join());
  });
}

TEST(ExploredStandstill, JoinWaitsForWhomACancelEnds) {
  using testing::Search;
  using testing::Simulation;
  for (const auto search : {Search::random, Search::pct}) {
    const auto result = testing::explore(
        {.search = search, .schedules = 500}, [](Simulation& sim) {
          const auto end = sim.run([&] {
            Nursery nursery({.budget = kTwoSpawns});
            auto child = nursery.spawn({.budget = kOneOp}, spend_two);
            sim.check(nursery.wait_exhausted().has_value(), "it runs out");
            child.cancel();
            sim.check(nursery.join().has_value(), "it ends");
          });
          sim.check(end.has_value(), "all ends well");
        });
    EXPECT_TRUE(result) << result;
  }
}

}  // namespace
}  // namespace weft
