// returned_budget_test.cpp: what is not spent, and whose it is then.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>

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
  in_fiber([this] {
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
      // Soon: the last that came back. Simulated workers may never get there.
      int tries = explored() ? 100 : 1'000'000;
      for (bool same = false; !same && tries > 0; --tries) {
        auto other = outer.spawn({.budget = kLittle}, [&] {
          same = frame() == payer;
          if (!same) return;
          kept.reset();
          EXPECT_EQ(this_fiber::ledger().left, kLittle);
        });
        EXPECT_TRUE(other.join());
      }
      EXPECT_TRUE(explored() || tries > 0);
      EXPECT_TRUE(outer.join());
    }
  });
}

// What somebody without limits gave to children is not for whoever ends them.
TEST_P(ReturnedBudgetTest, IsNobodysIfWhoMadeTheNurseryPaidNothing) {
  in_fiber([] {
    auto kept = std::make_unique<Nursery>(this_fiber::runtime());
    EXPECT_TRUE(kept->spawn({.budget = kSome}, [] {}).join());
    Nursery outer;
    auto other = outer.spawn({.budget = kLittle}, [&] {
      kept.reset();
      EXPECT_EQ(this_fiber::ledger().left, kLittle);
    });
    EXPECT_TRUE(other.join());
    EXPECT_TRUE(outer.join());
  });
}

struct ThrowsWhenCopied {
  ThrowsWhenCopied() = default;
  ThrowsWhenCopied(const ThrowsWhenCopied& /*other*/) {
    throw std::runtime_error("copied");
  }
  void operator()() const {}
};
const ThrowsWhenCopied throws_when_copied;

// No child was started: nothing was paid.
TEST_P(ReturnedBudgetTest, IsAllOfItIfTheClosureThrows) {
  in_fiber([] {
    Nursery nursery({.budget = kSome});
    EXPECT_THROW(nursery.spawn(throws_when_copied), std::runtime_error);
    EXPECT_THROW((void)nursery.try_spawn({.name = "none", .budget = kLittle},
                                         throws_when_copied),
                 std::runtime_error);
    EXPECT_EQ(nursery.budget(), kSome);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ReturnedBudgetTest, IsTheSpawnersIfTheClosureThrows) {
  in_fiber([] {
    Nursery free;
    Nursery nursery({.budget = kSome});
    auto child = nursery.spawn(
        {.budget = Budget{.ops = 100, .memory = 10, .spawn_count = 1}}, [&] {
          const Budget pool = nursery.budget();
          const auto ledger = this_fiber::ledger();
          Nursery own;
          for (auto* where : {&nursery, &own, &free}) {
            EXPECT_THROW(where->spawn({.budget = kLittle}, throws_when_copied),
                         std::runtime_error);
            EXPECT_EQ(this_fiber::ledger().left, ledger.left);
            EXPECT_EQ(this_fiber::ledger().spent, ledger.spent);
          }
          EXPECT_EQ(nursery.budget(), pool);
          EXPECT_TRUE(own.join());
        });
    EXPECT_TRUE(child.join());
    EXPECT_TRUE(nursery.join());
    EXPECT_TRUE(free.join());
  });
}

}  // namespace
}  // namespace weft
