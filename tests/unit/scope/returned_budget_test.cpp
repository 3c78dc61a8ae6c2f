// returned_budget_test.cpp: what is not spent, and whose it is then.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>

#include "fiber/fiber.hpp"
#include "sched/carrier.hpp"
#include "support/runtime_test.hpp"
#include "support/spending.hpp"
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

// ---- Of a nursery without a budget, in which the spawner pays.

TEST_P(ReturnedBudgetTest, IsTheSpawnersAsSoonAsTheChildHasEnded) {
  in_fiber([] {
    Nursery outer({.budget = Budget::cluster() + Budget::service()});
    auto spawner = outer.spawn(
        {.budget = Budget{.ops = 3000, .memory = 1000, .spawn_count = 1000}},
        [] {
          Nursery own;
          for (unsigned i = 1; i <= 1000; ++i) {
            auto child = own.spawn([] { return this_fiber::ledger().left; });
            const auto left = child.join();
            ASSERT_TRUE(left) << i;
            EXPECT_EQ(left->ops, 3000 - i) << "all but 1 for each spawn";
            EXPECT_EQ(
                this_fiber::ledger().left,
                (Budget{.ops = 3000 - i,
                        .memory = 1000,
                        .spawn_count = static_cast<std::uint16_t>(1000 - i)}));
          }
          EXPECT_TRUE(own.join());
        });
    EXPECT_TRUE(spawner.join());
    EXPECT_TRUE(outer.join());
  });
}

TEST_P(ReturnedBudgetTest, LetsASpawnerGoOnThatHasRunOut) {
  in_fiber([] {
    Nursery outer({.budget = kSome});
    std::atomic<bool> go{false};
    auto spawner =
        outer.spawn({.budget = Budget{.ops = 20, .spawn_count = 1}}, [&] {
          Nursery own;
          own.spawn({.budget = Budget{.ops = 15}}, [&] {
            while (!go) this_fiber::yield();
          });
          test::spend(10);  // of the 4 that it has kept
          EXPECT_TRUE(own.join());
          EXPECT_EQ(this_fiber::ledger().left.ops, 9u);
        });
    test::await_exhausted(spawner);
    go = true;
    EXPECT_TRUE(spawner.join());
    EXPECT_TRUE(outer.join());
  });
}

TEST_P(ReturnedBudgetTest, IsNotForWhoseNurseryItIsIfAnotherSpawns) {
  in_fiber([] {
    Nursery service;  // of a fiber without limits
    Nursery box({.budget = kSome});
    auto spawner = box.spawn(
        {.budget = Budget{.ops = 100, .memory = 10, .spawn_count = 1}}, [&] {
          auto child =
              service.spawn({.budget = Budget{.ops = 50, .memory = 10}}, [] {});
          EXPECT_TRUE(child.join());
          EXPECT_EQ(this_fiber::ledger().left,
                    (Budget{.ops = 99, .memory = 10}));
        });
    EXPECT_TRUE(spawner.join());
    EXPECT_EQ(box.budget().ops, kSome.ops - 1);
    EXPECT_TRUE(service.join());
    EXPECT_TRUE(box.join());
  });
}

TEST_P(ReturnedBudgetTest, IsNotMadeByAStrangerWithoutLimits) {
  in_fiber([] {
    Nursery box({.budget = kSome});
    std::atomic<Nursery*> theirs{nullptr};
    std::atomic<bool> done{false};
    auto client = box.spawn({.budget = kLittle}, [&] {
      Nursery own;
      theirs = &own;
      while (!done) this_fiber::yield();
      EXPECT_TRUE(own.join());
      return this_fiber::ledger().left;
    });
    while (theirs == nullptr) this_fiber::yield();
    theirs.load()->spawn([] {});
    theirs.load()->spawn({.budget = kSome}, [] {});
    done = true;
    EXPECT_EQ(client.join().value(), kLittle);
    EXPECT_TRUE(box.join());
  });
}

// Each pays for the next one and ends before it does.
TEST_P(ReturnedBudgetTest, IsForWhoPaidForASpawnerThatHasEnded) {
  in_fiber([] {
    Nursery box({.budget = kSome});
    auto first =
        box.spawn({.budget = Budget{.ops = 100, .spawn_count = 9}}, [] {
          Nursery own;
          struct Relay {
            void operator()() const {
              if (next == 0) return;
              own.spawn(
                  {.budget = Budget{.ops = 10 * next - 5,
                                    .spawn_count =
                                        static_cast<std::uint16_t>(next - 1)}},
                  Relay{own, next - 1});
            }
            Nursery& own;
            std::uint32_t next;
          };
          Relay{own, 9}();
          while (own.live() != 0) this_fiber::yield();  // join() closes it
          EXPECT_TRUE(own.join());
          return this_fiber::ledger().left;
        });
    EXPECT_EQ(first.join().value(), Budget{.ops = 91});
    EXPECT_TRUE(box.join());
  });
}

// ---- So much that it is close to no limit.

TEST_P(ReturnedBudgetTest, IsNotWithoutLimitIfItWasLarge) {
  in_fiber([] {
    constexpr std::size_t kLarge = (std::size_t{1} << 62) + 1;
    constexpr std::uint16_t kMany = 65'534;
    const Budget large{.ops = 1000, .memory = kLarge, .spawn_count = kMany};
    Nursery nursery({.budget = large});
    auto child = nursery.spawn({.budget = Budget{.ops = 100, .memory = kLarge}},
                               [] { return this_fiber::ledger().left; });
    EXPECT_EQ(child.join().value(),
              (Budget{.ops = 100, .memory = std::size_t{1} << 62}));
    EXPECT_EQ(nursery.budget(), (Budget{.ops = 1000,
                                        .memory = std::size_t{1} << 62,
                                        .spawn_count = kMany - 1}));
    EXPECT_EQ(
        nursery.try_spawn({.budget = Budget{.spawn_count = kMany - 1}}, [] {})
            .error(),
        Error::out_of(Resource::spawns))
        << "one is its own";
    EXPECT_TRUE(nursery.join());
    Nursery most({.budget = Budget{.spawn_count = kMany}});
    EXPECT_EQ(
        most.try_spawn({.budget = Budget{.spawn_count = kMany}}, [] {}).error(),
        Error::out_of(Resource::spawns));
    EXPECT_TRUE(most.join());
  });
}

}  // namespace
}  // namespace weft
