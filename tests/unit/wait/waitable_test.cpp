#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "support/gate.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Gate;
using test::WorkersTest;
using namespace std::chrono_literals;

// A queue of numbers, the simplest primitive of one's own; counts its calls.
class Numbers {
 public:
  void put(int number) {
    std::lock_guard hold(lock_);
    numbers_.push_back(number);
    waiters_.wake_one(WakeReason::data);
  }
  void close() {
    std::lock_guard hold(lock_);
    closed_ = true;
    waiters_.wake_all(WakeReason::close);
  }
  Result<int> take(Deadline deadline = Deadline::never()) {
    int number = 0;
    if (Status end = weft::wait(*this, number, deadline); !end) {
      return end.error();
    }
    return number;
  }
  // Wakes somebody for nothing.
  void disturb() {
    std::lock_guard hold(lock_);
    waiters_.wake_one();
  }
  bool nobody_waits() {
    std::lock_guard hold(lock_);
    return waiters_.empty();
  }

  bool try_complete(Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    ++tries;
    if (numbers_.empty()) return false;
    waiter.slot<int>() = numbers_.front();
    numbers_.pop_front();
    return true;
  }
  bool publish(Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    ++publishes;
    if (closed_) return false;
    waiters_.push_back(waiter);
    if (!numbers_.empty()) waiters_.wake_one();  // the re-check
    return true;
  }
  void unpublish(Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    ++unpublishes;
    waiters_.remove(waiter);
    waiters_.remove(waiter);  // idempotent
  }

  int tries = 0;  // guarded by lock_, like the rest
  int publishes = 0;
  int unpublishes = 0;

 private:
  SpinLock lock_;
  WaitList waiters_;
  std::deque<int> numbers_;
  bool closed_ = false;
};

class WaitableTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, WaitableTest, ::testing::Values(1u, 2u, 4u));

// R-WAITABLE-01 R-WAITABLE-04 R-PARK-03
TEST_P(WaitableTest, CompletesWithoutParkingIfItCan) {
  in_fiber([&] {
    Numbers numbers;
    numbers.put(7);
    EXPECT_EQ(numbers.take().value(), 7);
    EXPECT_EQ(numbers.tries, 1);
    EXPECT_EQ(numbers.publishes, 0);
    EXPECT_EQ(numbers.unpublishes, 0);
  });
}

// R-WAITABLE-01 R-WAITABLE-04 R-PARK-07
TEST_P(WaitableTest, TriesPublishesParksAndTriesAgain) {
  in_fiber([&] {
    Numbers numbers;
    Nursery nursery;
    auto taker = nursery.spawn([&] { return numbers.take(); });
    while (numbers.nobody_waits()) this_fiber::yield();
    numbers.put(8);
    EXPECT_EQ(taker.join().value(), 8);
    EXPECT_EQ(numbers.tries, 2);
    EXPECT_EQ(numbers.publishes, 1);
    EXPECT_EQ(numbers.unpublishes, 1);
    EXPECT_TRUE(nursery.join());
  });
}

// R-WAITABLE-02 R-WAITABLE-06
TEST_P(WaitableTest, LosesNoWakeBetweenPublishAndPark) {
  struct WokenAtOnce {
    SpinLock lock;
    WaitList waiters;
    bool done = false;
    bool try_complete(Waiter&) noexcept { return done; }
    bool publish(Waiter& waiter) noexcept {
      std::lock_guard hold(lock);
      waiters.push_back(waiter);
      done = true;
      return waiters.wake_one();  // before it could park
    }
    void unpublish(Waiter& waiter) noexcept {
      std::lock_guard hold(lock);
      waiters.remove(waiter);
    }
  };
  in_fiber([&] {
    WokenAtOnce waitable;
    EXPECT_TRUE(weft::wait(waitable));
  });
  WokenAtOnce waitable;
  EXPECT_TRUE(weft::wait(waitable));  // a plain thread, too
}

// R-PARK-02
TEST_P(WaitableTest, WaitsOnWhenWokenForNothing) {
  in_fiber([&] {
    Numbers numbers;
    Nursery nursery;
    auto taker = nursery.spawn([&] { return numbers.take(); });
    for (int i = 0; i < 10; ++i) {
      while (numbers.nobody_waits()) this_fiber::yield();
      numbers.disturb();
    }
    while (numbers.nobody_waits()) this_fiber::yield();
    EXPECT_FALSE(taker.done());
    numbers.put(9);
    EXPECT_EQ(taker.join().value(), 9);
    EXPECT_TRUE(nursery.join());
  });
}

// R-WAITABLE-04 R-WAITABLE-07
TEST_P(WaitableTest, FailsWithClosedIfPublishRefuses) {
  in_fiber([&] {
    Numbers numbers;
    numbers.close();
    EXPECT_EQ(numbers.take().error(), Errc::closed);
    EXPECT_EQ(numbers.unpublishes, 0);
  });
}

// R-WAITABLE-07 R-TIMER-03
TEST_P(WaitableTest, TimesOutAndIsUnlinked) {
  in_fiber([&] {
    Numbers numbers;
    EXPECT_EQ(numbers.take(Deadline::after(1us)).error(), Errc::timed_out);
    EXPECT_TRUE(numbers.nobody_waits());
    numbers.put(3);
    EXPECT_EQ(numbers.take(Deadline::after(1us)).value(), 3);
  });
}

// R-TIMER-03
TEST_P(WaitableTest, TimesOutAtOnceIfTheDeadlineHasPassed) {
  in_fiber([&] {
    Numbers numbers;
    for (const auto when : {Deadline::after(-1s), Deadline(Clock::now()),
                            Deadline(Clock::time_point{})}) {
      EXPECT_EQ(numbers.take(when).error(), Errc::timed_out);
    }
    EXPECT_TRUE(numbers.nobody_waits());
    numbers.put(4);  // what is there is taken all the same
    EXPECT_EQ(numbers.take(Deadline::after(-1s)).value(), 4);
  });
}

// R-WAITABLE-07 R-TRANS-03
TEST_P(WaitableTest, IsCancelledAndUnlinked) {
  in_fiber([&] {
    Numbers numbers;
    Nursery nursery;
    auto taker = nursery.spawn([&] { return numbers.take(); });
    while (numbers.nobody_waits()) this_fiber::yield();
    taker.cancel();
    EXPECT_EQ(taker.join().error(), Errc::cancelled);
    EXPECT_TRUE(numbers.nobody_waits());
    EXPECT_TRUE(nursery.join());  // told to: no failure of the nursery
  });
}

// R-UNPARK-07
TEST_P(WaitableTest, EndsOneWayWhenCancelRacesWithData) {
  in_fiber([&] {
    int values = 0;
    int cancels = 0;
    constexpr int kRounds = 500;
    for (int i = 0; i < kRounds; ++i) {
      Numbers numbers;
      Nursery nursery;
      auto taker = nursery.spawn([&] { return numbers.take(); });
      auto giver = nursery.spawn([&] { numbers.put(1); });
      taker.cancel();
      EXPECT_TRUE(giver.join());
      const auto got = taker.join();
      values += got.has_value();
      cancels += !got && got.error() == Errc::cancelled;
      EXPECT_TRUE(numbers.nobody_waits());
      EXPECT_TRUE(nursery.join());
    }
    EXPECT_EQ(values + cancels, kRounds);
  });
}

// R-PARK-08: before its publish the wait is refused, after it woken.
TEST_P(WaitableTest, EndsOneWayWhenCloseRacesWithItsPublish) {
  in_fiber([&] {
    constexpr int kRounds = 500;
    for (int i = 0; i < kRounds; ++i) {
      Numbers numbers;
      Nursery nursery({.on_failure = OnFailure::wait_for_all});
      auto taker = nursery.spawn([&] { return numbers.take(); });
      auto giver = nursery.spawn([&, i] {
        if (i % 2 == 0) numbers.put(1);
        numbers.close();
      });
      EXPECT_TRUE(giver.join());
      const auto got = taker.join();
      const auto left = numbers.take();
      (void)nursery.join();  // closed counts as a failure of the child
      // What was put is taken once, by either; who got nothing was told so.
      EXPECT_EQ(got.has_value() + left.has_value(), i % 2 == 0 ? 1 : 0);
      for (const auto& end : {got, left}) {
        EXPECT_TRUE(end.has_value() || end.error() == Errc::closed);
      }
      EXPECT_TRUE(numbers.nobody_waits());
    }
  });
}

// R-TIMER-03
TEST_P(WaitableTest, EndsOneWayWhenADeadlineRacesWithData) {
  in_fiber([&] {
    constexpr int kRounds = 500;
    int values = 0;
    int left = 0;
    for (int i = 0; i < kRounds; ++i) {
      Numbers numbers;
      Nursery nursery({.on_failure = OnFailure::wait_for_all});
      auto taker = nursery.spawn([&numbers, i] {
        return numbers.take(Deadline::after(std::chrono::microseconds(i % 20)));
      });
      auto giver = nursery.spawn([&] { numbers.put(1); });
      values += taker.join().has_value();
      EXPECT_TRUE(giver.join());
      (void)nursery.join();  // timed_out counts as a failure of the child
      left += numbers.take(Deadline::after(-1s)).has_value();
      EXPECT_TRUE(numbers.nobody_waits());
    }
    EXPECT_EQ(values + left, kRounds);  // none lost, none twice
  });
}

// R-TICKET-01
TEST_P(WaitableTest, ServesManyWaitersOnceEach) {
  in_fiber([&] {
    constexpr int kTakers = 200;
    Numbers numbers;
    Nursery nursery;
    std::vector<Task<int>> takers;
    for (int i = 0; i < kTakers; ++i) {
      takers.push_back(nursery.spawn([&] { return numbers.take(); }));
    }
    std::int64_t sum = 0;
    for (int i = 1; i <= kTakers; ++i) numbers.put(i);
    for (auto& taker : takers) sum += taker.join().value();
    EXPECT_EQ(sum, std::int64_t{kTakers} * (kTakers + 1) / 2);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(WaitableTest, ServesPlainThreadsOnBothSides) {
  Numbers to_fiber;
  Numbers to_thread;
  Nursery all(runtime());
  constexpr int kRounds = 500;
  all.spawn([&] {
    for (int i = 0; i < kRounds; ++i) {
      EXPECT_EQ(to_fiber.take().value(), i);
      to_thread.put(-i);
    }
  });
  std::thread thread([&] {
    for (int i = 0; i < kRounds; ++i) {
      to_fiber.put(i);
      EXPECT_EQ(to_thread.take().value(), -i);
    }
    EXPECT_EQ(to_thread.take(Deadline::after(1us)).error(), Errc::timed_out);
    EXPECT_EQ(to_thread.take(Deadline::after(-1s)).error(), Errc::timed_out);
  });
  thread.join();
  EXPECT_TRUE(all.join());
  EXPECT_TRUE(to_thread.nobody_waits());
}

TEST_P(WaitableTest, ServesPlainThreadsWithoutAnyFiber) {
  Numbers numbers;
  constexpr int kRounds = 500;
  std::thread giver([&] {
    for (int i = 0; i < kRounds; ++i) numbers.put(i);
  });
  for (int i = 0; i < kRounds; ++i) EXPECT_EQ(numbers.take().value(), i);
  giver.join();
}

// Tells the waiter why it was woken.
class Reasons {
 public:
  bool try_complete(Waiter& waiter) noexcept {
    seen = waiter.reason();
    return seen != WakeReason::none;
  }
  bool publish(Waiter& waiter) noexcept {
    std::lock_guard hold(lock);
    waiters.push_back(waiter);
    return true;
  }
  void unpublish(Waiter& waiter) noexcept {
    std::lock_guard hold(lock);
    waiters.remove(waiter);
  }
  SpinLock lock;
  WaitList waiters;
  WakeReason seen = WakeReason::none;
};

// R-UNPARK-01 R-MEMORD-01
TEST_P(WaitableTest, TellsTheReasonOfItsWake) {
  in_fiber([&] {
    for (const auto reason : {WakeReason::data, WakeReason::cancel,
                              WakeReason::close, WakeReason::signal}) {
      Reasons reasons;
      Nursery nursery;
      auto waiter = nursery.spawn([&]() -> Status { return wait(reasons); });
      for (bool woken = false; !woken;) {
        this_fiber::yield();
        std::lock_guard hold(reasons.lock);
        woken = reasons.waiters.wake_one(reason);
      }
      EXPECT_TRUE(waiter.join());
      EXPECT_EQ(reasons.seen, reason);
      EXPECT_TRUE(nursery.join());
    }
  });
}

}  // namespace
}  // namespace weft
