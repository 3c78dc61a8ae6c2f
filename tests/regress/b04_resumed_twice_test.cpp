// B-04: a fiber was published as parked while it was still on its stack; a
// waker resumed it elsewhere, so two workers ran on one stack.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include "wait/park.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class ResumedTwiceTest : public test::RuntimeTest {};

// The delay between publishing and leaving the stack, made as long as it takes:
// publish() returns only after the wake has come.
class WokenTooEarly {
 public:
  bool try_complete(Waiter&) noexcept { return state_.load() == State::woken; }
  bool publish(Waiter& waiter) noexcept {
    lock_.lock();
    waiters_.push_back(waiter);
    lock_.unlock();
    state_ = State::asked;
    while (state_ == State::asked) std::this_thread::yield();
    return true;
  }
  void unpublish(Waiter& waiter) noexcept {
    lock_.lock();
    waiters_.remove(waiter);
    lock_.unlock();
  }

  // The waker. False: nobody asked.
  bool wake() {
    if (state_ != State::asked) return false;
    lock_.lock();
    EXPECT_TRUE(waiters_.wake_one());
    lock_.unlock();
    state_ = State::woken;
    return true;
  }

 private:
  enum class State { idle, asked, woken };
  std::atomic<State> state_{State::idle};
  SpinLock lock_;
  WaitList waiters_;
};

// R-PARK-06 R-UNPARK-04
TEST_F(ResumedTwiceTest, AWakeBeforeTheStackIsLeftResumesOnce) {
  Runtime runtime = start(2);
  const int rounds = test::scaled(5'000);
  const auto end = runtime.run([rounds] {
    for (int i = 0; i < rounds; ++i) {
      WokenTooEarly early;
      std::atomic<int> resumed{0};
      Nursery nursery;
      nursery.spawn([&] {
        EXPECT_TRUE(weft::wait(early));
        ++resumed;
      });
      nursery.spawn([&] {
        while (!early.wake()) this_fiber::yield();
      });
      ASSERT_TRUE(nursery.join());
      ASSERT_EQ(resumed, 1);
    }
  });
  EXPECT_TRUE(end);
  expect_empty(runtime);
}

// R-PARK-06 R-PARK-09 R-UNPARK-02: wakers hit every moment of a park.
TEST_F(ResumedTwiceTest, AStormOfUnparksRunsAFiberOnOneWorkerAtATime) {
  Runtime runtime = start(4);
  const int rounds = test::scaled(20'000);
  constexpr int kFibers = 4;
  std::atomic<bool> stop{false};
  struct Parker {
    waiting::ParkHandle handle;
    std::atomic<bool> known{false};  // handle is set, and stays good
    Atomic<std::uint32_t> never{0};
    std::atomic<int> inside{0};
  };
  std::vector<Parker> parkers(kFibers);
  std::vector<std::thread> wakers;
  for (int i = 0; i < 2; ++i) {
    wakers.emplace_back([&] {
      while (!stop) {
        for (auto& parker : parkers) {
          if (parker.known) waiting::unpark(parker.handle);
        }
      }
    });
  }
  const auto end = runtime.run([&](Nursery& nursery) {
    for (auto& parker : parkers) {
      nursery.spawn([&parker, rounds] {
        parker.handle = waiting::park_handle();
        parker.known = true;
        for (int i = 0; i < rounds; ++i) {
          ASSERT_EQ(parker.inside.fetch_add(1), 0);
          parker.inside.fetch_sub(1);
          ASSERT_TRUE(waiting::park_if(parker.never, 0));
        }
      });
    }
  });
  stop = true;
  for (auto& waker : wakers) waker.join();
  EXPECT_TRUE(end);
  expect_empty(runtime);
}

}  // namespace
}  // namespace weft
