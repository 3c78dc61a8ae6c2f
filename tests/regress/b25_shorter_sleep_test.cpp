// B-25: a shorter sleep that was armed after a longer one woke with it.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <vector>

#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using namespace std::chrono_literals;

class ShorterSleepTest : public test::WorkersTest {};

// R-TIMER-01 R-TIMER-02
TEST_P(ShorterSleepTest, SleepersWakeInTheOrderOfTheirDeadlines) {
  std::mutex mutex;
  std::vector<int> order;
  in_fiber([&] {
    Nursery nursery;
    // Each is asleep, and so are the workers, before the next shorter comes.
    constexpr std::chrono::milliseconds kDelays[] = {400ms, 160ms, 40ms};
    for (const auto delay : kDelays) {
      std::atomic<bool> asleep{false};
      nursery.spawn([&, delay] {
        const auto start = Clock::now();
        asleep = true;
        EXPECT_TRUE(this_fiber::sleep_for(delay));
        EXPECT_GE(Clock::now() - start, delay);
        std::lock_guard hold(mutex);
        order.push_back(static_cast<int>(delay.count()));
      });
      while (!asleep) this_fiber::yield();
      EXPECT_TRUE(this_fiber::sleep_for(5ms));
    }
    EXPECT_TRUE(nursery.join());
  });
  EXPECT_EQ(order, (std::vector<int>{40, 160, 400}));
}

// The same, armed by fibers that come from outside to whichever worker.
TEST_P(ShorterSleepTest, ANewcomersShorterDeadlineIsHeard) {
  std::atomic<bool> long_woke{false};
  for (int i = 0; i < 20; ++i) {
    Nursery nursery(runtime());
    auto sleeper = nursery.spawn([&] {
      const auto end = this_fiber::sleep_for(std::chrono::hours(1));
      EXPECT_EQ(end.error(), Errc::cancelled);
      long_woke = true;
    });
    while (sleeper.state() != FiberState::parked) this_fiber::yield();
    auto shorter = nursery.spawn([] { return this_fiber::sleep_for(1ms); });
    EXPECT_TRUE(shorter.join());  // not in an hour
    EXPECT_FALSE(long_woke);
    sleeper.cancel();
    EXPECT_TRUE(nursery.join());
    long_woke = false;
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, ShorterSleepTest,
                         ::testing::Values(1u, 2u, 4u));

}  // namespace
}  // namespace weft
