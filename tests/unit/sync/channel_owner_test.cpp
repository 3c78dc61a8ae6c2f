// channel_owner_test.cpp: a buffer that is one worker's own, and others who
// come to it.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/asymmetric.hpp"
#include "sync/channel_core.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using sync::ChannelCore;

constexpr std::size_t kOwnerSlots = 8;
// More than go through before the first grant, and before the second.
constexpr std::int64_t kFirst = 6'000;
constexpr std::int64_t kSecond = 40'000;

template <typename T>
bool is_own(const Sender<T>& sender) {
  const auto& ends = *detail::ChannelAccess::channel(sender);
  return (ends.tail.word.load() & detail::kRingOwned) != 0;
}

// One fiber sends, another receives, as many values.
void pump(Channel<std::int64_t>& channel, std::int64_t count) {
  Nursery nursery;
  nursery.spawn([&] {
    for (std::int64_t i = 0; i < count; ++i) channel.sender.send(i).value();
  });
  for (std::int64_t i = 0; i < count; ++i) {
    ASSERT_EQ(channel.receiver.receive().value(), i);
  }
  nursery.join().value();
}

TEST(ChannelOwnerTest, BecomesItsWorkersOwnUntilAnotherComes) {
  auto runtime = Runtime::start({.workers = 1}).value();
  auto channel = make_channel<std::int64_t>(kOwnerSlots);
  for (const auto count : {kFirst, kSecond}) {
    runtime.run([&] { pump(channel, count); }).value();
    EXPECT_EQ(is_own(channel.sender), base::membarrier_works());
    // This thread is another.
    channel.sender.send(7).value();
    EXPECT_FALSE(is_own(channel.sender));
    EXPECT_EQ(channel.receiver.receive().value(), 7);
  }
}

TEST(ChannelOwnerTest, IsNobodysWithoutABufferOrWithTheLock) {
  auto runtime = Runtime::start({.workers = 1}).value();
  auto rendezvous = make_channel<std::int64_t>(0);
  auto locked = make_channel<std::int64_t>(kOwnerSlots, {.lock_free = false});
  runtime.run([&] { pump(rendezvous, kFirst); }).value();
  runtime.run([&] { pump(locked, kFirst); }).value();
  EXPECT_FALSE(is_own(rendezvous.sender));
  EXPECT_FALSE(is_own(locked.sender));
}

TEST(ChannelOwnerTest, OutlivesItsOwner) {
  auto channel = make_channel<std::int64_t>(kOwnerSlots);
  for (int i = 0; i < 2; ++i) {
    auto runtime = Runtime::start({.workers = 1}).value();
    runtime.run([&] { pump(channel, kFirst); }).value();
  }
  channel.sender.send(7).value();
  channel.sender.close();
  EXPECT_EQ(channel.receiver.receive().value(), 7);
  EXPECT_EQ(channel.receiver.receive().error(), Errc::closed);
}

// Who displaces the oldest value moves both ends under the lock, as an owner
// and as another.
TEST(ChannelOwnerTest, IsFullForItsOwnerAsForOthers) {
  auto runtime = Runtime::start({.workers = 1}).value();
  auto channel =
      make_channel<std::int64_t>(kOwnerSlots, {.on_full = OnFull::drop_oldest});
  const auto slots = static_cast<std::int64_t>(kOwnerSlots);
  runtime
      .run([&] {
        Nursery nursery;
        nursery.spawn([&] {
          for (std::int64_t i = 0; i < kFirst; ++i) {
            ASSERT_EQ(channel.receiver.receive().value(), i);
          }
        });
        for (std::int64_t i = 0; i < kFirst; ++i) {
          while (channel.sender.size() == kOwnerSlots) this_fiber::yield();
          channel.sender.send(i).value();
        }
        nursery.join().value();
        EXPECT_EQ(is_own(channel.sender), base::membarrier_works());
        for (std::int64_t i = 0; i < slots + 2; ++i) {
          channel.sender.send(i).value();
        }
        EXPECT_EQ(is_own(channel.sender), base::membarrier_works());
      })
      .value();
  EXPECT_EQ(channel.sender.dropped(), 2u);
  channel.sender.send(slots + 2).value();
  EXPECT_FALSE(is_own(channel.sender));
  EXPECT_EQ(channel.sender.dropped(), 3u);
  for (std::int64_t i = 0; i < slots; ++i) {
    EXPECT_EQ(channel.receiver.receive().value(), i + 3);
  }
}

// Others come in the middle of it, by each way there is.
TEST(ChannelOwnerTest, LosesNothingToThoseWhoCome) {
  auto runtime = Runtime::start({.workers = 1}).value();
  auto channel = make_channel<std::int64_t>(kOwnerSlots);
  std::atomic<bool> over{false};
  std::int64_t sent_by_other = 0;
  std::int64_t got_by_other = 0;
  std::thread other([&] {
    while (!over.load()) {
      if (channel.sender.try_send(1)) ++sent_by_other;
      if (auto value = channel.receiver.try_receive()) got_by_other += *value;
      std::this_thread::yield();
    }
  });
  std::int64_t got = 0;
  runtime
      .run([&] {
        Nursery nursery;
        nursery.spawn([&] {
          for (std::int64_t i = 0; i < kSecond; ++i) {
            channel.sender.send(1).value();
          }
          over.store(true);
        });
        while (!over.load()) {
          if (auto value = channel.receiver.try_receive()) got += *value;
          this_fiber::yield();
        }
        nursery.join().value();
      })
      .value();
  other.join();
  channel.sender.close();
  for (const auto value : channel.receiver) got += value;
  EXPECT_EQ(got + got_by_other, kSecond + sent_by_other);
}

// Two threads, each of which makes it its own again and again.
TEST(ChannelOwnerTest, GoesFromOneToTheOther) {
  constexpr int kChannels = 200;
  constexpr std::int64_t kEach = 400;
  for (int i = 0; i < kChannels; ++i) {
    ChannelCore& core = *ChannelCore::make(detail::kElementOps<std::int64_t>,
                                           kOwnerSlots, detail::ChannelSetup{});
    const auto use = [&core](auto operation, int first) {
      (void)sched::carrier();
      for (std::int64_t k = 0; k < kEach; ++k) {
        if (k % 97 == first) core.own();
        operation(k);
      }
    };
    std::thread sender([&] {
      use(
          [&core](std::int64_t k) {
            EXPECT_TRUE(core.send(&k, Deadline::never()));
          },
          0);
    });
    use(
        [&core](std::int64_t k) {
          std::int64_t got = -1;
          EXPECT_TRUE(core.receive(&got, Deadline::never()));
          EXPECT_EQ(got, k);
        },
        48);
    sender.join();
    core.let_go(sync::ChannelSide::sends);
    core.let_go(sync::ChannelSide::receives);
  }
}

}  // namespace
}  // namespace weft
