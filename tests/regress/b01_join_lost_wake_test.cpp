// B-01: the child stored "done" and read "nobody waits" while its parent
// registered and still read "not done": the wake was lost.

#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::scaled;

class JoinLostWakeTest : public test::WorkersTest {};

// A finite deadline keeps the child from running in place: the join waits.
Deadline in_an_hour() { return Deadline::after(std::chrono::hours(1)); }

// R-JOIN-03
TEST_P(JoinLostWakeTest, EveryJoinOfAnInstantChildReturns) {
  const int rounds = scaled(GetParam() > 4 ? 10'000 : 40'000);
  in_fiber([&] {
    Nursery parents;
    for (int parent = 0; parent < 4; ++parent) {
      parents.spawn([rounds](Nursery& nursery) {
        for (int i = 0; i < rounds; ++i) {
          auto child = nursery.spawn([i] { return i; });
          const auto end = i % 2 == 0 ? child.join(in_an_hour()) : child.join();
          ASSERT_EQ(end.value(), i);
        }
      });
    }
    EXPECT_TRUE(parents.join());
  });
}

// R-JOIN-03: done before, during and after the wait.
TEST_P(JoinLostWakeTest, EveryJoinReturnsHoweverFarItsChildIs) {
  const int rounds = scaled(8'000);
  in_fiber([&] {
    Nursery nursery;
    for (int i = 0; i < rounds; ++i) {
      std::array<Task<int>, 5> children;
      for (int k = 0; k < 5; ++k) {
        children[static_cast<std::size_t>(k)] = nursery.spawn([k] {
          for (int n = 0; n < k; ++n) this_fiber::yield();
          return k;
        });
      }
      for (int k = 0; k < 5; ++k) {
        ASSERT_EQ(
            children[static_cast<std::size_t>(k)].join(in_an_hour()).value(),
            k);
      }
    }
    EXPECT_TRUE(nursery.join());
  });
}

INSTANTIATE_TEST_SUITE_P(Workers, JoinLostWakeTest,
                         ::testing::Values(1u, 2u, 4u, 16u));

}  // namespace
}  // namespace weft
