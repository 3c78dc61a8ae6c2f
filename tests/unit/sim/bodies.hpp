// bodies.hpp: small bodies that fail, each for one reason.
#pragma once

#include <mutex>

#include <weft/testing.hpp>
#include <weft/wait.hpp>

namespace weft::test {

// Two fibers add one each, by a load and a store: one preemption between them
// loses one.
inline void lose_update(testing::Simulation& sim) {
  testing::Atomic<int> sum{0};
  Nursery nursery;
  for (int i = 0; i < 2; ++i) {
    nursery.spawn([&sum] {
      const int before = sum.load();
      sum.store(before + 1);
    });
  }
  (void)nursery.join();
  sim.check(sum.load() == 2, "both count");
}

// The same, right.
inline void keep_update(testing::Simulation& sim) {
  testing::Atomic<int> sum{0};
  Nursery nursery;
  for (int i = 0; i < 2; ++i) {
    nursery.spawn([&sum] { sum.fetch_add(1); });
  }
  (void)nursery.join();
  sim.check(sum.load() == 2, "both count");
}

// A gate that opens without a word if nobody waits yet: who looked before and
// is linked afterwards sleeps for ever.
class DeafGate {
 public:
  Status pass(Deadline deadline = Deadline::never()) {
    return weft::wait(*this, deadline);
  }
  void open() {
    std::lock_guard hold(lock_);
    open_ = true;
    waiters_.wake_all();
  }

  bool try_complete(Waiter&) noexcept {
    std::lock_guard hold(lock_);
    return open_;
  }
  bool publish(Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    waiters_.push_back(waiter);
    return true;  // and does not look again
  }
  void unpublish(Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    waiters_.remove(waiter);
  }

 private:
  SpinLock lock_;
  WaitList waiters_;   // guarded by lock_
  bool open_ = false;  // guarded by lock_
};

}  // namespace weft::test
