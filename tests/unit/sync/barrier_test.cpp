#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::as_cancelled;
using test::await_parked;
using test::WorkersTest;
using namespace std::chrono_literals;

class BarrierTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, BarrierTest, ::testing::Values(1u, 2u, 4u));

TEST_P(BarrierTest, IsNoneForOne) {
  in_fiber([] {
    Barrier barrier(1);
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(barrier.arrive_and_wait().value());
    }
  });
}

// R-FUT-01
TEST_P(BarrierTest, LetsAllGoInRoundsAndTellsTheLast) {
  in_fiber([] {
    constexpr int kParties = 5;
    const int rounds = explored() ? 10 : 100;
    Barrier barrier(kParties);
    std::vector<int> progress(kParties);  // plain, each written by its own
    std::atomic<int> last{0};
    Nursery nursery;
    for (std::size_t i = 0; i < kParties; ++i) {
      nursery.spawn([&, i] {
        for (int round = 1; round <= rounds; ++round) {
          progress[i] = round;
          last += barrier.arrive_and_wait().value();
          for (const int one : progress) EXPECT_EQ(one, round);
          last += barrier.arrive_and_wait().value();  // all have looked
        }
      });
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(last, 2 * rounds);
  });
}

TEST_P(BarrierTest, IsPassedByTheOthersWhenOneDropsOut) {
  in_fiber([] {
    Barrier barrier(3);
    Nursery nursery;
    std::vector<Task<>> parties;
    for (int i = 0; i < 2; ++i) {
      parties.push_back(nursery.spawn([&] {
        EXPECT_FALSE(barrier.arrive_and_wait().value());  // it is the one who
        EXPECT_TRUE(barrier.arrive_and_wait());           // drops that ends it
      }));
    }
    for (auto& party : parties) await_parked(party);
    barrier.arrive_and_drop();
    EXPECT_TRUE(nursery.join());
    barrier.arrive_and_drop();
    EXPECT_TRUE(barrier.arrive_and_wait().value());  // one is left
    barrier.arrive_and_drop();
  });
}

// R-TIMER-03
TEST_P(BarrierTest, TakesBackAnArrivalThatTimedOut) {
  in_fiber([] {
    Barrier barrier(2);
    for (const auto when : {Deadline::after(1us), Deadline::after(-1s)}) {
      EXPECT_EQ(barrier.arrive_and_wait(when).error(), Errc::timed_out);
    }
    Nursery nursery;
    auto first =
        nursery.spawn([&] { EXPECT_FALSE(barrier.arrive_and_wait().value()); });
    await_parked(first);  // it is not the second
    EXPECT_TRUE(barrier.arrive_and_wait(Deadline::after(-1s)).value());
    EXPECT_TRUE(first.join());
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(BarrierTest, TakesBackAnArrivalThatWasCancelled) {
  in_fiber([] {
    Barrier barrier(3);
    Nursery nursery;
    auto gone = nursery.spawn(
        [&] { EXPECT_EQ(barrier.arrive_and_wait().error(), Errc::cancelled); });
    await_parked(gone);
    auto stays =
        nursery.spawn([&] { EXPECT_FALSE(barrier.arrive_and_wait().value()); });
    await_parked(stays);
    gone.cancel();
    EXPECT_TRUE(gone.join());
    as_cancelled(
        [&] { EXPECT_EQ(barrier.arrive_and_wait().error(), Errc::cancelled); });
    auto second =
        nursery.spawn([&] { EXPECT_FALSE(barrier.arrive_and_wait().value()); });
    await_parked(second);  // two are here
    EXPECT_FALSE(stays.done());
    EXPECT_TRUE(barrier.arrive_and_wait().value());
    EXPECT_TRUE(nursery.join());
  });
}

// Either all of a round have come, or who gave up was not of it.
TEST_P(BarrierTest, EndsOneWayWhenADeadlineRacesWithTheLastArrival) {
  in_fiber([] {
    for (int i = 0; i < 300; ++i) {
      Barrier barrier(2);
      Nursery nursery;
      auto hasty = nursery.spawn([&, i] {
        const auto end = barrier.arrive_and_wait(
            Deadline::after(std::chrono::nanoseconds(200 * i)));
        EXPECT_TRUE(end || end.error() == Errc::timed_out);
        if (!end) (void)barrier.arrive_and_wait().value();
        return end && *end;
      });
      const auto mine = barrier.arrive_and_wait();
      ASSERT_TRUE(mine);
      const auto other = hasty.join();
      ASSERT_TRUE(other);
      ASSERT_FALSE(*mine && *other);
      EXPECT_TRUE(nursery.join());
    }
  });
}

TEST_P(BarrierTest, MayGoAsSoonAsAWaitHasReturned) {
  in_fiber([] {
    for (int i = 0; i < 500; ++i) {
      auto barrier = std::make_unique<Barrier>(2);
      Nursery nursery;
      nursery.spawn([it = barrier.get()] { it->arrive_and_drop(); });
      ASSERT_TRUE(barrier->arrive_and_wait());
      barrier.reset();
      EXPECT_TRUE(nursery.join());
    }
  });
}

TEST_P(BarrierTest, ServesThreadsAndFibersTogether) {
  constexpr int kRounds = 200;
  Barrier barrier(4);
  std::atomic<int> last{0};
  const auto work = [&] {
    for (int i = 0; i < kRounds; ++i) {
      last += barrier.arrive_and_wait().value();
    }
  };
  Nursery nursery(runtime());
  nursery.spawn(work);
  nursery.spawn(work);
  std::thread first(work);
  std::thread second(work);
  first.join();
  second.join();
  EXPECT_TRUE(nursery.join());
  EXPECT_EQ(last, kRounds);
}

}  // namespace
}  // namespace weft
