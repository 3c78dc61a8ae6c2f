// B-35: a waker read the node after it had said that it was done with it; the
// owner had returned, and its stack was another's.

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "base/rng.hpp"
#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include "wait/park.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class GoneNodeTest : public test::RuntimeTest {};

// A place for one waiter; each wake is one turn.
struct Place {
  SpinLock lock;
  WaitList waiters;  // guarded by lock
  int turns = 0;     // guarded by lock
  int given = 0;     // guarded by lock

  bool try_complete(Waiter&) noexcept {
    std::lock_guard hold(lock);
    if (turns == 0) return false;
    --turns;
    return true;
  }
  bool publish(Waiter& waiter) noexcept {
    std::lock_guard hold(lock);
    waiters.push_back(waiter);
    if (turns > 0) waiters.wake_one();
    return true;
  }
  void unpublish(Waiter& waiter) noexcept {
    std::lock_guard hold(lock);
    waiters.remove(waiter);
  }
  // One turn, if the last one was taken and one of `most` is left.
  void give(int most) {
    std::lock_guard hold(lock);
    if (turns != 0 || given == most) return;
    ++turns;
    ++given;
    waiters.wake_one();
  }
};

// The stack frame in which the node lives, gone when it returns.
[[gnu::noinline]] Status wait_in_a_frame(Place& place, Deadline deadline) {
  return weft::wait(place, deadline);
}

// Something else where the node was.
[[gnu::noinline]] void scribble() {
  volatile std::uint64_t room[64];
  for (auto& word : room) word = ~std::uint64_t{0};
}

// R-TICKET-03 R-PARK-02 R-WAITABLE-03
TEST_F(GoneNodeTest, WakersLeaveTheNodeAloneOnceItsOwnerMayGo) {
  Runtime runtime = start(2);
  constexpr int kPlaces = 8;
  const int rounds = test::scaled(1'000);
  std::vector<Place> places(kPlaces);
  struct Known {
    waiting::ParkHandle handle;
    std::atomic<bool> set{false};
  };
  std::vector<Known> fibers(kPlaces);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      base::Rng rng(static_cast<std::uint64_t>(i));
      while (!stop) {
        const auto which = rng.below(kPlaces);
        if (i == 0) {
          places[which].give(rounds);
        } else if (fibers[which].set) {
          waiting::unpark(fibers[which].handle);  // a return for nothing
        }
      }
    });
  }
  const auto end = runtime.run([&](Nursery& nursery) {
    for (int i = 0; i < kPlaces; ++i) {
      nursery.spawn([&, i] {
        auto& place = places[static_cast<std::size_t>(i)];
        auto& known = fibers[static_cast<std::size_t>(i)];
        known.handle = waiting::park_handle();
        known.set = true;
        for (int taken = 0; taken < rounds;) {
          // Every fourth wait has a deadline that is as good as past.
          const auto deadline =
              taken % 4 == 0 ? Deadline::after(std::chrono::microseconds(5))
                             : Deadline::never();
          const auto woken = wait_in_a_frame(place, deadline);
          scribble();
          if (woken) {
            ++taken;
          } else {
            ASSERT_EQ(woken.error(), Errc::timed_out);
          }
        }
      });
    }
  });
  stop = true;
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(end);
  expect_empty(runtime);
}

}  // namespace
}  // namespace weft
