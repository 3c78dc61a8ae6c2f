// nursery_begin_test.cpp: what a nursery is from its first moment: a pool, a
// runtime, a place on the stack of its fiber's scopes.
#include <gtest/gtest.h>

#include "fiber/scope.hpp"
#include "sched/carrier.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class NurseryBeginTest : public test::WorkersTest {
 protected:
  static const fiber::Scope* innermost() {
    return sched::carrier().current->scope;
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, NurseryBeginTest, ::testing::Values(1u, 2u));

// R-NURS-03
TEST_P(NurseryBeginTest, HasAPoolARuntimeAndAPlaceOnTheStackOfItsFiber) {
  in_fiber([&] {
    constexpr Budget kPool{.ops = 100, .memory = 50, .spawn_count = 3};
    const auto* const around = innermost();
    {
      Nursery outer({.budget = kPool});
      EXPECT_EQ(outer.budget(), kPool);
      EXPECT_EQ(outer.runtime().worker_count(), GetParam());
      const auto* const first = innermost();
      EXPECT_NE(first, around);
      EXPECT_EQ(first->parent(), around);
      {
        Nursery inner;
        EXPECT_EQ(innermost()->parent(), first);
        EXPECT_TRUE(innermost()->is_nursery());
        EXPECT_TRUE(inner.join());
        EXPECT_EQ(innermost()->parent(), first);  // until it goes
      }
      EXPECT_EQ(innermost(), first);
      EXPECT_TRUE(outer.join());
    }
    EXPECT_EQ(innermost(), around);
  });
}

TEST_P(NurseryBeginTest, OfARuntimeOrByNameIsOnNobodysStack) {
  in_fiber([] {
    Nursery outer;
    const auto* const around = innermost();
    Nursery root(this_fiber::runtime());
    Nursery named(outer);
    EXPECT_EQ(innermost(), around);
    EXPECT_TRUE(named.join());
    EXPECT_TRUE(root.join());
    EXPECT_TRUE(outer.join());
  });
}

// A child begins in the nursery that it was spawned into, whoever spawned it.
TEST_P(NurseryBeginTest, IsTheBaseOfItsChildren) {
  in_fiber([] {
    Nursery nursery;
    const auto* const base = innermost();
    EXPECT_TRUE(nursery.spawn([base] { EXPECT_EQ(innermost(), base); }).join());
    auto other = nursery.spawn([&nursery, base] {
      Nursery own;
      auto sibling = nursery.spawn([base] { EXPECT_EQ(innermost(), base); });
      EXPECT_TRUE(sibling.join());
      EXPECT_TRUE(own.join());
    });
    EXPECT_TRUE(other.join());
    EXPECT_TRUE(nursery.join());
  });
}

}  // namespace
}  // namespace weft
