#include "queue/private_queue.hpp"

#include <gtest/gtest.h>

#include <array>
#include <thread>

namespace weft::queue {
namespace {

TEST(PrivateQueue, GivesItemsInTheOrderPushed) {
  PrivateQueue<int, 4> queue;
  std::array<int, 3> items{};
  for (auto& item : items) ASSERT_TRUE(queue.push_back(&item));
  EXPECT_EQ(queue.size_hint(), 3u);
  for (auto& item : items) EXPECT_EQ(queue.pop_front(), &item);
  EXPECT_EQ(queue.pop_front(), nullptr);
}

TEST(PrivateQueue, RefusesWhenFullAndAcceptsAfterAPop) {
  PrivateQueue<int, 4> queue;
  std::array<int, 5> items{};
  for (std::size_t i = 0; i < 4; ++i) ASSERT_TRUE(queue.push_back(&items[i]));
  EXPECT_FALSE(queue.push_back(&items[4]));
  EXPECT_EQ(queue.pop_front(), &items[0]);
  EXPECT_TRUE(queue.push_back(&items[4]));
}

TEST(PrivateQueue, KeepsOrderOverManyLaps) {
  PrivateQueue<int, 4> queue;
  std::array<int, 3> items{};
  for (int lap = 0; lap < 1000; ++lap) {
    for (auto& item : items) ASSERT_TRUE(queue.push_back(&item));
    for (auto& item : items) ASSERT_EQ(queue.pop_front(), &item);
  }
  EXPECT_EQ(queue.size_hint(), 0u);
}

TEST(PrivateQueue, ItsOwnerTakesFromEitherEnd) {
  PrivateQueue<int, 8> queue;
  EXPECT_EQ(queue.pop_back(), nullptr);
  std::array<int, 5> items{};
  EXPECT_EQ(queue.peek_front(), nullptr);
  for (auto& item : items) ASSERT_TRUE(queue.push_back(&item));
  EXPECT_EQ(queue.peek_front(), &items[0]);
  EXPECT_EQ(queue.newest_hint(), &items[4]);
  EXPECT_EQ(queue.pop_back(), &items[4]);
  std::array<int*, 8> oldest{};
  ASSERT_EQ(queue.pop_oldest(oldest.data(), 2), 2u);
  EXPECT_EQ(oldest[0], &items[0]);
  EXPECT_EQ(oldest[1], &items[1]);
  EXPECT_EQ(queue.pop_front(), &items[2]);
  ASSERT_EQ(queue.pop_oldest(oldest.data(), 8), 1u);
  EXPECT_EQ(oldest[0], &items[3]);
  EXPECT_EQ(queue.pop_oldest(oldest.data(), 8), 0u);
}

TEST(PrivateQueue, ItsOwnerTakesTheNewestOnlyIfItIsWanted) {
  PrivateQueue<int, 4> queue;
  const auto even = [](int value) { return value % 2 == 0; };
  EXPECT_EQ(queue.pop_back_if(even), nullptr);
  std::array<int, 3> items{1, 2, 4};
  for (auto& item : items) ASSERT_TRUE(queue.push_back(&item));
  EXPECT_EQ(queue.pop_back_if(even), &items[2]);
  EXPECT_EQ(queue.size_hint(), 2u);
  EXPECT_EQ(queue.pop_back_if(even), &items[1]);
  EXPECT_EQ(queue.pop_back_if(even), nullptr);
  EXPECT_EQ(queue.size_hint(), 1u);
  EXPECT_EQ(queue.pop_back(), &items[0]);
  EXPECT_EQ(queue.pop_back_if(even), nullptr);  // it is empty again
}

TEST(PrivateQueue, ItsOwnerTakesAGivenItemOnlyAtAnEnd) {
  PrivateQueue<int, 8> queue;
  std::array<int, 4> items{};
  EXPECT_FALSE(queue.pop_at_end(&items[0]));
  for (auto& item : items) ASSERT_TRUE(queue.push_back(&item));
  EXPECT_FALSE(queue.pop_at_end(&items[1]));
  EXPECT_EQ(queue.size_hint(), 4u);
  EXPECT_TRUE(queue.pop_at_end(&items[3]));
  EXPECT_TRUE(queue.pop_at_end(&items[0]));
  EXPECT_TRUE(queue.pop_at_end(&items[2]));
  EXPECT_TRUE(queue.pop_at_end(&items[1]));
  EXPECT_EQ(queue.size_hint(), 0u);
  EXPECT_FALSE(queue.pop_at_end(&items[1]));
}

TEST(PrivateQueue, ATurnTakesTheOldestAndPutsAnotherBehindTheRest) {
  PrivateQueue<int, 2> queue;
  std::array<int, 3> items{};
  EXPECT_EQ(queue.begin_turn(), nullptr);
  ASSERT_TRUE(queue.push_back(&items[0]));
  ASSERT_TRUE(queue.push_back(&items[1]));
  ASSERT_EQ(queue.begin_turn(), &items[0]);
  queue.end_turn(&items[2]);  // there is room, even if it was full
  EXPECT_EQ(queue.size_hint(), 2u);
  EXPECT_EQ(queue.pop_front(), &items[1]);
  EXPECT_EQ(queue.pop_front(), &items[2]);
  EXPECT_EQ(queue.pop_front(), nullptr);
  EXPECT_EQ(queue.begin_turn(), nullptr);
}

TEST(PrivateQueue, ARaidGivesUpBesideATurnThatTakesLong) {
  PrivateQueue<int, 4> queue;
  std::array<int, 3> items{};
  for (auto& item : items) ASSERT_TRUE(queue.push_back(&item));
  std::array<int*, 4> loot{};
  std::size_t count = 1;
  ASSERT_EQ(queue.begin_turn(), &items[0]);
  std::thread([&] { count = queue.raid(loot.data(), 4); }).join();
  EXPECT_EQ(count, 0u);
  queue.end_turn(&items[0]);
  std::thread([&] { count = queue.raid(loot.data(), 4); }).join();
  ASSERT_EQ(count, 3u);
  EXPECT_EQ(loot[2], &items[0]);
}

TEST(PrivateQueue, ARaidTakesTheOldestUpToItsLimit) {
  PrivateQueue<int, 8> queue;
  std::array<int, 6> items{};
  for (auto& item : items) ASSERT_TRUE(queue.push_back(&item));
  std::array<int*, 8> loot{};
  std::size_t count = 0;
  std::thread([&] { count = queue.raid(loot.data(), 3); }).join();
  ASSERT_EQ(count, 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(loot[i], &items[i]);
  EXPECT_EQ(queue.size_hint(), 3u);
  for (std::size_t i = 3; i < 6; ++i) EXPECT_EQ(queue.pop_front(), &items[i]);
}

TEST(PrivateQueue, ARaidTakesAllIfItMay) {
  PrivateQueue<int, 8> queue;
  std::array<int, 6> items{};
  for (auto& item : items) ASSERT_TRUE(queue.push_back(&item));
  std::array<int*, 8> loot{};
  std::size_t count = 0;
  std::thread([&] { count = queue.raid(loot.data(), loot.size()); }).join();
  EXPECT_EQ(count, 6u);
  EXPECT_EQ(queue.size_hint(), 0u);
  EXPECT_EQ(queue.pop_front(), nullptr);
  EXPECT_TRUE(queue.push_back(&items[0]));
  EXPECT_EQ(queue.pop_front(), &items[0]);
}

TEST(PrivateQueue, ARaidOfAnEmptyQueueTakesNothing) {
  PrivateQueue<int, 8> queue;
  std::array<int*, 8> loot{};
  EXPECT_EQ(queue.raid(loot.data(), loot.size()), 0u);
}

}  // namespace
}  // namespace weft::queue
