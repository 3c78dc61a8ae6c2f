// 07_explore: a deadlock that shows once in a while, found at once.
//
// explore() runs a test over many schedules, on one thread and in virtual time.
// Plain main() here; with GoogleTest see weft/gtest.hpp.
#include <cstdio>
#include <iostream>
#include <mutex>

#include <weft/testing.hpp>
#include <weft/weft.hpp>

using weft::Nursery, weft::Waiter;
using namespace weft::testing;

// A lock that fibers wait at, as in 04_own_primitive.
class Lock {
 public:
  void lock() { (void)weft::wait(*this); }
  void unlock() {
    std::lock_guard hold(guard_);
    held_ = false;
    waiters_.wake_one();
  }

  bool try_complete(Waiter&) noexcept {
    std::lock_guard hold(guard_);
    return !held_ && (held_ = true);
  }
  bool publish(Waiter& waiter) noexcept {
    std::lock_guard hold(guard_);
    waiters_.push_back(waiter);
    if (!held_) waiters_.wake_one();
    return true;
  }
  void unpublish(Waiter& waiter) noexcept {
    std::lock_guard hold(guard_);
    waiters_.remove(waiter);
  }

 private:
  weft::SpinLock guard_;
  weft::WaitList waiters_;  // guarded by guard_
  bool held_ = false;       // guarded by guard_
};

struct Account {
  Lock lock;
  int money = 100;
};

// Two of these at once, the other way round, wait for each other for ever.
void transfer(Account& from, Account& to, int amount) {
  std::lock_guard first(from.lock);
  std::lock_guard second(to.lock);
  from.money -= amount;
  to.money += amount;
}

void transfer_in_order(Account& from, Account& to, int amount) {
  const bool as_named = &from < &to;
  std::lock_guard first(as_named ? from.lock : to.lock);
  std::lock_guard second(as_named ? to.lock : from.lock);
  from.money -= amount;
  to.money += amount;
}

// The test: the body runs once per schedule, as a fiber.
ExploreResult test(void (*move)(Account&, Account&, int)) {
  return explore({.schedules = 5'000}, [move](Simulation& sim) {
    Account a;
    Account b;
    Nursery nursery;
    nursery.spawn({.name = "a to b"}, [&] { move(a, b, 10); });
    nursery.spawn({.name = "b to a"}, [&] { move(b, a, 20); });
    sim.check(nursery.join().has_value(), "nobody fails");
    sim.check(a.money == 110 && b.money == 90, "no money is lost");
  });
}

int main() {
  const auto wrong = test(transfer);  // says on stderr who waits for what
  std::cout << "\nby hand: " << to_string(wrong.verdict) << " in schedule "
            << wrong.schedules << ", again by WEFT_REPLAY=" << wrong.replay
            << '\n';
  const auto right = test(transfer_in_order);
  std::cout << "in order: " << right;
  return wrong.verdict == Verdict::deadlock && right ? 0 : 1;
}
