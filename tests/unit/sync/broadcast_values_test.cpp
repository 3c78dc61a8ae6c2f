// broadcast_values_test.cpp: values of a broadcast that do much when they are
// made, copied and destroyed.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>

#include "support/gate.hpp"
#include "support/gives_up.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using namespace std::chrono_literals;

class BroadcastValuesTest : public test::WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, BroadcastValuesTest,
                         ::testing::Values(1u, 2u));

struct Slow {  // whose copy waits
  test::Gate* gate = nullptr;
  int number = 0;
  Slow(test::Gate* at, int which) : gate(at), number(which) {}
  Slow(const Slow& other) : gate(other.gate), number(other.number) {
    if (gate != nullptr) {
      EXPECT_TRUE(gate->pass());
    }
  }
  Slow(Slow&&) noexcept = default;
};

TEST_P(BroadcastValuesTest, ACopyThatWaitsKeepsNobodyElse) {
  in_fiber([] {
    test::Gate gate;
    Broadcast<Slow> news(4);
    auto slow = news.subscribe();
    auto quick = news.subscribe();
    EXPECT_TRUE(news.send(Slow(&gate, 1)));
    Nursery nursery;
    auto copier = nursery.spawn([&] { return slow.receive().value().number; });
    while (gate.waiting() == 0) this_fiber::yield();
    for (int i = 2; i < 9; ++i) {  // laps the one that is copied
      EXPECT_TRUE(news.send(Slow(nullptr, i)));
    }
    EXPECT_EQ(slow.missed(), 4u);
    EXPECT_EQ(quick.try_receive().value().number, 5);
    auto late = news.subscribe();
    EXPECT_EQ(late.try_receive().error(), Errc::would_block);
    gate.open();
    EXPECT_EQ(copier.join().value(), 1);  // it has it after all
    EXPECT_EQ(slow.missed(), 3u);
    EXPECT_EQ(slow.receive().value().number, 5);
    EXPECT_TRUE(nursery.join());
  });
}

struct Talker {  // which asks its broadcast when it goes
  Broadcast<Talker>* news = nullptr;
  std::atomic<int>* gone = nullptr;
  Talker(Broadcast<Talker>* at, std::atomic<int>* count)
      : news(at), gone(count) {}
  Talker(const Talker&) = default;
  Talker(Talker&& other) noexcept
      : news(std::exchange(other.news, nullptr)), gone(other.gone) {}
  ~Talker() {
    if (news == nullptr) return;
    EXPECT_FALSE(news->closed());
    ++*gone;
  }
};

TEST_P(BroadcastValuesTest, GoWhereNothingIsLocked) {
  in_fiber([] {
    std::atomic<int> gone{0};
    Broadcast<Talker> news(2);
    EXPECT_TRUE(news.send(Talker(&news, &gone)));  // to nobody
    EXPECT_EQ(gone, 1);
    auto mine = std::make_unique<Subscription<Talker>>(news.subscribe());
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(news.send(Talker(&news, &gone)));
    EXPECT_EQ(gone, 2);  // dropped
    { const auto got = mine->receive(); }
    EXPECT_EQ(gone, 3);
    mine.reset();
    EXPECT_EQ(gone, 4);
  });
}

struct Stubborn {  // whose move throws, if told so
  static inline std::atomic<bool> throws{false};
  int number;
  explicit Stubborn(int which) : number(which) {}
  Stubborn(const Stubborn&) = default;
  Stubborn(Stubborn&& other) noexcept(false) : number(other.number) {
    if (throws) throw std::runtime_error("move");
  }
};

TEST_P(BroadcastValuesTest, AMoveThatThrowsSendsAndDropsNothing) {
  in_fiber([] {
    Broadcast<Stubborn> news(1);
    auto mine = news.subscribe();
    const Stubborn first(1);
    EXPECT_TRUE(news.send(first));
    Stubborn::throws = true;
    const Stubborn second(2);
    EXPECT_THROW((void)news.send(second), std::runtime_error);
    Stubborn::throws = false;
    EXPECT_EQ(mine.missed(), 0u);
    EXPECT_EQ(mine.receive().value().number, 1);
    EXPECT_EQ(mine.try_receive().error(), Errc::would_block);
  });
}

TEST_P(BroadcastValuesTest, StayTheirSendersIfTheyAreNotSent) {
  in_fiber([] {
    auto value = std::make_shared<int>(1);
    Broadcast<std::shared_ptr<int>> waits(1, OnFull::wait);
    Broadcast<std::shared_ptr<int>> refuses(1, OnFull::drop_newest);
    auto first = waits.subscribe();
    auto second = refuses.subscribe();
    EXPECT_TRUE(waits.send(value));
    EXPECT_TRUE(refuses.send(value));
    const auto not_sent = [&value](Status end, Errc why) {
      EXPECT_EQ(end.error(), why);
      EXPECT_NE(value, nullptr);
    };
    not_sent(waits.send(std::move(value), Deadline::after(-1s)),
             Errc::timed_out);
    not_sent(waits.send(std::move(value), Deadline::after(1us)),
             Errc::timed_out);
    not_sent(refuses.send(std::move(value)), Errc::would_block);
    test::cancel_parked(
        [&] { not_sent(waits.send(std::move(value)), Errc::cancelled); });
    waits.close();
    not_sent(waits.send(std::move(value)), Errc::closed);
    EXPECT_TRUE(second.receive());
    EXPECT_TRUE(refuses.send(std::move(value)));
    EXPECT_EQ(value, nullptr);
  });
}

TEST_P(BroadcastValuesTest, ATryNeitherWaitsNorDrops) {
  in_fiber([] {
    for (const auto on_full :
         {OnFull::wait, OnFull::drop_newest, OnFull::drop_oldest}) {
      Broadcast<std::shared_ptr<int>> news(1, on_full);
      auto value = std::make_shared<int>(1);
      EXPECT_TRUE(news.try_send(value));  // to nobody
      auto mine = news.subscribe();
      EXPECT_TRUE(news.try_send(value));
      EXPECT_EQ(news.try_send(std::move(value)).error(), Errc::would_block);
      EXPECT_NE(value, nullptr);
      EXPECT_EQ(mine.missed(), 0u);
      EXPECT_EQ(mine.receive().value(), value);
      news.close();
      EXPECT_EQ(news.try_send(value).error(), Errc::closed);
    }
  });
}

TEST_P(BroadcastValuesTest, CostOneOperationInASelect) {
  in_fiber([] {
    Broadcast<int> news(4);
    auto mine = news.subscribe();
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(news.send(i));
    Nursery nursery;
    auto child =
        nursery.spawn({.budget = Budget{.ops = 100, .channel_ops = 10}}, [&] {
          EXPECT_TRUE(mine.receive());
          EXPECT_TRUE(mine.try_receive());
          EXPECT_EQ(this_fiber::ledger().spent.channel_ops, 2);
          EXPECT_TRUE(select(on_receive(mine, [](Result<int>) {})));
          EXPECT_EQ(this_fiber::ledger().spent.channel_ops, 3);
        });
    EXPECT_TRUE(child.join());
    EXPECT_TRUE(nursery.join());
  });
}

// Another with the same subscription takes what it is woken for.
TEST_P(BroadcastValuesTest, CostOneOperationHoweverOftenOthersWin) {
  const auto by_select = [](Subscription<int>& from) {
    return select(on_receive(from, [](Result<int>) {}));
  };
  const auto by_selector = [](Subscription<int>& from) {
    Selector selector(1);
    EXPECT_TRUE(selector.add(on_receive(from, [](Result<int>) {})));
    return selector.wait();
  };
  const auto pays_once = [](auto waits) {
    Broadcast<int> news(4);
    auto mine = news.subscribe();
    Nursery nursery;
    auto child =
        nursery.spawn({.budget = Budget{.ops = 100, .channel_ops = 10}}, [&] {
          EXPECT_TRUE(waits(mine));
          EXPECT_EQ(this_fiber::ledger().spent.channel_ops, 1);
        });
    const auto waits_or_ended = [&child] {
      while (child.state() != FiberState::parked && !child.done()) {
        this_fiber::yield();
      }
      return !child.done();
    };
    for (int i = 0; i < 20 && waits_or_ended(); ++i) {
      EXPECT_TRUE(news.send(i));
      (void)mine.try_receive();
    }
    if (waits_or_ended()) {
      EXPECT_TRUE(news.send(20));
    }
    EXPECT_TRUE(nursery.join());
  };
  in_fiber([&] {
    pays_once(by_select);
    pays_once(by_selector);
  });
}

}  // namespace
}  // namespace weft
