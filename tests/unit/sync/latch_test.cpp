#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/latch.hpp>
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::as_cancelled;
using test::await_parked;
using test::WorkersTest;
using namespace std::chrono_literals;

class LatchTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, LatchTest, ::testing::Values(1u, 2u, 4u));

TEST_P(LatchTest, OpensAtZero) {
  in_fiber([] {
    Latch latch(3);
    EXPECT_FALSE(latch.try_wait());
    latch.count_down();
    latch.count_down(0);
    EXPECT_FALSE(latch.try_wait());
    latch.count_down(2);
    EXPECT_TRUE(latch.try_wait());
    EXPECT_TRUE(latch.wait());
    EXPECT_TRUE(latch.wait(Deadline::after(-1s)));
    Latch open(0);
    EXPECT_TRUE(open.try_wait());
    EXPECT_TRUE(open.wait());
  });
}

// R-FUT-01
TEST_P(LatchTest, WakesAllWhoWait) {
  in_fiber([] {
    constexpr int kWaiters = 50;
    Latch latch(2);
    Nursery nursery;
    std::vector<Task<>> waiters;
    for (int i = 0; i < kWaiters; ++i) {
      waiters.push_back(nursery.spawn([&] { EXPECT_TRUE(latch.wait()); }));
    }
    for (auto& waiter : waiters) await_parked(waiter);
    latch.count_down();
    for (auto& waiter : waiters) EXPECT_FALSE(waiter.done());
    latch.count_down();
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(LatchTest, ShowsWhatCameBefore) {
  in_fiber([] {
    constexpr int kFibers = 8;
    for (int round = 0; round < 100; ++round) {
      Latch latch(kFibers);
      std::vector<int> plain(kFibers);
      Nursery nursery;
      for (std::size_t i = 0; i < kFibers; ++i) {
        nursery.spawn([&, i] {
          plain[i] = 1;
          EXPECT_TRUE(latch.arrive_and_wait());
          for (const int one : plain) EXPECT_EQ(one, 1);
        });
      }
      ASSERT_TRUE(nursery.join());
    }
  });
}

// R-TIMER-03: the arrival counts even if the wait ends early.
TEST_P(LatchTest, CountsDownAlthoughTheWaitTimesOut) {
  in_fiber([] {
    Latch latch(2);
    EXPECT_EQ(latch.wait(Deadline::after(1us)).error(), Errc::timed_out);
    EXPECT_EQ(latch.wait(Deadline::after(-1s)).error(), Errc::timed_out);
    EXPECT_EQ(latch.arrive_and_wait(Deadline::after(1us)).error(),
              Errc::timed_out);
    EXPECT_TRUE(latch.arrive_and_wait(Deadline::after(-1s)));
  });
}

TEST_P(LatchTest, CountsDownAlthoughTheWaitIsCancelled) {
  in_fiber([] {
    Latch latch(2);
    Nursery nursery;
    auto first = nursery.spawn(
        [&] { EXPECT_EQ(latch.arrive_and_wait().error(), Errc::cancelled); });
    await_parked(first);
    auto second = nursery.spawn([&] { EXPECT_TRUE(latch.wait()); });
    await_parked(second);
    first.cancel();
    EXPECT_TRUE(first.join());
    EXPECT_FALSE(second.done());
    as_cancelled([&] {
      EXPECT_EQ(latch.arrive_and_wait().error(), Errc::cancelled);
      EXPECT_EQ(latch.wait().error(), Errc::cancelled);
    });
    EXPECT_TRUE(second.join());
    EXPECT_TRUE(nursery.join());
  });
}

// Whoever waited may destroy it, while another is still in count_down().
TEST_P(LatchTest, MayGoAsSoonAsAWaitHasReturned) {
  in_fiber([] {
    for (int i = 0; i < 1'000; ++i) {
      auto latch = std::make_unique<Latch>(2);
      Nursery nursery;
      for (int n = 0; n < 2; ++n) {
        nursery.spawn([it = latch.get()] { it->count_down(); });
      }
      if (i % 2 == 0) {
        ASSERT_TRUE(latch->wait());
      } else {
        while (!latch->try_wait()) this_fiber::yield();
      }
      latch.reset();
      EXPECT_TRUE(nursery.join());
    }
  });
}

TEST_P(LatchTest, ServesThreadsAndFibersTogether) {
  for (int round = 0; round < 100; ++round) {
    auto latch = std::make_unique<Latch>(4);
    Nursery nursery(runtime());
    nursery.spawn([it = latch.get()] { it->count_down(); });
    nursery.spawn([it = latch.get()] { it->count_down(); });
    std::thread first([it = latch.get()] { it->count_down(); });
    std::thread second([it = latch.get()] { it->count_down(); });
    EXPECT_TRUE(latch->wait());
    latch.reset();
    first.join();
    second.join();
    EXPECT_TRUE(nursery.join());
  }
}

TEST(LatchThreadTest, ServesThreadsWithoutARuntime) {
  Latch latch(2);
  EXPECT_EQ(latch.wait(Deadline::after(1us)).error(), Errc::timed_out);
  std::thread other([&] { EXPECT_TRUE(latch.arrive_and_wait()); });
  EXPECT_TRUE(latch.arrive_and_wait());
  other.join();
}

}  // namespace
}  // namespace weft
