#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/futex.hpp>
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::as_cancelled;
using test::await_parked;
using test::WorkersTest;
using namespace std::chrono_literals;

constinit Futex futex_made_early;

class FutexTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, FutexTest, ::testing::Values(1u, 2u, 4u));

// As its contract asks: looks, and waits again.
void wait_until(Futex& futex, std::uint64_t token) {
  while (futex.get() < token) EXPECT_TRUE(futex.wait(token));
}

// R-FUTEX-01
TEST_P(FutexTest, CountsPosts) {
  in_fiber([] {
    Futex futex;
    EXPECT_EQ(futex.get(), 0u);
    futex.post();
    futex.post();
    EXPECT_EQ(futex.get(), 2u);
    futex_made_early.post();
    EXPECT_GE(futex_made_early.get(), 1u);
  });
}

// R-FUTEX-01
TEST_P(FutexTest, DoesNotWaitForWhatHasFired) {
  in_fiber([] {
    Futex futex;
    EXPECT_TRUE(futex.wait(0));
    futex.post();
    EXPECT_TRUE(futex.wait(1));
    EXPECT_TRUE(futex.wait(1, Deadline::after(-1s)));
  });
}

// R-FUTEX-01 R-FUT-01
TEST_P(FutexTest, WakesWhoWaitsForATokenAndWhoWaitsForTheNextPost) {
  in_fiber([] {
    Futex futex;
    Nursery nursery;
    auto of_token = nursery.spawn([&] { wait_until(futex, 1); });
    auto of_next = nursery.spawn([&] { EXPECT_TRUE(futex.wait()); });
    await_parked(of_token);
    await_parked(of_next);
    futex.post();
    EXPECT_TRUE(of_token.join());
    EXPECT_TRUE(of_next.join());
    EXPECT_TRUE(nursery.join());
  });
}

// R-FUTEX-01
TEST_P(FutexTest, WakesAll) {
  in_fiber([] {
    constexpr int kWaiters = 100;
    Futex futex;
    Nursery nursery;
    std::vector<Task<>> waiters;
    for (int i = 0; i < kWaiters; ++i) {
      waiters.push_back(nursery.spawn([&] { wait_until(futex, 1); }));
    }
    for (auto& waiter : waiters) await_parked(waiter);
    futex.post();
    for (auto& waiter : waiters) EXPECT_TRUE(waiter.join());
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(FutexTest, LetsHigherTokensWaitOn) {
  in_fiber([] {
    constexpr std::uint64_t kTokens = 20;
    Futex futex;
    Nursery nursery;
    std::atomic<std::uint64_t> through{0};
    for (std::uint64_t token = 1; token <= kTokens; ++token) {
      nursery.spawn([&, token] {
        wait_until(futex, token);
        ++through;
      });
    }
    for (std::uint64_t posts = 1; posts <= kTokens; ++posts) {
      futex.post();
      while (through < posts) this_fiber::yield();
      EXPECT_EQ(through, posts);
    }
    EXPECT_TRUE(nursery.join());
  });
}

// R-FUTEX-02 R-FUTEX-04: what came before the post is visible.
TEST_P(FutexTest, LosesNoPostAndNoWake) {
  in_fiber([] {
    constexpr std::uint64_t kPosters = 4;
    constexpr std::uint64_t kPosts = 300;
    Futex futex;
    std::vector<std::uint64_t> done(kPosters);  // by each poster, plain
    Nursery nursery;
    for (std::uint64_t who = 0; who < kPosters; ++who) {
      nursery.spawn([&, who] {
        for (std::uint64_t i = 1; i <= kPosts; ++i) {
          if (i == kPosts) done[who] = kPosts;
          futex.post();
          if (i % 7 == who) this_fiber::yield();
        }
      });
    }
    for (int i = 0; i < 3; ++i) {
      nursery.spawn([&] {
        wait_until(futex, kPosters * kPosts);
        for (const auto count : done) EXPECT_EQ(count, kPosts);
      });
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(futex.get(), kPosters * kPosts);
  });
}

// R-TIMER-03
TEST_P(FutexTest, TimesOut) {
  in_fiber([] {
    Futex futex;
    EXPECT_EQ(futex.wait(1, Deadline::after(1us)).error(), Errc::timed_out);
    EXPECT_EQ(futex.wait(Deadline::after(1us)).error(), Errc::timed_out);
    EXPECT_EQ(futex.wait(Deadline::after(-1s)).error(), Errc::timed_out);
    EXPECT_EQ(futex.get(), 0u);
    futex.post();
    EXPECT_TRUE(futex.wait(1, Deadline::after(-1s)));
  });
}

TEST_P(FutexTest, WakesTheOthersWhenOneIsCancelled) {
  in_fiber([] {
    Futex futex;
    Nursery nursery;
    auto first = nursery.spawn([&]() -> Status { return futex.wait(1); });
    auto second = nursery.spawn([&] { wait_until(futex, 1); });
    await_parked(first);
    await_parked(second);
    first.cancel();
    EXPECT_EQ(first.join().error(), Errc::cancelled);
    EXPECT_FALSE(second.done());
    futex.post();
    EXPECT_TRUE(second.join());
    as_cancelled([&] { EXPECT_EQ(futex.wait(1).error(), Errc::cancelled); });
    EXPECT_TRUE(nursery.join());
  });
}

// R-FUTEX-02
TEST_P(FutexTest, EndsOneWayWhenDeadlineAndCancelRaceWithAPost) {
  in_fiber([] {
    for (int i = 0; i < 300; ++i) {
      Futex futex;
      Nursery nursery;
      auto waiter = nursery.spawn([&, i]() -> bool {
        const auto end =
            futex.wait(1, Deadline::after(std::chrono::nanoseconds(200 * i)));
        return end || end.error() == Errc::timed_out ||
               end.error() == Errc::cancelled;
      });
      nursery.spawn([&] { futex.post(); });
      if (i % 2 == 0) waiter.cancel();
      const auto end = waiter.join();
      ASSERT_TRUE(end ? *end : end.error() == Errc::cancelled);
      EXPECT_TRUE(nursery.join());
    }
  });
}

// R-FUTEX-01 R-FUTEX-02
TEST_P(FutexTest, ServesThreadsAndFibersTogether) {
  constexpr std::uint64_t kPosts = 500;
  Futex futex;
  Nursery nursery(runtime());
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    nursery.spawn([&] {
      for (std::uint64_t t = 1; t <= 4 * kPosts; ++t) wait_until(futex, t);
    });
    threads.emplace_back([&] {
      for (std::uint64_t t = 1; t <= 4 * kPosts; ++t) wait_until(futex, t);
    });
  }
  for (int i = 0; i < 2; ++i) {
    nursery.spawn([&] {
      for (std::uint64_t n = 0; n < kPosts; ++n) futex.post();
    });
    threads.emplace_back([&] {
      for (std::uint64_t n = 0; n < kPosts; ++n) futex.post();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(nursery.join());
  EXPECT_EQ(futex.get(), 4 * kPosts);
}

TEST(FutexThreadTest, ServesThreadsWithoutARuntime) {
  Futex futex;
  EXPECT_EQ(futex.wait(Deadline::after(1us)).error(), Errc::timed_out);
  constexpr std::uint64_t kPosts = 1'000;
  std::thread poster([&] {
    for (std::uint64_t i = 0; i < kPosts; ++i) futex.post();
  });
  wait_until(futex, kPosts);
  poster.join();
  EXPECT_EQ(futex.get(), kPosts);
}

}  // namespace
}  // namespace weft
