// tour.hpp: what the stops of the tour share.
#pragma once

#include <mutex>
#include <string>

#include <weft/weft.hpp>

namespace tour {

using weft::Clock, weft::Deadline, weft::Errc, weft::Nursery, weft::Status;
namespace this_fiber = weft::this_fiber;

// Sanitizers need a hundred times more of everything.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr int kLess = 100;
#else
inline constexpr int kLess = 1;
#endif

// The stops, in their order.
void many_parked();
void many_fibers();
void fork_join();
void timers();
void exceptions();
void migration();
void guards();
void two_runtimes();
void threads();
void locks();
void channels();
void cancellation();
void budgets();
void actors();
void statistics();
void exploration();  // not a fiber

int overflow();  // a process of its own, that guards() starts

// Begins a stop.
void stop(const char* title, const char* shows);
// One line of it, and whether it is as it should be.
__attribute__((format(printf, 2, 3))) void tell(bool right, const char* format,
                                                ...);
std::string grouped(double number);     // 1234567 -> "1,234,567"
double since(Clock::time_point start);  // milliseconds

// A primitive of our own: closed until opened.
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
  int waiting() {
    std::lock_guard hold(lock_);
    return waiting_;
  }

  bool try_complete(weft::Waiter&) noexcept {
    std::lock_guard hold(lock_);
    return open_;
  }
  bool publish(weft::Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    waiters_.push_back(waiter);
    ++waiting_;
    if (open_) waiters_.wake_all();
    return true;
  }
  void unpublish(weft::Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    waiters_.remove(waiter);
    --waiting_;
  }

 private:
  weft::SpinLock lock_;
  weft::WaitList waiters_;  // guarded by lock_
  int waiting_ = 0;         // guarded by lock_
  bool open_ = false;       // guarded by lock_
};

}  // namespace tour
