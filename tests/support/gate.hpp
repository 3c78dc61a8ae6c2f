// gate.hpp: a one-shot event made of the public wait protocol.
#pragma once

#include <mutex>

#include <weft/wait.hpp>

namespace weft::test {

// Closed until open(); counts who waits, so that a test knows instead of
// sleeping.
class Gate {
 public:
  Status pass(Deadline deadline = Deadline::never()) {
    return weft::wait(*this, deadline);
  }
  void open() {
    std::lock_guard hold(lock_);
    open_ = true;
    waiters_.wake_all();
  }
  std::size_t waiting() {
    std::lock_guard hold(lock_);
    return waiting_;
  }

  bool try_complete(Waiter&) noexcept {
    std::lock_guard hold(lock_);
    return open_;
  }
  bool publish(Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    waiters_.push_back(waiter);
    ++waiting_;
    if (open_) waiters_.wake_all();
    return true;
  }
  void unpublish(Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    waiters_.remove(waiter);
    --waiting_;
  }

 private:
  SpinLock lock_;
  WaitList waiters_;         // guarded by lock_
  std::size_t waiting_ = 0;  // guarded by lock_
  bool open_ = false;        // guarded by lock_
};

}  // namespace weft::test
