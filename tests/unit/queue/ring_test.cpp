#include "queue/ring.hpp"

#include <gtest/gtest.h>

#include <array>

#include "unit/queue/queue_probe.hpp"

namespace weft::queue {
namespace {

TEST(Ring, GivesItemsInTheOrderPushed) {
  Ring<int> ring;
  ASSERT_TRUE(ring.init(4));
  std::array<int, 3> items{};
  for (auto& item : items) ASSERT_TRUE(ring.push(&item));
  for (auto& item : items) EXPECT_EQ(ring.take().item, &item);
  const auto taken = ring.take();
  EXPECT_EQ(taken.item, nullptr);
  EXPECT_FALSE(taken.busy);
}

TEST(Ring, RefusesWhenFullAndAcceptsAfterATake) {
  Ring<int> ring;
  ASSERT_TRUE(ring.init(4));
  EXPECT_EQ(ring.capacity(), 4u);
  std::array<int, 5> items{};
  for (std::size_t i = 0; i < 4; ++i) ASSERT_TRUE(ring.push(&items[i]));
  EXPECT_FALSE(ring.push(&items[4]));
  EXPECT_EQ(ring.size_hint(), 4u);
  EXPECT_EQ(ring.take().item, &items[0]);
  EXPECT_TRUE(ring.push(&items[4]));
}

TEST(Ring, KeepsOrderOverManyLaps) {
  Ring<int> ring;
  ASSERT_TRUE(ring.init(2));
  std::array<int, 2> items{};
  for (int lap = 0; lap < 1000; ++lap) {
    ASSERT_TRUE(ring.push(&items[0]) && ring.push(&items[1]));
    ASSERT_FALSE(ring.push(&items[0]));
    ASSERT_EQ(ring.take().item, &items[0]);
    ASSERT_EQ(ring.take().item, &items[1]);
    ASSERT_TRUE(ring.maybe_empty());
  }
}

// A producer that loses its CPU inside the slot: who looks must neither take
// the ring for empty and sleep, nor wait for the producer.
TEST(Ring, AReservedSlotIsBusyAndNotEmpty) {
  Ring<int> ring;
  ASSERT_TRUE(ring.init(4));
  std::size_t position = 0;
  ASSERT_TRUE(QueueProbe::reserve(ring, position));
  EXPECT_FALSE(ring.maybe_empty());
  auto taken = ring.take();
  EXPECT_EQ(taken.item, nullptr);
  EXPECT_TRUE(taken.busy);

  int item = 0;
  QueueProbe::fill(ring, position, &item);
  taken = ring.take();
  EXPECT_EQ(taken.item, &item);
  EXPECT_FALSE(taken.busy);
  EXPECT_TRUE(ring.maybe_empty());
}

TEST(Ring, OthersPushPastAReservedSlot) {
  Ring<int> ring;
  ASSERT_TRUE(ring.init(4));
  std::size_t position = 0;
  ASSERT_TRUE(QueueProbe::reserve(ring, position));
  std::array<int, 3> items{};
  for (auto& item : items) EXPECT_TRUE(ring.push(&item));
  EXPECT_FALSE(ring.push(&items[0]));  // full, whatever is filled
  EXPECT_TRUE(ring.take().busy);

  int first = 0;
  QueueProbe::fill(ring, position, &first);
  EXPECT_EQ(ring.take().item, &first);
  for (auto& item : items) EXPECT_EQ(ring.take().item, &item);
}

TEST(RingDeathTest, WantsAPowerOfTwo) {
  Ring<int> ring;
  EXPECT_DEATH((void)ring.init(3), "not a power of two");
  EXPECT_DEATH((void)ring.init(1), "not a power of two");
}

}  // namespace
}  // namespace weft::queue
