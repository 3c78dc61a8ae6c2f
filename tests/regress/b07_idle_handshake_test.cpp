// B-07: a fiber was queued just as the last worker went to sleep; neither saw
// the other, and all slept beside the work.

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <utility>

#include "base/atomic.hpp"
#include "base/rng.hpp"
#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include "unit/sched/hold_worker.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class IdleHandshakeTest : public test::WorkersTest {};

// A pause of 0 to 4000 turns: finds the workers at every step on their way to
// sleep.
void linger(base::Rng& rng) {
  const auto turns = rng.below(4000);
  for (std::uint32_t i = 0; i < turns; ++i) weft::pause();
}

// R-RUNQ-20 R-RUNQ-23
TEST_P(IdleHandshakeTest, ATrickleFromOutsideWakesTheSleepers) {
  base::Rng rng(7);
  Nursery nursery(runtime());
  const int rounds = test::scaled(10'000);
  for (int i = 0; i < rounds; ++i) {
    ASSERT_EQ(nursery.spawn([i] { return i; }).join().value(), i);
    linger(rng);
  }
  EXPECT_TRUE(nursery.join());
}

// R-RUNQ-20 R-RUNQ-23: the spawner keeps its worker; another must come.
TEST_P(IdleHandshakeTest, ATrickleFromABusyWorkerWakesTheSleepers) {
  if (GetParam() < 2) return;
  const int rounds = test::scaled(5'000);
  in_fiber([&] {
    base::Rng rng(8);
    Nursery nursery;
    std::atomic<int> ran{0};
    for (int i = 0; i < rounds; ++i) {
      nursery.spawn([&ran] { ++ran; });
      test::hold_worker_until([&] { return ran > i; });
      linger(rng);
    }
    EXPECT_TRUE(nursery.join());
  });
}

// The same with a fiber that was parked and is woken.
TEST_P(IdleHandshakeTest, AWakeFromOutsideWakesTheSleepers) {
  const int rounds = test::scaled(5'000);
  struct Flag {
    SpinLock lock;
    WaitList waiters;
    bool set = false;

    bool try_complete(Waiter&) noexcept {
      std::lock_guard hold(lock);
      return std::exchange(set, false);
    }
    bool publish(Waiter& waiter) noexcept {
      std::lock_guard hold(lock);
      waiters.push_back(waiter);
      if (set) waiters.wake_one();
      return true;
    }
    void unpublish(Waiter& waiter) noexcept {
      std::lock_guard hold(lock);
      waiters.remove(waiter);
    }
    void raise() {
      std::lock_guard hold(lock);
      set = true;
      waiters.wake_one();
    }
  } ping, pong;
  Nursery nursery(runtime());
  nursery.spawn([&] {
    for (int i = 0; i < rounds; ++i) {
      ASSERT_TRUE(weft::wait(ping));
      pong.raise();
    }
  });
  base::Rng rng(9);
  for (int i = 0; i < rounds; ++i) {
    linger(rng);
    ping.raise();
    ASSERT_TRUE(weft::wait(pong));
  }
  EXPECT_TRUE(nursery.join());
}

INSTANTIATE_TEST_SUITE_P(Workers, IdleHandshakeTest,
                         ::testing::Values(1u, 2u, 4u));

}  // namespace
}  // namespace weft
