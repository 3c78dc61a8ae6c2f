// channel_late_test.cpp: a close while many wait: what others find meanwhile,
// and what becomes of the values of senders who waited.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "base/point.hpp"
#include "support/channel_test.hpp"
#include "support/parked.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;
using test::fill;
using test::kNone;
using test::numbers;
using test::take_all;

class ChannelLateTest : public test::ChannelsTest {
 protected:
  void SetUp() override {
    undisturbed();
    ChannelsTest::SetUp();
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, ChannelLateTest,
                         ::testing::Combine(::testing::Values(1u, 2u),
                                            ::testing::Bool()));

constexpr std::size_t kAtOnce = 64;

// So many fibers that wait, one after the other.
template <typename F>
std::vector<Task<>> park(Nursery& nursery, std::size_t count, F body) {
  std::vector<Task<>> tasks;
  for (std::size_t i = 0; i < count; ++i) {
    tasks.push_back(nursery.spawn([=] { body(static_cast<int>(i)); }));
    await_parked(tasks.back());
  }
  return tasks;
}

#if defined(WEFT_FAULTS)

using base::Hold;
using base::Point;

std::size_t parked(const std::vector<Task<>>& tasks) {
  return static_cast<std::size_t>(std::count_if(
      tasks.begin(), tasks.end(),
      [](const auto& task) { return task.state() == FiberState::parked; }));
}

// Calls look() when the close has told the first of those who wait.
template <typename Handle, typename Look>
void close_slowly(Handle handle, Error reason, Look look) {
  Hold closing(Point::closing);
  std::thread closer([&] { handle.close(reason); });
  closing.await();
  look();
  closing.let_go();
  closer.join();
}

// PROTOCOLS 5: chunks of 64, the lock free in between.
TEST_P(ChannelLateTest, TellsReceiversAFewAtATime) {
  if (explored()) return;
  at({kNone, 1, 3}, [](std::size_t capacity) {
    auto channel = make<int>(capacity);
    std::atomic<int> told{0};
    Nursery nursery;
    const auto waiting = park(nursery, 2 * kAtOnce + 20, [&](int) {
      told += channel.receiver.receive().error() == Errc::denied;
    });
    close_slowly(channel.sender, Errc::denied, [&] {
      EXPECT_EQ(parked(waiting), kAtOnce + 20);
      EXPECT_TRUE(channel.receiver.closed());
      EXPECT_EQ(channel.receiver.try_receive().error(), Errc::denied);
      EXPECT_EQ(channel.receiver.receive().error(), Errc::denied);
      EXPECT_EQ(channel.sender.try_send(1).error(), Errc::closed);
      EXPECT_EQ(channel.sender.send(1).error(), Errc::closed);
      channel.sender.close(Errc::failed);  // a second one has nothing to do
      EXPECT_EQ(parked(waiting), kAtOnce + 20);
    });
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(told, 2 * static_cast<int>(kAtOnce) + 20);
  });
}

// Nobody is let in by one who receives what is inside meanwhile.
TEST_P(ChannelLateTest, TellsSendersAFewAtATime) {
  if (explored()) return;
  at({kNone, 1, 3}, [](std::size_t capacity) {
    auto channel = make<int>(capacity);
    fill(channel.sender);
    std::atomic<int> told{0};
    Nursery nursery;
    const auto waiting = park(nursery, kAtOnce + 20, [&](int i) {
      told += channel.sender.send(i).error() == Errc::denied;
    });
    close_slowly(channel.receiver, Errc::denied, [&] {
      EXPECT_EQ(parked(waiting), 20u);
      EXPECT_EQ(channel.sender.send(1).error(), Errc::denied);
      const auto got = channel.receiver.receive();
      EXPECT_EQ(got.has_value(), capacity != 0);
      EXPECT_EQ(parked(waiting), 20u);
    });
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(told, static_cast<int>(kAtOnce) + 20);
    EXPECT_EQ(channel.receiver.size(), 0u);
  });
}

TEST_P(ChannelLateTest, MayGoBeforeAllWereTold) {
  if (explored()) return;
  at({kNone, 1}, [](std::size_t capacity) {
    auto channel = make<int>(capacity);
    std::atomic<int> told{0};
    Nursery nursery;
    for (std::size_t i = 0; i < kAtOnce + 20; ++i) {
      await_parked(
          nursery.spawn([&told, receiver = channel.receiver]() mutable {
            told += receiver.receive().error() == Errc::closed;
          }));
    }
    channel.receiver = {};
    Hold closing(Point::closing);
    std::thread closer([sender = std::move(channel.sender)]() mutable {
      sender = {};  // the last one: nobody else holds that side
    });
    closing.await();
    closing.let_go();
    closer.join();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(told, static_cast<int>(kAtOnce) + 20);
  });
}

// Who receives waits for what is on its way behind the buffer.
TEST_P(ChannelLateTest, HidesNothingThatIsOnItsWay) {
  if (explored()) return;
  at({1, 3}, [](std::size_t capacity) {
    auto channel = make<int>(capacity);
    fill(channel.sender);
    Nursery nursery;
    const auto waiting = park(nursery, 3, [&](int i) {
      EXPECT_TRUE(channel.sender.send(static_cast<int>(capacity) + i));
    });
    Hold filling(Point::filling, 1);
    std::thread closer([&] { channel.sender.close(); });
    filling.await();
    EXPECT_EQ(channel.receiver.size(), capacity + 3);
    for (std::size_t i = 0; i <= capacity; ++i) {
      EXPECT_EQ(channel.receiver.receive().value(), static_cast<int>(i));
    }
    std::thread receiver([&] {
      EXPECT_EQ(take_all(channel.receiver),
                numbers(static_cast<int>(capacity) + 1, 2));
    });
    filling.let_go();
    receiver.join();
    closer.join();
    EXPECT_TRUE(nursery.join());
  });
}

// A slot that becomes free is not for those whose turn is behind the first.
TEST_P(ChannelLateTest, LetsNobodyPassThoseWhoAreOnTheirWay) {
  if (explored()) return;
  at({1, 3}, [](std::size_t capacity) {
    constexpr std::size_t kWaiting = kAtOnce + 20;
    auto channel = make<int>(capacity);
    fill(channel.sender);
    Nursery nursery;
    const auto waiting = park(nursery, kWaiting, [&](int i) {
      EXPECT_TRUE(channel.sender.send(static_cast<int>(capacity) + i));
    });
    Hold filling(Point::filling);
    std::thread closer([&] { channel.sender.close(); });
    filling.await();
    for (std::size_t i = 0; i < capacity; ++i) {
      EXPECT_EQ(channel.receiver.receive().value(), static_cast<int>(i));
    }
    EXPECT_EQ(channel.receiver.size(), kAtOnce);
    filling.let_go();
    EXPECT_EQ(take_all(channel.receiver),
              numbers(static_cast<int>(capacity), kWaiting));
    closer.join();
    EXPECT_TRUE(nursery.join());
  });
}

// What nobody will receive is not sent.
TEST_P(ChannelLateTest, KeepsNothingForReceiversWhoHaveClosedAsWell) {
  if (explored()) return;
  at({1, 3}, [](std::size_t capacity) {
    auto channel = make<int>(capacity);
    fill(channel.sender);
    std::atomic<std::size_t> sent{0};
    Nursery nursery;
    const auto waiting = park(nursery, kAtOnce + 20, [&](int i) {
      sent += channel.sender.send(static_cast<int>(i)).has_value();
    });
    Hold filling(Point::filling, kAtOnce - 1);
    std::thread closer([&] { channel.sender.close(); });
    filling.await();
    std::thread receiver([&] { channel.receiver.close(); });
    while (channel.receiver.size() != 0) std::this_thread::yield();
    filling.let_go();
    receiver.join();
    closer.join();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(sent, kAtOnce);
    EXPECT_EQ(channel.receiver.size(), 0u);
    EXPECT_EQ(channel.receiver.receive().error(), Errc::closed);
  });
}

#endif

TEST_P(ChannelLateTest, CountsWhatIsBehindTheBuffer) {
  at_each_buffer([](std::size_t capacity) {
    for (const std::size_t count : {1u, 5u, 64u, 65u, 150u}) {
      auto channel = make<int>(capacity);
      fill(channel.sender);
      Nursery nursery;
      const auto waiting = park(nursery, count, [&](int i) {
        EXPECT_TRUE(channel.sender.send(static_cast<int>(capacity) + i));
      });
      EXPECT_EQ(channel.receiver.size(), capacity);
      channel.sender.close();
      for (auto left = capacity + count; left > 0; --left) {
        EXPECT_EQ(channel.receiver.size(), left);
        EXPECT_EQ(channel.sender.size(), left);
        EXPECT_EQ(channel.receiver.try_receive().value(),
                  static_cast<int>(capacity + count - left));
      }
      EXPECT_EQ(channel.receiver.size(), 0u);
      EXPECT_TRUE(nursery.join());
    }
  });
}

// Does something whenever it moves, and when one goes that was not moved from.
class Lively {
 public:
  explicit Lively(std::function<void()> act) : act_(std::move(act)) {}
  Lively(Lively&& other) noexcept : act_(std::exchange(other.act_, nullptr)) {
    if (act_) act_();
  }
  ~Lively() {
    if (act_) act_();
  }

 private:
  std::function<void()> act_;
};

// With the lock held it would wait for itself.
TEST_P(ChannelLateTest, MovesNothingUnderItsLock) {
  at_each_buffer([](std::size_t capacity) {
    for (const bool receives : {false, true}) {
      auto channel = make<Lively>(capacity);
      int acts = 0;
      const auto look = [&] {
        ++acts;
        const auto end = channel.sender.try_send(Lively(nullptr));
        EXPECT_TRUE(end || end.error() == Errc::would_block ||
                    end.error() == Errc::closed);
      };
      while (channel.sender.try_send(Lively(nullptr))) {
      }
      Nursery nursery;
      const auto waiting = park(nursery, 3, [&](int) {
        Lively value(look);
        (void)channel.sender.send(std::move(value));
      });
      acts = 0;
      channel.sender.close();
      EXPECT_EQ(acts, 3);
      if (receives) {
        for (auto& value : channel.receiver) (void)Lively(std::move(value));
      } else {
        channel.receiver.close();
      }
      EXPECT_GE(acts, 6);
      EXPECT_TRUE(nursery.join());
    }
  });
}

}  // namespace
}  // namespace weft
