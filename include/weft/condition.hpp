// condition.hpp: wait for a change of what a mutex guards.
//
//   std::unique_lock hold(mutex);
//   WEFT_TRY(changed.wait(hold, [&] { return !queue.empty(); }));
#pragma once

#include <mutex>

#include "weft/detail/storage.hpp"
#include "weft/mutex.hpp"

namespace weft {

class ConditionVariable {
 public:
  constexpr ConditionVariable() noexcept = default;
  ~ConditionVariable();  // misuse while somebody waits
  ConditionVariable(const ConditionVariable&) = delete;
  ConditionVariable& operator=(const ConditionVariable&) = delete;

  // Unlocks while it waits. The lock is held again when it returns, on error
  // too. May return ok for no reason: look, and wait again.
  //   Suspends:  until notified. Always a cancel point.
  //   Errors:    invalid (the lock is not held), cancelled, timed_out,
  //              exhausted (memory for the deadline).
  //   Callers:   fibers and threads, as of all below.
  Status wait(std::unique_lock<Mutex>& lock,
              Deadline deadline = Deadline::never());
  // Until it holds. Ok: it does, and the lock is held.
  template <typename Predicate>
  Status wait(std::unique_lock<Mutex>& lock, Predicate until,
              Deadline deadline = Deadline::never()) {
    while (!until()) {
      // Once more after the last moment: it may hold by now.
      if (const Status end = wait(lock, deadline); !end) {
        return end.error() == Errc::timed_out && until() ? Status() : end;
      }
    }
    return {};
  }
  //   Suspends:  never. The mutex may be held, and need not be.
  void notify_one() noexcept;
  void notify_all() noexcept;

 private:
  detail::Storage<16> core_;
};

}  // namespace weft
