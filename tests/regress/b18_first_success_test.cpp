// B-18: a wait for the first success answered the first that ended, also if
// that had failed.

#include <gtest/gtest.h>

#include <vector>

#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class FirstSuccessTest : public test::WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, FirstSuccessTest,
                         ::testing::Values(1u, 2u, 4u));

// Fails at once, or succeeds when all the others have failed.
Result<int> fails_fast(Latch& failures, int own, int chosen) {
  if (own != chosen) {
    failures.count_down();
    return Error::user(own);
  }
  WEFT_TRY(failures.wait());
  return own;
}

TEST_P(FirstSuccessTest, JoinAnyPassesOverThoseThatFailedFaster) {
  constexpr int kTasks = 5;
  in_fiber([&] {
    for (int round = 0; round < (explored() ? 20 : 1'000); ++round) {
      const int chosen = round % kTasks;
      Latch failures(kTasks - 1);
      Nursery nursery;
      std::vector<Task<int>> tasks;
      for (int i = 0; i < kTasks; ++i) {
        tasks.push_back(nursery.spawn({.on_failure = OnFailure::keep},
                                      [&failures, i, chosen] {
                                        return fails_fast(failures, i, chosen);
                                      }));
      }
      const auto winner = join_any(tasks);
      ASSERT_TRUE(winner) << winner.error();
      ASSERT_EQ(winner->index, static_cast<std::size_t>(chosen));
      ASSERT_EQ(winner->value, chosen);
      ASSERT_TRUE(nursery.join());
    }
  });
}

TEST_P(FirstSuccessTest, AnyPassesOverThoseThatFailedFaster) {
  in_fiber([&] {
    for (int round = 0; round < (explored() ? 20 : 1'000); ++round) {
      const int chosen = round % 3;
      Latch failures(2);
      const auto one = [&](int own) {
        return [&failures, own, chosen] {
          return fails_fast(failures, own, chosen);
        };
      };
      const auto winner = any(one(0), one(1), one(2));
      ASSERT_TRUE(winner) << winner.error();
      ASSERT_EQ(winner->index, static_cast<std::size_t>(chosen));
      ASSERT_EQ(winner->value, chosen);
    }
  });
}

}  // namespace
}  // namespace weft
