#include "queue/global_queue.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "unit/queue/queue_probe.hpp"

namespace weft::queue {
namespace {

struct Item {
  Item* next = nullptr;
};

TEST(GlobalQueue, StartsEmpty) {
  GlobalQueue<Item> queue;
  ASSERT_TRUE(queue.init());
  EXPECT_TRUE(queue.maybe_empty());
  const auto taken = queue.take();
  EXPECT_EQ(taken.item, nullptr);
  EXPECT_FALSE(taken.busy);
}

TEST(GlobalQueue, NeverRefusesAndKeepsOrderPastItsRing) {
  GlobalQueue<Item> queue;
  ASSERT_TRUE(queue.init(4));
  std::vector<Item> items(1024);
  for (auto& item : items) queue.push(&item);
  EXPECT_EQ(queue.size_hint(), items.size());
  for (auto& item : items) ASSERT_EQ(queue.take().item, &item);
  EXPECT_TRUE(queue.maybe_empty());
  EXPECT_EQ(queue.size_hint(), 0u);
}

TEST(GlobalQueue, KeepsOrderWhilePushesAndTakesAlternate) {
  GlobalQueue<Item> queue;
  ASSERT_TRUE(queue.init(4));
  std::vector<Item> items(10'000);
  std::size_t taken = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    queue.push(&items[i]);
    // Bursts of three in, two out: the list fills, and the ring empties often.
    if (i % 3 != 0) {
      ASSERT_EQ(queue.take().item, &items[taken++]);
    }
    if (i % 500 == 0) {
      while (taken <= i) ASSERT_EQ(queue.take().item, &items[taken++]);
      ASSERT_TRUE(queue.maybe_empty());
    }
  }
  while (taken < items.size()) ASSERT_EQ(queue.take().item, &items[taken++]);
  EXPECT_EQ(queue.take().item, nullptr);
}

TEST(GlobalQueue, TakesAWholeChainInOrder) {
  GlobalQueue<Item> queue;
  ASSERT_TRUE(queue.init(4));
  std::vector<Item> items(10);
  for (std::size_t i = 0; i + 1 < items.size(); ++i) {
    items[i].next = &items[i + 1];
  }
  queue.push_list(&items.front(), &items.back());
  Item after;
  queue.push(&after);
  for (auto& item : items) ASSERT_EQ(queue.take().item, &item);
  EXPECT_EQ(queue.take().item, &after);
  EXPECT_TRUE(queue.maybe_empty());
}

TEST(GlobalQueue, TakesAChainThatFitsIntoTheRing) {
  GlobalQueue<Item> queue;
  ASSERT_TRUE(queue.init(4));
  std::vector<Item> items(4);
  for (std::size_t i = 0; i + 1 < items.size(); ++i) {
    items[i].next = &items[i + 1];
  }
  queue.push_list(&items.front(), &items.back());
  for (auto& item : items) ASSERT_EQ(queue.take().item, &item);
  Item alone;
  queue.push_list(&alone, &alone);
  EXPECT_EQ(queue.take().item, &alone);
  EXPECT_TRUE(queue.maybe_empty());
}

TEST(GlobalQueue, OverflowAloneIsNotEmpty) {
  GlobalQueue<Item> queue;
  ASSERT_TRUE(queue.init(2));
  std::vector<Item> items(3);
  for (auto& item : items) queue.push(&item);
  (void)queue.take();
  (void)queue.take();
  EXPECT_FALSE(queue.maybe_empty());
  EXPECT_EQ(queue.take().item, &items[2]);
  EXPECT_TRUE(queue.maybe_empty());
}

TEST(GlobalQueue, AReservedSlotIsBusyAndNotEmpty) {
  GlobalQueue<Item> queue;
  ASSERT_TRUE(queue.init(4));
  std::size_t position = 0;
  ASSERT_TRUE(QueueProbe::reserve(QueueProbe::ring(queue), position));
  EXPECT_FALSE(queue.maybe_empty());
  EXPECT_TRUE(queue.take().busy);
  Item item;
  QueueProbe::fill(QueueProbe::ring(queue), position, &item);
  EXPECT_EQ(queue.take().item, &item);
}

TEST(GlobalQueue, TheListDoesNotWaitForAReservedSlot) {
  GlobalQueue<Item> queue;
  ASSERT_TRUE(queue.init(2));
  std::size_t position = 0;
  auto& ring = QueueProbe::ring(queue);
  ASSERT_TRUE(QueueProbe::reserve(ring, position));
  std::vector<Item> items(4);
  for (auto& item : items) queue.push(&item);  // one in the ring, three listed
  for (std::size_t i = 1; i < items.size(); ++i) {
    ASSERT_EQ(queue.take().item, &items[i]);
  }
  EXPECT_TRUE(queue.take().busy);
  Item late;
  QueueProbe::fill(ring, position, &late);
  EXPECT_EQ(queue.take().item, &late);
  EXPECT_EQ(queue.take().item, &items[0]);
  EXPECT_TRUE(queue.maybe_empty());
}

TEST(GlobalQueue, AMillionPushesToASmallRingLoseNothing) {
  GlobalQueue<Item> queue;
  ASSERT_TRUE(queue.init(16));
  std::vector<Item> items(1'000'000);
  for (auto& item : items) queue.push(&item);
  std::size_t count = 0;
  while (Item* item = queue.take().item) {
    ASSERT_EQ(item, &items[count]);
    ++count;
  }
  EXPECT_EQ(count, items.size());
}

}  // namespace
}  // namespace weft::queue
