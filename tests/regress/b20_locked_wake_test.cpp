// B-20: fibers were woken, or parked, under a channel's lock; an unlock that
// went round the count of locks left it wrong.

#include <gtest/gtest.h>

#include <memory>

#include "support/channel_test.hpp"
#include "support/parked.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;

class LockedWakeTest : public test::ChannelsTest {};
INSTANTIATE_TEST_SUITE_P(Workers, LockedWakeTest,
                         ::testing::Combine(::testing::Values(1u, 2u),
                                            ::testing::Bool()));

// What is destroyed sends to another channel, closes it, and waits: under a
// lock of weft's that would be reported, and end the process.
class Last {
 public:
  Last() = default;
  explicit Last(Sender<int> to) : to_(std::move(to)) {}
  Last(Last&& other) noexcept = default;
  ~Last() {
    if (!to_) return;
    EXPECT_TRUE(to_.send(1, Deadline::after(std::chrono::hours(1))));
    this_fiber::yield();
    to_.close();
  }

 private:
  Sender<int> to_;
};

TEST_P(LockedWakeTest, DestroysValuesWhereTheyMayWait) {
  at_each_buffer([](std::size_t capacity) {
    for (const bool oldest : {false, true}) {
      auto back = make<int>(0);
      auto channel = make<Last>(capacity, OnFull::drop_oldest);
      EXPECT_TRUE(channel.sender.send(Last(back.sender)));
      back.sender = {};
      Nursery nursery;
      auto drops = nursery.spawn([&] {
        if (oldest) {
          for (std::size_t i = 0; i < capacity; ++i) {
            EXPECT_TRUE(channel.sender.send(Last()));
          }
        } else {
          channel.receiver.close();
        }
      });
      EXPECT_EQ(back.receiver.receive().value(), 1);
      EXPECT_FALSE(back.receiver.receive());
      EXPECT_TRUE(drops.join());
      EXPECT_TRUE(nursery.join());
    }
  });
}

// While one waits in a destructor the slot of what it dropped is free.
TEST_P(LockedWakeTest, GivesASlotBackBeforeADestructorWaits) {
  at_each_buffer([](std::size_t capacity) {
    auto back = make<int>(0);
    auto channel = make<Last>(capacity, OnFull::drop_oldest);
    EXPECT_TRUE(channel.sender.send(Last(back.sender)));
    back.sender = {};
    for (std::size_t i = 1; i < capacity; ++i) {
      EXPECT_TRUE(channel.sender.send(Last()));
    }
    Nursery nursery;
    auto drops =
        nursery.spawn([&] { EXPECT_TRUE(channel.sender.send(Last())); });
    await_parked(drops);
    EXPECT_TRUE(channel.sender.send(Last()));
    EXPECT_EQ(back.receiver.receive().value(), 1);
    EXPECT_FALSE(back.receiver.receive());
    EXPECT_TRUE(drops.join());
    EXPECT_TRUE(nursery.join());
  });
}

// Whoever wakes others with a channel may wait right afterwards.
TEST_P(LockedWakeTest, LeavesNoLockBehind) {
  at_each_capacity([](std::size_t capacity) {
    auto channel = make<int>(capacity);
    Event event;
    for (int round = 0; round < 20; ++round) {
      Nursery nursery;
      auto waits = nursery.spawn([&] {
        EXPECT_TRUE(channel.receiver.receive());
        event.set();
      });
      await_parked(waits);
      EXPECT_TRUE(channel.sender.send(1));
      EXPECT_TRUE(event.wait());
      event.reset();
      SpinLock lock;
      lock.lock();  // counted, and reported if it was not the only one
      lock.unlock();
      EXPECT_TRUE(this_fiber::checkpoint());
      EXPECT_TRUE(nursery.join());
    }
  });
}

}  // namespace
}  // namespace weft
