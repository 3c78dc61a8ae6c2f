// explored_order_test.cpp: a search without a bound leaves no order out in
// which fibers can come to the same objects.

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <set>

#include <weft/testing.hpp>
#include <weft/weft.hpp>

namespace weft {
namespace {

using testing::explore;
using testing::kNoBound;
using testing::Search;
using testing::Simulation;
using namespace std::chrono_literals;

// One fiber takes from a, then b; another from a, b, and a again. What is
// there once goes to either: four ways.
template <typename T, typename Take, typename... Args>
void expect_all_orders(Take take, Args... args) {
  std::set<unsigned> seen;
  const auto result = explore(
      {.search = Search::exhaustive, .schedules = 20'000, .depth = kNoBound},
      [&](Simulation& sim) {
        T a(args...);
        T b(args...);
        unsigned got = 0;
        Nursery nursery;
        nursery.spawn([&] {
          if (take(a)) got |= 1;
          if (take(b)) got |= 2;
        });
        nursery.spawn([&] {
          if (take(a)) got |= 4;
          if (take(b)) got |= 8;
          if (take(a)) got |= 16;
        });
        sim.check(bool(nursery.join()), "both end");
        seen.insert(got);
      });
  EXPECT_TRUE(result.complete) << result;
  EXPECT_EQ(seen, (std::set<unsigned>{1 | 2, 1 | 8, 4 | 2, 4 | 8}));
}

TEST(ExploredOrder, OfASemaphore) {
  expect_all_orders<Semaphore>(
      [](Semaphore& semaphore) {
        return bool(semaphore.acquire(Deadline::after(-1s)));
      },
      1);
}

TEST(ExploredOrder, OfAOnce) {
  expect_all_orders<Once>([](Once& once) {
    bool mine = false;
    EXPECT_TRUE(once.call([&] { mine = true; }));
    return mine;
  });
}

// One value, and no other will come.
class Stocked {
 public:
  Stocked() { EXPECT_TRUE(channel_.sender.send(1)); }
  bool receive() {
    return bool(channel_.receiver.receive(Deadline::after(-1s)));
  }
  bool receive_by_select() {
    bool got = false;
    EXPECT_TRUE(select(
        on_receive(channel_.receiver, [&](Result<int> end) { got = !!end; }),
        otherwise([] {})));
    return got;
  }

 private:
  Channel<int> channel_ = make_channel<int>(1);
};

TEST(ExploredOrder, OfAChannel) {
  expect_all_orders<Stocked>(
      [](Stocked& stocked) { return stocked.receive(); });
  expect_all_orders<Stocked>(
      [](Stocked& stocked) { return stocked.receive_by_select(); });
}

// What is there once, under a lock that is free again.
template <typename Lock>
class Kept {
 public:
  bool take() {
    auto held = lock_.acquire(Deadline::after(-1s));
    if (!held) return false;
    if (taken_) return false;
    return taken_ = true;
  }

 private:
  Lock lock_;
  bool taken_ = false;  // guarded by lock_
};

TEST(ExploredOrder, OfLocks) {
  const auto take = [](auto& kept) { return kept.take(); };
  expect_all_orders<Kept<Mutex>>(take);
  expect_all_orders<Kept<FairMutex>>(take);
  expect_all_orders<Kept<SharedMutex>>(take);
}

}  // namespace
}  // namespace weft
