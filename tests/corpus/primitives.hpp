// primitives.hpp: what the bugs of the corpus are made with, and not of: a
// mutex, a condition, an event, a semaphore and a queue. All of them are right.
//
// As simple as can be: every change wakes everybody who waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>

#include <weft/wait.hpp>

namespace weft::corpus {

// Some state, and fibers that wait until it lets them take what they want.
class Monitor {
 public:
  // take(), under the lock, answers whether it did. It gives nothing to others.
  template <typename Take>
  Status wait_until(Take take, Deadline deadline = Deadline::never()) {
    Wait<Take> wait{*this, std::move(take)};
    return weft::wait(wait, deadline);
  }
  template <typename Change>
  void change(Change change) {
    std::lock_guard hold(lock_);
    change();
    ++version_;
    waiters_.wake_all();
  }

 private:
  template <typename Take>
  struct Wait {
    Monitor& monitor;
    Take take;
    std::uint64_t seen = 0;

    bool try_complete(Waiter&) noexcept {
      std::lock_guard hold(monitor.lock_);
      seen = monitor.version_;
      return take();
    }
    bool publish(Waiter& waiter) noexcept {
      std::lock_guard hold(monitor.lock_);
      monitor.waiters_.push_back(waiter);
      if (monitor.version_ != seen) monitor.waiters_.wake_all();
      return true;
    }
    void unpublish(Waiter& waiter) noexcept {
      std::lock_guard hold(monitor.lock_);
      monitor.waiters_.remove(waiter);
    }
  };

  SpinLock lock_;
  WaitList waiters_;           // guarded by lock_
  std::uint64_t version_ = 0;  // guarded by lock_
};

class Mutex {
 public:
  // Errors: cancelled; then it is not held.
  Status lock() {
    return monitor_.wait_until([this] { return !std::exchange(held_, true); });
  }
  void unlock() {
    monitor_.change([this] { held_ = false; });
  }

 private:
  Monitor monitor_;
  bool held_ = false;
};

using Hold = std::lock_guard<Mutex>;  // for fibers that nobody cancels

// Wakes those who wait now, and nobody who comes later.
class Condition {
 public:
  Status wait() { return wait_with(nullptr); }
  // Releases the mutex meanwhile. For fibers that nobody cancels.
  void wait(Mutex& mutex) {
    (void)wait_with(&mutex);
    (void)mutex.lock();
  }
  void wake_one() {
    std::lock_guard hold(lock_);
    waiters_.wake_one();
  }
  void wake_all() {
    std::lock_guard hold(lock_);
    waiters_.wake_all();
  }

 private:
  struct Wait {
    Condition& condition;
    Mutex* mutex;

    bool try_complete(Waiter& waiter) noexcept {
      return waiter.reason() != WakeReason::none;
    }
    bool publish(Waiter& waiter) noexcept {
      {
        std::lock_guard hold(condition.lock_);
        condition.waiters_.push_back(waiter);
      }
      if (mutex != nullptr) mutex->unlock();
      return true;
    }
    void unpublish(Waiter& waiter) noexcept {
      std::lock_guard hold(condition.lock_);
      condition.waiters_.remove(waiter);
    }
  };
  Status wait_with(Mutex* mutex) {
    Wait wait{*this, mutex};
    return weft::wait(wait);
  }

  SpinLock lock_;
  WaitList waiters_;  // guarded by lock_
};

// Stays set.
class Event {
 public:
  Status wait(Deadline deadline = Deadline::never()) {
    return monitor_.wait_until([this] { return set_; }, deadline);
  }
  void set() {
    monitor_.change([this] { set_ = true; });
  }

 private:
  Monitor monitor_;
  bool set_ = false;
};

class Semaphore {
 public:
  explicit Semaphore(int permits) : permits_(permits) {}
  Status acquire() {
    return monitor_.wait_until([this] { return permits_ > 0 && permits_--; });
  }
  void release() {
    monitor_.change([this] { ++permits_; });
  }

 private:
  Monitor monitor_;
  int permits_;
};

// Without a limit.
class Queue {
 public:
  void push(int item) {
    monitor_.change([this, item] { items_.push_back(item); });
  }
  void close() {
    monitor_.change([this] { closed_ = true; });
  }
  // Errors: closed (and empty), cancelled, timed_out; then no item was taken.
  Status pop(int& item, Deadline deadline = Deadline::never()) {
    bool taken = false;
    const Status end = monitor_.wait_until(
        [&] {
          if (items_.empty()) return closed_;
          item = items_.front();
          items_.pop_front();
          return taken = true;
        },
        deadline);
    if (end && !taken) return Errc::closed;
    return end;
  }
  // How many there are when nobody else uses it.
  std::size_t size() const { return items_.size(); }

 private:
  Monitor monitor_;
  std::deque<int> items_;
  bool closed_ = false;
};

}  // namespace weft::corpus
