// A send that drops the oldest value was two steps: it found the channel full,
// then destroyed a value. In between there could be room, or a close, and then
// the send had destroyed a value for nothing, even one that failed.

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/point.hpp"
#include "support/channel_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::fill;
using test::numbers;
using test::take_all;

#if defined(WEFT_FAULTS)

using base::Hold;
using base::Point;

class DropOldestTest : public testing::TestWithParam<bool> {
 protected:
  static constexpr std::size_t kCapacity = 2;
  static Channel<int> make(std::size_t capacity = kCapacity) {
    return make_channel<int>(
        capacity, {.on_full = OnFull::drop_oldest, .lock_free = GetParam()});
  }
};
INSTANTIATE_TEST_SUITE_P(LockFree, DropOldestTest, testing::Bool());

TEST_P(DropOldestTest, DropsNothingIfThereIsRoomByThen) {
  auto channel = make();
  fill(channel.sender);
  Hold dropping(Point::dropping);
  std::thread sends([&] { EXPECT_TRUE(channel.sender.send(2)); });
  dropping.await();
  EXPECT_EQ(channel.receiver.receive().value(), 0);
  dropping.let_go();
  sends.join();
  EXPECT_EQ(channel.sender.dropped(), 0u);
  channel.sender.close();
  EXPECT_EQ(take_all(channel.receiver), numbers(1, kCapacity));
}

TEST_P(DropOldestTest, DropsNothingIfItIsClosedByThen) {
  auto channel = make();
  fill(channel.sender);
  Hold dropping(Point::dropping);
  std::thread sends(
      [&] { EXPECT_EQ(channel.sender.send(2).error(), Errc::closed); });
  dropping.await();
  channel.sender.close();
  dropping.let_go();
  sends.join();
  EXPECT_EQ(channel.sender.dropped(), 0u);
  EXPECT_EQ(take_all(channel.receiver), numbers(0, kCapacity));
}

// The oldest value is still on its way in.
TEST_P(DropOldestTest, DropsWhatIsNotThereYet) {
  auto channel = make(1);
  Hold filling(Point::filling);
  std::thread first([&] { EXPECT_TRUE(channel.sender.try_send(0)); });
  filling.await();
  std::thread second([&] { EXPECT_TRUE(channel.sender.send(1)); });
  while (channel.sender.dropped() == 0) std::this_thread::yield();
  filling.let_go();
  first.join();
  second.join();
  EXPECT_EQ(channel.receiver.receive().value(), 1);
  EXPECT_EQ(channel.sender.dropped(), 1u);
}

// The oldest value is out, and the next one not there yet.
TEST_P(DropOldestTest, IsNotEmptyMeanwhile) {
  auto channel = make(1);
  fill(channel.sender);
  Hold filling(Point::filling);
  std::thread sends([&] { EXPECT_TRUE(channel.sender.send(1)); });
  filling.await();
  EXPECT_EQ(channel.receiver.size(), 1u);
  std::thread receives(
      [&] { EXPECT_EQ(channel.receiver.try_receive().value_or(-1), 1); });
  filling.let_go();
  sends.join();
  receives.join();
  EXPECT_EQ(channel.sender.dropped(), 1u);
}

#endif

}  // namespace
}  // namespace weft
