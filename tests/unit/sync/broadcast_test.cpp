#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/gives_up.hpp"
#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/broadcast.hpp>
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::as_cancelled;
using test::await_parked;
using test::cancel_parked;
using test::expect_gives_up;
using test::WorkersTest;
using namespace std::chrono_literals;

class BroadcastTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, BroadcastTest, ::testing::Values(1u, 2u));

TEST_P(BroadcastTest, GivesEveryValueToEverySubscriber) {
  in_fiber([] {
    const int count = explored() ? 20 : 300;
    Broadcast<std::string> news(8, OnFull::wait);
    Nursery nursery;
    for (int i = 0; i < 4; ++i) {
      nursery.spawn([count, mine = news.subscribe()]() mutable {
        int next = 0;
        while (auto value = mine.receive()) {
          EXPECT_EQ(*value, std::to_string(next++));
        }
        EXPECT_EQ(next, count);
        EXPECT_EQ(mine.missed(), 0u);
      });
    }
    for (int i = 0; i < count; ++i) ASSERT_TRUE(news.send(std::to_string(i)));
    news.close();
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(BroadcastTest, BeginsWithTheNextValue) {
  in_fiber([] {
    Broadcast<int> news(4);
    EXPECT_TRUE(news.send(1));  // to nobody
    auto first = news.subscribe();
    EXPECT_TRUE(news.send(2));
    auto second = news.subscribe();
    EXPECT_TRUE(news.send(3));
    EXPECT_EQ(first.receive().value(), 2);
    EXPECT_EQ(first.try_receive().value(), 3);
    EXPECT_EQ(first.try_receive().error(), Errc::would_block);
    EXPECT_EQ(second.receive().value(), 3);
    EXPECT_EQ(second.try_receive().error(), Errc::would_block);
    EXPECT_EQ(first.missed() + second.missed(), 0u);
  });
}

TEST_P(BroadcastTest, TakesTheOldestFromWhoIsTooSlow) {
  in_fiber([] {
    Broadcast<int> news(3);
    auto slow = news.subscribe();
    auto quick = news.subscribe();
    for (int i = 0; i < 10; ++i) {
      EXPECT_TRUE(news.send(i));
      EXPECT_EQ(quick.receive().value(), i);
    }
    EXPECT_EQ(slow.missed(), 7u);
    for (int i = 7; i < 10; ++i) EXPECT_EQ(slow.receive().value(), i);
    EXPECT_EQ(slow.try_receive().error(), Errc::would_block);
    EXPECT_EQ(slow.missed(), 7u);
    EXPECT_EQ(quick.missed(), 0u);
    for (int i = 10; i < 15; ++i) EXPECT_TRUE(news.send(i));
    EXPECT_EQ(slow.receive().value(), 12);
    EXPECT_EQ(slow.missed(), 9u);
  });
}

TEST_P(BroadcastTest, WaitsForTheSlowest) {
  in_fiber([] {
    Broadcast<int> news(2, OnFull::wait);
    auto slow = news.subscribe();
    auto quick = std::make_optional(news.subscribe());
    EXPECT_TRUE(news.send(0));
    EXPECT_TRUE(news.send(1));
    EXPECT_EQ(news.send(2, Deadline::after(-1s)).error(), Errc::timed_out);
    EXPECT_EQ(quick->receive().value(), 0);
    EXPECT_EQ(news.send(2, Deadline::after(1us)).error(), Errc::timed_out);
    Nursery nursery;
    auto sender = nursery.spawn([&] { EXPECT_TRUE(news.send(2)); });
    await_parked(sender);
    EXPECT_EQ(slow.receive().value(), 0);
    EXPECT_TRUE(sender.join());
    cancel_parked([&] { EXPECT_EQ(news.send(3).error(), Errc::cancelled); });
    EXPECT_EQ(slow.receive().value(), 1);  // quick is the slowest now
    auto last = nursery.spawn([&] { EXPECT_TRUE(news.send(3)); });
    await_parked(last);
    quick.reset();
    EXPECT_TRUE(last.join());
    EXPECT_EQ(slow.receive().value(), 2);
    EXPECT_EQ(slow.receive().value(), 3);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(BroadcastTest, RefusesTheNewestIfToldTo) {
  in_fiber([] {
    Broadcast<int> news(1, OnFull::drop_newest);
    EXPECT_TRUE(news.send(0));
    auto mine = news.subscribe();
    EXPECT_TRUE(news.send(1));
    EXPECT_EQ(news.send(2).error(), Errc::would_block);
    EXPECT_EQ(mine.receive().value(), 1);
    EXPECT_TRUE(news.send(3));
    EXPECT_EQ(mine.receive().value(), 3);
    EXPECT_EQ(mine.missed(), 0u);
  });
}

TEST_P(BroadcastTest, EndsAfterTheLastValue) {
  in_fiber([] {
    auto news = std::make_optional<Broadcast<int>>(4);
    auto mine = news->subscribe();
    EXPECT_TRUE(news->send(1));
    news->close(Error::user(7));
    news->close();
    EXPECT_TRUE(news->closed());
    EXPECT_EQ(news->send(2).error(), Error::user(7));
    EXPECT_EQ(mine.receive().value(), 1);
    EXPECT_EQ(mine.receive().error(), Error::user(7));
    EXPECT_EQ(mine.try_receive().error(), Error::user(7));
    EXPECT_EQ(news->subscribe().receive().error(), Error::user(7));

    news.emplace(1, OnFull::wait);
    mine = news->subscribe();
    EXPECT_TRUE(news->send(1));
    Nursery nursery;
    auto sender =
        nursery.spawn([&] { EXPECT_EQ(news->send(2).error(), Errc::closed); });
    auto other = news->subscribe();
    auto receiver = nursery.spawn(
        [&] { EXPECT_EQ(other.receive().error(), Errc::closed); });
    await_parked(sender);
    await_parked(receiver);
    news->close();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(mine.receive().value(), 1);
    EXPECT_EQ(mine.receive().error(), Errc::closed);
  });
}

TEST_P(BroadcastTest, ClosesWhenItGoes) {
  in_fiber([] {
    auto news = std::make_optional<Broadcast<std::string>>(4);
    auto mine = news->subscribe();
    auto idle = news->subscribe();
    EXPECT_TRUE(news->send("last"));
    Nursery nursery;
    auto receiver = nursery.spawn([&] {
      EXPECT_EQ(mine.receive().value(), "last");
      EXPECT_EQ(mine.receive().error(), Errc::closed);
    });
    await_parked(receiver);
    news.reset();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(idle.receive().value(), "last");
    EXPECT_EQ(idle.receive().error(), Errc::closed);
  });
}

// Whose children would wait for ever: it is older than their nursery.
TEST_P(BroadcastTest, IsClosedByItsGuardOnTheWayOut) {
  in_fiber([] {
    Broadcast<int> news(4, OnFull::wait);
    Nursery nursery;
    const auto leaves_early = [&]() -> Status {
      const CloseGuard guard(news);
      nursery.spawn([mine = news.subscribe()]() mutable {
        EXPECT_EQ(mine.receive().value(), 1);
        EXPECT_EQ(mine.receive().error(), Errc::closed);
      });
      WEFT_TRY(news.send(1));
      WEFT_TRY(Status(Error::user(3)));
      return news.send(2);
    };
    EXPECT_EQ(leaves_early().error(), Error::user(3));
    EXPECT_TRUE(news.closed());
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(BroadcastTest, LosesNothingToWhoGaveUp) {
  in_fiber([] {
    Broadcast<int> news(4);
    auto mine = news.subscribe();
    expect_gives_up([&](Deadline by) { return mine.receive(by); });
    EXPECT_TRUE(news.send(1));
    as_cancelled([&] {
      EXPECT_EQ(mine.receive().error(), Errc::cancelled);
      EXPECT_EQ(news.send(9).error(), Errc::cancelled);
      EXPECT_EQ(mine.try_receive().value(), 1);  // no cancel point
    });
    EXPECT_TRUE(news.send(2));
    EXPECT_EQ(mine.receive(Deadline::after(-1s)).value(), 2);
  });
}

TEST_P(BroadcastTest, SharesASubscriptionAmongItsReceivers) {
  in_fiber([] {
    const int count = explored() ? 20 : 200;
    Broadcast<int> news(4, OnFull::wait);
    auto mine = news.subscribe();
    std::atomic<int> sum{0};
    Nursery nursery;
    for (int i = 0; i < 3; ++i) {
      nursery.spawn([&] {
        while (auto value = mine.receive()) sum += *value;
      });
    }
    for (int i = 1; i <= count; ++i) ASSERT_TRUE(news.send(i));
    news.close();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(sum, count * (count + 1) / 2);
  });
}

TEST_P(BroadcastTest, KeepsNoValueThatNobodyWants) {
  in_fiber([] {
    const auto value = std::make_shared<int>(1);
    Broadcast<std::shared_ptr<int>> news(4);
    EXPECT_TRUE(news.send(value));
    EXPECT_EQ(value.use_count(), 1);
    auto first = news.subscribe();
    auto second = std::make_optional(news.subscribe());
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(news.send(value));
    EXPECT_EQ(value.use_count(), 4);
    EXPECT_TRUE(first.receive());
    EXPECT_EQ(value.use_count(), 4);
    EXPECT_TRUE(second->receive());
    EXPECT_EQ(value.use_count(), 3);
    EXPECT_TRUE(first.receive());
    second.reset();
    EXPECT_EQ(value.use_count(), 2);
    auto moved = std::move(first);
    EXPECT_FALSE(first);  // NOLINT: on purpose
    EXPECT_EQ(first.receive().error(), Errc::invalid);
    EXPECT_EQ(first.try_receive().error(), Errc::invalid);
    EXPECT_EQ(first.missed(), 0u);
    EXPECT_TRUE(moved.receive());
    EXPECT_EQ(value.use_count(), 1);
  });
}

struct Picky {  // throws when it is copied, once
  std::shared_ptr<bool> throws;
  explicit Picky(std::shared_ptr<bool> once) : throws(std::move(once)) {}
  Picky(const Picky& other) : throws(other.throws) {
    if (std::exchange(*throws, false)) throw std::runtime_error("copy");
  }
  Picky(Picky&&) noexcept = default;
};

TEST_P(BroadcastTest, LosesNothingToACopyThatThrows) {
  in_fiber([] {
    Broadcast<Picky> news(2);
    auto first = news.subscribe();
    auto second = news.subscribe();
    EXPECT_TRUE(news.send(Picky(std::make_shared<bool>(true))));
    EXPECT_THROW((void)first.receive(), std::runtime_error);
    EXPECT_TRUE(first.receive());
    EXPECT_TRUE(second.receive());
  });
}

TEST_P(BroadcastTest, IsACaseOfASelect) {
  in_fiber([] {
    Broadcast<int> news(4);
    auto mine = news.subscribe();
    Event stop;
    int sum = 0;
    Error end{Errc{}};
    const auto step = [&] {
      return select(on_receive(mine,
                               [&](Result<int> value) {
                                 if (value) sum += *value;
                                 if (!value) end = value.error();
                               }),
                    on_event(stop, [] {}));
    };
    EXPECT_TRUE(news.send(1));
    EXPECT_EQ(step().value(), 0u);
    Nursery nursery;
    auto waiter = nursery.spawn([&] { EXPECT_EQ(step().value(), 0u); });
    await_parked(waiter);
    EXPECT_TRUE(news.send(2));
    EXPECT_TRUE(waiter.join());
    auto stopped = nursery.spawn([&] { EXPECT_EQ(step().value(), 1u); });
    await_parked(stopped);
    stop.set();
    EXPECT_TRUE(stopped.join());
    EXPECT_EQ(sum, 3);
    EXPECT_TRUE(news.send(4));  // was not taken by that one
    EXPECT_EQ(mine.receive().value(), 4);
    stop.reset();
    news.close(Error::user(9));
    EXPECT_EQ(step().value(), 0u);
    EXPECT_EQ(end, Error::user(9));
    Subscription<int> empty;
    EXPECT_EQ(select(on_receive(empty,
                                [&](Result<int> value) {
                                  EXPECT_EQ(value.error(), Errc::invalid);
                                }))
                  .value(),
              0u);
    EXPECT_TRUE(nursery.join());
  });
}

// Of several at one subscription all but one must wait again.
TEST_P(BroadcastTest, SelectsAgainIfAnotherWasFaster) {
  in_fiber([] {
    const int count = explored() ? 20 : 200;
    Broadcast<int> news(2, OnFull::wait);
    auto mine = news.subscribe();
    std::atomic<int> sum{0};
    Nursery nursery;
    for (int i = 0; i < 3; ++i) {
      nursery.spawn([&, dynamic = i == 0] {
        bool more = true;
        const auto take = [&](Result<int> value) {
          more = value.has_value();
          if (value) sum += *value;
        };
        Selector several(2);
        EXPECT_TRUE(several.add(on_receive(mine, take)));
        while (more) {
          const auto end =
              dynamic ? several.wait() : select(on_receive(mine, take));
          ASSERT_EQ(end.value(), 0u);
        }
      });
    }
    for (int i = 1; i <= count; ++i) ASSERT_TRUE(news.send(i));
    news.close();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(sum, count * (count + 1) / 2);
  });
}

class BroadcastThreadTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(RealWorkers, BroadcastThreadTest,
                         ::testing::Values(1u, 2u));

TEST_P(BroadcastThreadTest, ServesThreadsAndFibersTogether) {
  constexpr int kCount = 300;
  Broadcast<int> news(4, OnFull::wait);
  const auto read = [](Subscription<int> mine) {
    std::int64_t sum = 0;
    while (auto value = mine.receive()) sum += *value;
    EXPECT_EQ(sum, 2 * (kCount * (kCount + 1) / 2));
  };
  Nursery nursery(runtime());
  nursery.spawn(read, news.subscribe());
  std::thread reader(read, news.subscribe());
  const auto write = [&] {
    for (int i = 1; i <= kCount; ++i) ASSERT_TRUE(news.send(i));
  };
  std::thread writer(write);
  auto other = nursery.spawn(write);
  writer.join();
  EXPECT_TRUE(other.join());
  news.close();
  reader.join();
  EXPECT_TRUE(nursery.join());
}

}  // namespace
}  // namespace weft
