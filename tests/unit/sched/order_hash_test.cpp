// The order of a simulated program is a function of its seed: on every machine,
// for every compiler, with and without optimization.

#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "sched/simulator.hpp"
#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using namespace std::chrono_literals;

class OrderHashTest : public test::RuntimeTest {};

// Lets so many in at once.
class Permits {
 public:
  explicit Permits(int count) : left_(count) {}
  void take() { EXPECT_TRUE(weft::wait(*this)); }
  void give() {
    std::lock_guard hold(lock_);
    ++left_;
    waiters_.wake_one();
  }

  bool try_complete(Waiter&) noexcept {
    std::lock_guard hold(lock_);
    if (left_ == 0) return false;
    --left_;
    return true;
  }
  bool publish(Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    waiters_.push_back(waiter);
    if (left_ != 0) waiters_.wake_one();
    return true;
  }
  void unpublish(Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    waiters_.remove(waiter);
  }

 private:
  SpinLock lock_;
  WaitList waiters_;  // guarded by lock_
  int left_;          // guarded by lock_
};

// A tree of that many fibers; each does one thing of its own.
class Forest {
 public:
  unsigned grown() const { return grown_; }

  void grow(unsigned fibers) {
    const auto number = ++grown_;
    Nursery children;
    constexpr unsigned kChildren = 5;
    unsigned left = fibers - 1;
    for (unsigned i = 0; i < kChildren && left != 0; ++i) {
      const auto share = (left + kChildren - i - 1) / (kChildren - i);
      left -= share;
      children.spawn([this, share] { grow(share); });
    }
    work(number);
    EXPECT_TRUE(children.join());
  }

 private:
  void work(unsigned number) {
    if (number % 50 == 0) {
      const this_fiber::Pin pin;
      EXPECT_TRUE(this_fiber::checkpoint());
    }
    switch (number % 4) {
      case 0:
        this_fiber::yield();
        this_fiber::yield();
        break;
      case 1:
        EXPECT_TRUE(this_fiber::sleep_for(1ms * (number % 97)));
        break;
      case 2:
        permits_.take();
        this_fiber::yield();
        permits_.give();
        break;
      default:
        break;
    }
  }

  unsigned grown_ = 0;
  Permits permits_{4};
};

std::uint64_t hash_of(std::uint64_t seed, unsigned fibers) {
  auto runtime = Runtime::start({.workers = 4,
                                 .stack_size = StackSize{64 << 10},
                                 .deterministic_seed = seed});
  EXPECT_TRUE(runtime);
  Forest forest;
  EXPECT_TRUE(runtime->run([&] { forest.grow(fibers); }));
  EXPECT_EQ(forest.grown(), fibers);
  return sched::Simulator::here()->order_hash();
}

TEST_F(OrderHashTest, IsTheSameEverywhere) {
  EXPECT_EQ(hash_of(1, 500), 0xced68e0122a373c1u);
}

#if !defined(WEFT_TEST_TSAN)  // ten thousand stacks take it a minute
TEST_F(OrderHashTest, IsTheSameEverywhereForTenThousandFibers) {
  EXPECT_EQ(hash_of(1, 10'000), 0xef3fec0d43b96f92u);
}
#endif

TEST_F(OrderHashTest, IsTheSameInAHundredRuns) {
  const auto fibers = static_cast<unsigned>(test::scaled(2'000));
  const auto first = hash_of(7, fibers);
  for (int i = 1; i < test::scaled(100); ++i) {
    ASSERT_EQ(hash_of(7, fibers), first);
  }
}

TEST_F(OrderHashTest, DiffersBySeed) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    hashes.insert(hash_of(seed, 100));
  }
  EXPECT_EQ(hashes.size(), 50u);
}

}  // namespace
}  // namespace weft
