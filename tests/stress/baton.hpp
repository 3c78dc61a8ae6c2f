// baton.hpp: a counting semaphore made of the public wait protocol.
#pragma once

#include <cstdint>
#include <mutex>

#include <weft/wait.hpp>

namespace weft::test {

class Baton {
 public:
  // Any fiber or thread. Errors: cancelled, timed_out; then none was taken.
  Status take(Deadline deadline = Deadline::never()) {
    return weft::wait(*this, deadline);
  }
  // Any fiber or thread.
  void give() {
    std::lock_guard hold(lock_);
    ++count_;
    waiters_.wake_one();
  }
  // Any fiber or thread. Who waits in take() now.
  int waiting() {
    std::lock_guard hold(lock_);
    return waiting_;
  }
  int count() {
    std::lock_guard hold(lock_);
    return count_;
  }

  bool try_complete(Waiter&) noexcept {
    std::lock_guard hold(lock_);
    if (count_ == 0) return false;
    --count_;
    // What one wake left over is the next one's.
    if (count_ > 0) waiters_.wake_one();
    return true;
  }
  bool publish(Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    waiters_.push_back(waiter);
    ++waiting_;
    if (count_ > 0) waiters_.wake_one();
    return true;
  }
  void unpublish(Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    waiters_.remove(waiter);
    --waiting_;
    if (count_ > 0) waiters_.wake_one();  // a wake that ours could not use
  }

 private:
  SpinLock lock_;
  WaitList waiters_;  // guarded by lock_, as all below
  int waiting_ = 0;
  int count_ = 0;
};

}  // namespace weft::test
