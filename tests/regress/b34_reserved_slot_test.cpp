// B-34: a slot of the ring that was reserved and not yet filled was taken for
// the end of the queue, or spun upon for ever.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "queue/global_queue.hpp"
#include "queue/ring.hpp"
#include "stress/scale.hpp"
#include "support/watchdog.hpp"
#include "unit/queue/queue_probe.hpp"

namespace weft::queue {
namespace {

struct Item {
  Item* next = nullptr;
  int value = 0;
};

// R-RUNQ-04
TEST(ReservedSlot, IsNeitherEmptyNorWaitedFor) {
  test::Watchdog watchdog;
  Ring<Item> ring;
  ASSERT_TRUE(ring.init(4));
  Item items[3];
  std::size_t paused = 0;
  ASSERT_TRUE(QueueProbe::reserve(ring, paused));
  ASSERT_TRUE(ring.push(&items[1]));
  ASSERT_TRUE(ring.push(&items[2]));
  for (int i = 0; i < 1000; ++i) {
    const auto taken = ring.take();  // returns, and says why
    ASSERT_EQ(taken.item, nullptr);
    ASSERT_TRUE(taken.busy);
    ASSERT_FALSE(ring.maybe_empty());  // nobody sleeps over it
  }
  QueueProbe::fill(ring, paused, &items[0]);
  for (auto& item : items) EXPECT_EQ(ring.take().item, &item);
  const auto taken = ring.take();
  EXPECT_EQ(taken.item, nullptr);
  EXPECT_FALSE(taken.busy);
  EXPECT_TRUE(ring.maybe_empty());
}

// R-RUNQ-06: producers that fill the ring behind it go on to the list, and
// what is in the list can be taken meanwhile.
TEST(ReservedSlot, StopsNoOtherProducerOfTheGlobalQueue) {
  test::Watchdog watchdog;
  GlobalQueue<Item> queue;
  ASSERT_TRUE(queue.init(4));
  std::size_t paused = 0;
  ASSERT_TRUE(QueueProbe::reserve(QueueProbe::ring(queue), paused));
  constexpr int kItems = 100;
  std::vector<Item> items(kItems);
  for (auto& item : items) queue.push(&item);
  int taken = 0;
  while (queue.take().item != nullptr) ++taken;
  EXPECT_EQ(taken, kItems - 3);  // three are behind the slot
  EXPECT_FALSE(queue.maybe_empty());
  Item late;
  QueueProbe::fill(QueueProbe::ring(queue), paused, &late);
  while (queue.take().item != nullptr) ++taken;
  EXPECT_EQ(taken, kItems + 1);
  EXPECT_TRUE(queue.maybe_empty());
}

// Consumers run against producers that stop in the slot again and again.
TEST(ReservedSlot, DelaysOnlyWhatIsBehindIt) {
  test::Watchdog watchdog;
  Ring<Item> ring;
  ASSERT_TRUE(ring.init(8));
  const int rounds = test::scaled(20'000);
  std::atomic<int> sum{0};
  std::atomic<int> taken{0};
  std::vector<Item> items(static_cast<std::size_t>(rounds));
  std::vector<std::thread> threads;
  std::atomic<int> next{0};
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (int k = next++; k < rounds; k = next++) {
        auto& item = items[static_cast<std::size_t>(k)];
        item.value = k % 7;
        std::size_t slot = 0;
        while (!QueueProbe::reserve(ring, slot)) std::this_thread::yield();
        if (k % 16 == 0) std::this_thread::yield();  // the pause
        QueueProbe::fill(ring, slot, &item);
      }
    });
    threads.emplace_back([&] {
      while (taken < rounds) {
        if (Item* item = ring.take().item) {
          sum += item->value;
          ++taken;
        } else {
          std::this_thread::yield();
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  int expected = 0;
  for (int k = 0; k < rounds; ++k) expected += k % 7;
  EXPECT_EQ(sum, expected);
  EXPECT_EQ(taken, rounds);
}

}  // namespace
}  // namespace weft::queue
