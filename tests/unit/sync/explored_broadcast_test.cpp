// explored_broadcast_test.cpp: ordered results, broadcasts and watches, over
// schedules.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <utility>

#include "unit/sync/searches.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Fault;
using test::search_all;
using test::Simulation;
using namespace std::chrono_literals;

// R-ORD-01 R-ORD-02
TEST(ExploredOrdered, KeepsTheOrderOverEverySchedule) {
  const auto body = [](Simulation&) {
    Nursery nursery;
    auto [jobs, results] = make_ordered<int>(nursery, 1);
    nursery.spawn([jobs = std::move(jobs)]() mutable {
      for (int i = 0; i < 2; ++i) {
        if (!jobs.spawn([i] { return i; })) return;
      }
    });
    int next = 0;
    while (auto result = results.receive(Deadline::after(1h))) {
      EXPECT_EQ(*result, next++);
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(next, 2);
  };
  search_all({}, 1, body);
}

// R-ORD-04
TEST(ExploredOrdered, LeavesNoChildBehindWhenItCloses) {
  search_all({Fault::cancel_at_checkpoint}, 1, [](Simulation&) {
    int ran = 0;
    int sent = 0;
    Nursery nursery;
    auto [jobs, results] = make_ordered<int>(nursery, 1);
    Nursery users;
    users.spawn([&, jobs = std::move(jobs)]() mutable {
      for (int i = 0; i < 2; ++i) {
        sent += jobs.spawn([&ran, i] {
                      ++ran;
                      return i;
                    }).has_value()
                    ? 1
                    : 0;
      }
    });
    users.spawn([results = std::move(results)]() mutable {
      (void)results.receive();
      results.close();
    });
    EXPECT_TRUE(users.join());
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(ran, 2);
    EXPECT_LE(sent, 2);
  });
}

TEST(ExploredBroadcast, LosesNoValueAndNoWake) {
  const auto body = [](Simulation&) {
    Broadcast<int> news(1, OnFull::wait);
    Nursery nursery;
    for (int i = 0; i < 2; ++i) {
      nursery.spawn([mine = news.subscribe()]() mutable {
        int next = 1;
        while (auto value = mine.receive()) EXPECT_EQ(*value, next++);
        EXPECT_EQ(next, 3);
      });
    }
    nursery.spawn([&] {
      EXPECT_TRUE(news.send(1));
      EXPECT_TRUE(news.send(2));
      news.close();
    });
    EXPECT_TRUE(nursery.join());
  };
  search_all({}, 0, body);
  search_all({Fault::spurious_wake}, 0, body);
}

TEST(ExploredBroadcast, GoesOnWhenASubscriberGivesUp) {
  search_all({Fault::cancel_at_checkpoint, Fault::time_passes}, 0,
             [](Simulation&) {
               Broadcast<int> news(1, OnFull::wait);
               auto stays = news.subscribe();
               int sent = 0;
               Nursery nursery;
               nursery.spawn([mine = news.subscribe()]() mutable {
                 (void)mine.receive(Deadline::after(1ms));
               });
               auto sender = nursery.spawn([&] {
                 for (int i = 0; i < 2; ++i) sent += news.send(i) ? 1 : 0;
                 news.close();
               });
               int got = 0;
               while (stays.receive()) ++got;
               if (!sender.wait()) {  // this one was cancelled
                 while (!sender.done()) {
                   if (stays.try_receive()) ++got;
                   this_fiber::yield();
                 }
                 while (stays.try_receive()) ++got;
               }
               EXPECT_TRUE(nursery.join());
               while (stays.try_receive()) ++got;
               EXPECT_EQ(got, sent);
             });
}

TEST(ExploredBroadcast, SelectTakesEachValueOnce) {
  search_all({}, 1, [](Simulation&) {
    Broadcast<int> news(2);
    auto mine = news.subscribe();
    int sum = 0;
    int ends = 0;
    Nursery nursery;
    for (int i = 0; i < 2; ++i) {
      nursery.spawn([&] {
        (void)select(on_receive(mine, [&](Result<int> value) {
          sum += value.value_or(0);
          ends += value ? 0 : 1;
        }));
      });
    }
    nursery.spawn([&] {
      EXPECT_TRUE(news.send(1));
      news.close();
    });
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(sum, 1);
    EXPECT_EQ(ends, 1);
  });
}

TEST(ExploredWatch, LosesNoChangeAndNoWake) {
  const auto body = [](Simulation&) {
    Watch<int> watch(0);
    Nursery nursery;
    nursery.spawn([&] {
      watch.update([](int& value) { ++value; });
      watch.close();
    });
    nursery.spawn([&] {
      std::uint64_t seen = 0;
      int last = -1;
      while (auto value = watch.changed(seen)) {
        EXPECT_GT(*value, last);
        last = *value;
      }
      EXPECT_EQ(last, 1);
    });
    EXPECT_TRUE(nursery.join());
  };
  search_all({}, 1, body);
  search_all({Fault::spurious_wake}, 0, body);
}

TEST(ExploredWatch, IsAsItWasWhenAReaderGivesUp) {
  search_all({Fault::cancel_at_checkpoint, Fault::time_passes}, 1,
             [](Simulation&) {
               Watch<int> watch(0);
               Nursery nursery;
               nursery.spawn([&] { watch.set(7); });
               nursery.spawn([&] {
                 std::uint64_t seen = 1;
                 const auto end = watch.changed(seen, Deadline::after(1ms));
                 EXPECT_EQ(seen, end ? 2u : 1u);
                 EXPECT_EQ(end.value_or(7), 7);
               });
               EXPECT_TRUE(nursery.join());
               EXPECT_EQ(watch.get(), 7);
             });
}

}  // namespace
}  // namespace weft
