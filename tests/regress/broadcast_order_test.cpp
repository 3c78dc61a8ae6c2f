// Senders who waited at a full broadcast were all told of room, and raced for
// it with whoever came by: one could come too late again and again.

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;
using namespace std::chrono_literals;

class BroadcastOrderTest : public test::WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, BroadcastOrderTest,
                         ::testing::Values(1u, 2u));

TEST_P(BroadcastOrderTest, ServesSendersInTheOrderOfTheirArrival) {
  in_fiber([] {
    constexpr int kSenders = 5;
    Broadcast<int> news(1, OnFull::wait);
    auto mine = news.subscribe();
    EXPECT_TRUE(news.send(0));
    Nursery nursery;
    std::vector<Task<>> senders;
    for (int i = 1; i <= kSenders; ++i) {
      senders.push_back(nursery.spawn([&news, i] { (void)news.send(i); }));
      await_parked(senders.back());
    }
    // Who gives up holds nobody up: the first, one in between, and the last.
    for (const std::size_t i : {0u, 2u, 4u}) {
      senders[i].cancel();
      EXPECT_TRUE(senders[i].wait());
    }
    for (const int i : {0, 2, 4}) {
      EXPECT_EQ(mine.receive().value(), i);
      if (i == 4) break;
      // There is no room for who comes later.
      EXPECT_EQ(news.try_send(9).error(), Errc::would_block);
      EXPECT_EQ(news.send(9, Deadline::after(-1s)).error(), Errc::timed_out);
    }
    EXPECT_TRUE(news.send(6));
    EXPECT_EQ(mine.receive().value(), 6);
    (void)nursery.join();
  });
}

TEST_P(BroadcastOrderTest, TellsAllOfThemOfAClose) {
  in_fiber([] {
    Broadcast<int> news(1, OnFull::wait);
    auto mine = news.subscribe();
    EXPECT_TRUE(news.send(0));
    Nursery nursery;
    for (int i = 0; i < 3; ++i) {
      auto sender = nursery.spawn(
          [&] { EXPECT_EQ(news.send(1).error(), Error::user(3)); });
      await_parked(sender);
    }
    news.close(Error::user(3));
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(mine.receive().value(), 0);
    EXPECT_EQ(mine.receive().error(), Error::user(3));
  });
}

// Room for several at once, by one who leaves.
TEST_P(BroadcastOrderTest, LetsInAsManyAsThereIsRoomFor) {
  in_fiber([] {
    Broadcast<int> news(2, OnFull::wait);
    auto mine = news.subscribe();
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(news.send(i));
    Nursery nursery;
    for (int i = 2; i < 7; ++i) {
      auto sender = nursery.spawn([&news, i] { EXPECT_TRUE(news.send(i)); });
      await_parked(sender);
    }
    mine = {};
    EXPECT_TRUE(nursery.join());
  });
}

}  // namespace
}  // namespace weft
