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

class WaitGroupTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, WaitGroupTest, ::testing::Values(1u, 2u, 4u));

TEST_P(WaitGroupTest, DoesNotWaitForNothing) {
  in_fiber([] {
    WaitGroup group;
    EXPECT_TRUE(group.wait());
    group.add(0);
    group.add();
    group.done();
    EXPECT_TRUE(group.wait(Deadline::after(-1s)));
  });
}

// R-FUT-01
TEST_P(WaitGroupTest, WaitsUntilAllIsDone) {
  in_fiber([] {
    constexpr int kFibers = 20;
    WaitGroup group;
    std::vector<int> plain(kFibers);
    Nursery nursery;
    for (int round = 1; round <= 20; ++round) {  // used again
      group.add(kFibers);
      for (std::size_t i = 0; i < kFibers; ++i) {
        nursery.spawn([&, i, round] {
          if (i % 3 == 0) this_fiber::yield();
          plain[i] = round;
          group.done();
        });
      }
      EXPECT_TRUE(group.wait());
      for (const int one : plain) EXPECT_EQ(one, round);
    }
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(WaitGroupTest, WakesAllWhoWait) {
  in_fiber([] {
    WaitGroup group;
    group.add(2);
    Nursery nursery;
    std::vector<Task<>> waiters;
    for (int i = 0; i < 20; ++i) {
      waiters.push_back(nursery.spawn([&] { EXPECT_TRUE(group.wait()); }));
    }
    for (auto& waiter : waiters) await_parked(waiter);
    group.done();
    group.add(3);
    group.add(-3);
    for (auto& waiter : waiters) EXPECT_FALSE(waiter.done());
    group.done();
    EXPECT_TRUE(nursery.join());
  });
}

// R-TIMER-03
TEST_P(WaitGroupTest, IsAsItWasWhenAWaitEndsEarly) {
  in_fiber([] {
    WaitGroup group;
    group.add();
    EXPECT_EQ(group.wait(Deadline::after(1us)).error(), Errc::timed_out);
    EXPECT_EQ(group.wait(Deadline::after(-1s)).error(), Errc::timed_out);
    Nursery nursery;
    auto first = nursery.spawn(
        [&] { EXPECT_EQ(group.wait().error(), Errc::cancelled); });
    auto second = nursery.spawn([&] { EXPECT_TRUE(group.wait()); });
    await_parked(first);
    await_parked(second);
    first.cancel();
    EXPECT_TRUE(first.join());
    EXPECT_FALSE(second.done());
    group.done();
    EXPECT_TRUE(second.join());
    as_cancelled([&] { EXPECT_EQ(group.wait().error(), Errc::cancelled); });
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(WaitGroupTest, MayGoAsSoonAsAWaitHasReturned) {
  in_fiber([] {
    for (int i = 0; i < 1'000; ++i) {
      auto group = std::make_unique<WaitGroup>();
      group->add(2);
      Nursery nursery;
      for (int n = 0; n < 2; ++n) {
        nursery.spawn([it = group.get()] { it->done(); });
      }
      ASSERT_TRUE(group->wait());
      group.reset();
      EXPECT_TRUE(nursery.join());
    }
  });
}

TEST_P(WaitGroupTest, ServesThreadsAndFibersTogether) {
  for (int round = 0; round < 100; ++round) {
    WaitGroup group;
    std::atomic<int> count{0};
    group.add(4);
    const auto work = [&] {
      ++count;
      group.done();
    };
    Nursery nursery(runtime());
    nursery.spawn(work);
    nursery.spawn(work);
    std::thread first(work);
    std::thread second(work);
    EXPECT_TRUE(group.wait());
    EXPECT_EQ(count, 4);
    first.join();
    second.join();
    EXPECT_TRUE(nursery.join());
  }
}

}  // namespace
}  // namespace weft
