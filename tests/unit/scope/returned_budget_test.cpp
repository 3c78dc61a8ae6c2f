// returned_budget_test.cpp: what is not spent, and whose it is then.
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "fiber/fiber.hpp"
#include "sched/carrier.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class ReturnedBudgetTest : public test::WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ReturnedBudgetTest,
                         ::testing::Values(1u, 2u));

constexpr Budget kSome{.ops = 1000, .memory = 1000, .spawn_count = 10};
constexpr Budget kLittle{.ops = 10, .memory = 10};

// A nursery outlives the fiber that made it, and another one has its frame.
TEST_P(ReturnedBudgetTest, IsNotAnothersWhoHasTheFrameOfThePayer) {
  in_fiber([] {
    const auto runtime = this_fiber::runtime();
    const auto frame = []() -> fiber::Fiber* {
      return sched::carrier().current;
    };
    constexpr Budget kOne{.ops = 100, .memory = 100, .spawn_count = 1};
    for (const auto& budget : {std::optional(kOne), std::optional<Budget>()}) {
      Nursery outer;
      std::unique_ptr<Nursery> kept;
      const fiber::Fiber* payer = nullptr;
      auto one = outer.spawn({.budget = kSome}, [&] {
        payer = frame();
        kept = std::make_unique<Nursery>(runtime,
                                         NurseryOptions{.budget = budget});
        auto child = kept->spawn({.budget = kLittle}, [] {});
        EXPECT_TRUE(child.join());
      });
      EXPECT_TRUE(one.join());
      one = {};
      for (bool same = false; !same;) {  // soon: the last that came back
        auto other = outer.spawn({.budget = kLittle}, [&] {
          same = frame() == payer;
          if (!same) return;
          kept.reset();
          EXPECT_EQ(this_fiber::ledger().left, kLittle);
        });
        EXPECT_TRUE(other.join());
      }
      EXPECT_TRUE(outer.join());
    }
  });
}

}  // namespace
}  // namespace weft
