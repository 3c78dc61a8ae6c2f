// B-26: the end of a sleep and its cancel came at the same moment.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/rng.hpp"
#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using namespace std::chrono_literals;

class SleepCancelTest : public test::WorkersTest {
 protected:
  struct Item {
    Task<bool> task;  // did it sleep to its end?
    Clock::time_point cancel_at;
  };

  // A batch of sleepers with deadlines 10 us apart; each is to be cancelled
  // within 50 us of its deadline, before or after.
  std::vector<Item> put_to_sleep(Nursery& nursery, std::uint64_t seed,
                                 std::atomic<int>& ended) {
    base::Rng rng(seed);
    std::vector<Item> items;
    const auto first = Clock::now() + 500us;
    for (int i = 0; i < kBatch; ++i) {
      const auto when = first + i * 10us;
      const auto jitter =
          std::chrono::microseconds(static_cast<int>(rng.below(101)) - 50);
      items.push_back({nursery.spawn([when, &ended] {
                         Status end = this_fiber::sleep_until(Deadline(when));
                         if (end) {
                           EXPECT_GE(Clock::now(), when);
                         } else {
                           EXPECT_EQ(end.error(), Errc::cancelled);
                         }
                         ++ended;
                         return end.has_value();
                       }),
                       when + jitter});
    }
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
      return a.cancel_at < b.cancel_at;
    });
    return items;
  }

  // The canceller: a fiber or a thread.
  static void cancel_in_time(std::vector<Item>& items) {
    for (auto& item : items) {
      while (Clock::now() < item.cancel_at) this_fiber::yield();
      item.task.cancel();
    }
  }

  void expect_each_once(std::vector<Item>& items) {
    for (auto& item : items) {
      const auto end = item.task.join();
      if (!end) {  // never started
        ASSERT_EQ(end.error(), Errc::cancelled);
        ++cancelled_;
      } else {
        ++(*end ? slept_ : cancelled_);
      }
    }
  }

  static constexpr int kBatch = 250;
  int slept_ = 0;
  int cancelled_ = 0;
};

// R-TIMER-04 R-UNPARK-07
TEST_P(SleepCancelTest, EndsOnceWhenAFiberCancels) {
  const int batches = test::scaled(60);
  in_fiber([&] {
    for (int i = 0; i < batches; ++i) {
      std::atomic<int> ended{0};
      Nursery nursery;
      auto items = put_to_sleep(nursery, static_cast<std::uint64_t>(i), ended);
      cancel_in_time(items);
      expect_each_once(items);
      ASSERT_TRUE(nursery.join());
      ASSERT_LE(ended, kBatch);
    }
  });
  EXPECT_EQ(slept_ + cancelled_, batches * kBatch);
}

// R-TIMER-04 R-UNPARK-07
TEST_P(SleepCancelTest, EndsOnceWhenAThreadCancels) {
  const int batches = test::scaled(60);
  for (int i = 0; i < batches; ++i) {
    std::atomic<int> ended{0};
    Nursery nursery(runtime());
    auto items = put_to_sleep(nursery, static_cast<std::uint64_t>(i), ended);
    cancel_in_time(items);
    expect_each_once(items);
    ASSERT_TRUE(nursery.join());
    ASSERT_LE(ended, kBatch);
  }
  EXPECT_EQ(slept_ + cancelled_, batches * kBatch);
}

INSTANTIATE_TEST_SUITE_P(Workers, SleepCancelTest, ::testing::Values(1u, 2u));

}  // namespace
}  // namespace weft
