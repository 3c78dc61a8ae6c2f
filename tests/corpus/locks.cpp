// locks.cpp: bugs of who holds what, in which order, and for how long.

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "corpus/corpus.hpp"
#include "corpus/primitives.hpp"
#include <weft/weft.hpp>

namespace weft::corpus {

namespace {

using testing::point;

template <bool Fixed>
void abba_deadlock(Simulation&) {
  Mutex a;
  Mutex b;
  Nursery nursery;
  nursery.spawn([&] {
    Hold first(a);
    Hold second(b);
  });
  nursery.spawn([&] {
    Hold first(Fixed ? a : b);
    Hold second(Fixed ? b : a);
  });
  (void)nursery.join();
}

template <bool Fixed>
void dining_philosophers(Simulation&) {
  constexpr int kSeats = 3;
  Mutex forks[kSeats];
  Nursery nursery;
  for (int seat = 0; seat < kSeats; ++seat) {
    nursery.spawn([&forks, seat] {
      int left = seat;
      int right = (seat + 1) % kSeats;
      if (Fixed && left > right) std::swap(left, right);
      Hold first(forks[left]);
      Hold second(forks[right]);
    });
  }
  (void)nursery.join();
}

template <bool Fixed>
class Cache {
 public:
  void put(int value) {
    Hold hold(mutex_);
    put_locked(value);
  }
  int get_or_put(int value) {
    Hold hold(mutex_);
    if (value_ == 0) Fixed ? put_locked(value) : put(value);
    return value_;
  }

 private:
  void put_locked(int value) { value_ = value; }

  Mutex mutex_;
  int value_ = 0;  // guarded by mutex_
};

template <bool Fixed>
void self_deadlock(Simulation&) {
  Cache<Fixed> cache;
  Nursery nursery;
  nursery.spawn([&] { cache.put(1); });
  nursery.spawn([&] { cache.get_or_put(2); });
  (void)nursery.join();
}

class SharedMutex {
 public:
  void lock_shared() {
    (void)monitor_.wait_until([this] { return !written_ && ++readers_ > 0; });
  }
  void unlock_shared() {
    monitor_.change([this] { --readers_; });
  }
  void lock() { lock_when(0); }
  void unlock() {
    monitor_.change([this] { written_ = false; });
  }
  // From shared to exclusive: the caller stays a reader until it writes.
  void upgrade() {
    lock_when(1);
    monitor_.change([this] { --readers_; });
  }

 private:
  void lock_when(int readers) {
    (void)monitor_.wait_until([this, readers] {
      return readers_ == readers && !std::exchange(written_, true);
    });
  }

  Monitor monitor_;
  int readers_ = 0;
  bool written_ = false;
};

template <bool Fixed>
void upgrade_deadlock(Simulation& sim) {
  SharedMutex mutex;
  int loads = 0;
  const auto load_once = [&] {
    mutex.lock_shared();
    const bool missing = loads == 0;
    if (!missing || Fixed) mutex.unlock_shared();
    if (!missing) return;
    Fixed ? mutex.lock() : mutex.upgrade();
    if (loads == 0) ++loads;
    mutex.unlock();
  };
  Nursery nursery;
  nursery.spawn(load_once);
  nursery.spawn(load_once);
  (void)nursery.join();
  sim.check(loads == 1, "it is loaded once");
}

template <bool Fixed>
void torn_invariant(Simulation& sim) {
  struct Account {
    Mutex mutex;
    int balance = 50;
  } from, to;
  Nursery nursery;
  nursery.spawn([&] {
    (void)from.mutex.lock();
    from.balance -= 10;
    if (!Fixed) from.mutex.unlock();
    {
      Hold hold(to.mutex);
      to.balance += 10;
    }
    if (Fixed) from.mutex.unlock();
  });
  nursery.spawn([&] {
    Hold first(from.mutex);
    Hold second(to.mutex);
    sim.check(from.balance + to.balance == 100, "no money is under way");
  });
  (void)nursery.join();
}

template <bool Fixed>
void check_then_act(Simulation& sim) {
  Mutex mutex;
  int balance = 100;
  const auto withdraw = [&] {
    (void)mutex.lock();
    const bool enough = balance >= 70;
    if (!Fixed) {
      mutex.unlock();
      (void)mutex.lock();
    }
    if (enough) balance -= 70;
    mutex.unlock();
  };
  Nursery nursery;
  nursery.spawn(withdraw);
  nursery.spawn(withdraw);
  (void)nursery.join();
  sim.check(balance >= 0, "nobody owes");
}

template <bool Fixed>
void two_locks_one_value(Simulation& sim) {
  Mutex readers;
  Mutex writers;
  int count = 0;
  const auto increment = [&](Mutex& mutex) {
    Hold hold(mutex);
    const int seen = count;
    point();
    count = seen + 1;
  };
  Nursery nursery;
  nursery.spawn([&] { increment(writers); });
  nursery.spawn([&] { increment(Fixed ? writers : readers); });
  (void)nursery.join();
  sim.check(count == 2, "both count");
}

template <bool Fixed>
void exception_keeps_lock(Simulation&) {
  Mutex mutex;
  std::vector<int> jobs;
  const auto take = [&] {
    if constexpr (Fixed) {
      Hold hold(mutex);
      return jobs.at(0);
    } else {
      (void)mutex.lock();
      const int job = jobs.at(0);
      mutex.unlock();
      return job;
    }
  };
  Nursery nursery;
  nursery.spawn([&] {
    Hold hold(mutex);
    jobs.push_back(1);
  });
  nursery.spawn([&] {
    try {
      (void)take();
    } catch (const std::out_of_range&) {  // none yet: goes on without
    }
  });
  (void)nursery.join();
}

template <bool Fixed>
void nested_monitor(Simulation&) {
  Mutex service;
  Queue queue;
  Nursery nursery;
  nursery.spawn([&] {
    int item = 0;
    if (Fixed) (void)queue.pop(item);
    Hold hold(service);
    if (!Fixed) (void)queue.pop(item);
  });
  nursery.spawn([&] {
    Hold hold(service);
    queue.push(1);
  });
  (void)nursery.join();
}

template <bool Fixed>
void semaphore_order(Simulation&) {
  Mutex mutex;
  Semaphore space(1);
  Semaphore items(0);
  Nursery nursery;
  nursery.spawn([&] {
    for (int i = 0; i < 2; ++i) {
      if (Fixed) (void)space.acquire();
      (void)mutex.lock();
      if (!Fixed) (void)space.acquire();
      items.release();
      mutex.unlock();
    }
  });
  nursery.spawn([&] {
    for (int i = 0; i < 2; ++i) {
      (void)items.acquire();
      Hold hold(mutex);
      space.release();
    }
  });
  (void)nursery.join();
}

template <bool Fixed>
void stale_position(Simulation& sim) {
  Mutex mutex;
  std::vector<int> items{1, 2, 3};
  const auto remove = [&](int item) {
    (void)mutex.lock();
    const auto at = std::find(items.begin(), items.end(), item) - items.begin();
    if (!Fixed) {
      mutex.unlock();
      (void)mutex.lock();
    }
    items.erase(items.begin() + at);
    mutex.unlock();
  };
  Nursery nursery;
  nursery.spawn([&] { remove(1); });
  nursery.spawn([&] { remove(2); });
  (void)nursery.join();
  sim.check(items == std::vector<int>{3}, "the others are removed");
}

}  // namespace

std::vector<Bug> lock_bugs() {
  return {
      {"abba_deadlock", "Two fibers take two locks, in opposite orders.",
       Verdict::deadlock, abba_deadlock<false>, abba_deadlock<true>},
      {"dining_philosophers", "Each of three takes the left fork first.",
       Verdict::deadlock, dining_philosophers<false>,
       dining_philosophers<true>},
      {"self_deadlock",
       "On a miss, a method calls another one that takes the same lock.",
       Verdict::deadlock, self_deadlock<false>, self_deadlock<true>},
      {"upgrade_deadlock",
       "Two readers wait to become the writer, each for the other to leave.",
       Verdict::deadlock, upgrade_deadlock<false>, upgrade_deadlock<true>},
      {"torn_invariant",
       "A transfer takes the locks of both accounts one after the other.",
       Verdict::assertion, torn_invariant<false>, torn_invariant<true>},
      {"check_then_act",
       "The lock is released between the look at a balance and its use.",
       Verdict::assertion, check_then_act<false>, check_then_act<true>},
      {"two_locks_one_value", "Two methods guard one value by two locks.",
       Verdict::assertion, two_locks_one_value<false>,
       two_locks_one_value<true>},
      {"exception_keeps_lock", "An exception passes by the unlock.",
       Verdict::deadlock, exception_keeps_lock<false>,
       exception_keeps_lock<true>},
      {"nested_monitor",
       "A fiber waits for an item with the lock that its giver needs.",
       Verdict::deadlock, nested_monitor<false>, nested_monitor<true>},
      {"semaphore_order",
       "A producer waits for space with the lock that the consumer needs.",
       Verdict::deadlock, semaphore_order<false>, semaphore_order<true>},
      {"stale_position",
       "A position is found under the lock and used under the next one.",
       Verdict::assertion, stale_position<false>, stale_position<true>},
  };
}

}  // namespace weft::corpus
