#include "queue/work_deque.hpp"

#include <gtest/gtest.h>

#include <array>

namespace weft::queue {
namespace {

struct Task {};

TEST(WorkDeque, OwnerPopsNewestThiefStealsOldest) {
  WorkDeque<Task, 4> deque;
  Task a, b, c;
  ASSERT_TRUE(deque.push(&a) && deque.push(&b) && deque.push(&c));
  EXPECT_EQ(deque.steal().task, &a);
  EXPECT_EQ(deque.pop(), &c);
  EXPECT_EQ(deque.pop(), &b);
  EXPECT_EQ(deque.pop(), nullptr);
}

TEST(WorkDeque, StartsEmpty) {
  WorkDeque<Task, 4> deque;
  EXPECT_TRUE(deque.maybe_empty());
  EXPECT_EQ(deque.size_hint(), 0u);
  EXPECT_EQ(deque.pop(), nullptr);
  EXPECT_EQ(deque.peek(), nullptr);
  EXPECT_EQ(deque.peek_oldest(), nullptr);
  const auto stolen = deque.steal();
  EXPECT_EQ(stolen.task, nullptr);
  EXPECT_FALSE(stolen.lost_race);
}

TEST(WorkDeque, RefusesWhenFullAndAcceptsAfterASteal) {
  WorkDeque<Task, 4> deque;
  std::array<Task, 5> tasks;
  for (std::size_t i = 0; i < 4; ++i) ASSERT_TRUE(deque.push(&tasks[i]));
  EXPECT_FALSE(deque.push(&tasks[4]));
  EXPECT_EQ(deque.steal().task, &tasks[0]);
  EXPECT_TRUE(deque.push(&tasks[4]));
  EXPECT_FALSE(deque.push(&tasks[0]));
}

TEST(WorkDeque, PeekShowsWhatPopReturns) {
  WorkDeque<Task, 4> deque;
  Task a, b;
  ASSERT_TRUE(deque.push(&a) && deque.push(&b));
  EXPECT_EQ(deque.peek(), &b);
  EXPECT_EQ(deque.peek_oldest(), &a);
  EXPECT_EQ(deque.pop(), &b);
  EXPECT_EQ(deque.peek(), &a);
  EXPECT_EQ(deque.steal().task, &a);
  EXPECT_EQ(deque.peek(), nullptr);
}

TEST(WorkDeque, IsEmptyOnlyWithoutStealableTasks) {
  WorkDeque<Task, 4> deque;
  Task a;
  ASSERT_TRUE(deque.push(&a));
  EXPECT_FALSE(deque.maybe_empty());
  EXPECT_FALSE(deque.drained());
  EXPECT_EQ(deque.size_hint(), 1u);
  EXPECT_EQ(deque.pop(), &a);
  EXPECT_TRUE(deque.drained());
  EXPECT_TRUE(deque.maybe_empty());
}

TEST(WorkDeque, KeepsOrderOverManyLaps) {
  WorkDeque<std::size_t, 8> deque;
  std::array<std::size_t, 5> tasks{0, 1, 2, 3, 4};
  for (int lap = 0; lap < 100; ++lap) {
    for (auto& task : tasks) ASSERT_TRUE(deque.push(&task));
    EXPECT_EQ(deque.steal().task, &tasks[0]);
    EXPECT_EQ(deque.steal().task, &tasks[1]);
    EXPECT_EQ(deque.pop(), &tasks[4]);
    EXPECT_EQ(deque.pop(), &tasks[3]);
    EXPECT_EQ(deque.pop(), &tasks[2]);
    ASSERT_EQ(deque.pop(), nullptr);
  }
}

TEST(WorkDeque, ABatchGoesInWholeOrNotAtAll) {
  WorkDeque<Task, 4> deque;
  std::array<Task, 3> tasks;
  std::array<Task*, 3> batch{&tasks[0], &tasks[1], &tasks[2]};
  ASSERT_TRUE(deque.push_batch(batch.data(), 3));
  EXPECT_FALSE(deque.push_batch(batch.data(), 2));
  EXPECT_EQ(deque.size_hint(), 3u);
  EXPECT_TRUE(deque.push_batch(batch.data(), 1));
  EXPECT_EQ(deque.steal().task, &tasks[0]);
  EXPECT_EQ(deque.pop(), &tasks[0]);
  EXPECT_EQ(deque.pop(), &tasks[2]);
}

TEST(WorkDeque, ABatchComesOutNewestLastAndLeavesTheOldest) {
  WorkDeque<Task, 8> deque;
  std::array<Task, 5> tasks;
  for (auto& task : tasks) ASSERT_TRUE(deque.push(&task));
  std::array<Task*, 8> batch{};
  ASSERT_EQ(deque.pop_batch(batch.data(), 2), 2u);
  EXPECT_EQ(batch[0], &tasks[3]);
  EXPECT_EQ(batch[1], &tasks[4]);
  ASSERT_EQ(deque.pop_batch(batch.data(), 8), 2u);
  EXPECT_EQ(batch[0], &tasks[1]);
  EXPECT_EQ(batch[1], &tasks[2]);
  EXPECT_EQ(deque.pop_batch(batch.data(), 8), 0u);  // the last is for pop()
  EXPECT_EQ(deque.pop(), &tasks[0]);
}

TEST(WorkDeque, GivesTheLastTaskToOnlyOneSide) {
  WorkDeque<Task, 2> deque;
  Task a;
  ASSERT_TRUE(deque.push(&a));
  EXPECT_EQ(deque.steal().task, &a);
  EXPECT_EQ(deque.pop(), nullptr);
  ASSERT_TRUE(deque.push(&a));
  EXPECT_EQ(deque.pop(), &a);
  EXPECT_EQ(deque.steal().task, nullptr);
}

}  // namespace
}  // namespace weft::queue
