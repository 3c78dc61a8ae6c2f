// mutex_core.hpp: one at a time; unfair, unless that keeps somebody waiting.
//
//   bits 6-63  owner    the fiber's frame, or the proxy of a thread; 0: free
//   bit  0     waiters  somebody is in the queue, or was; never of a free one
//
// An unlock frees the word and tells the first waiter, who tries again beside
// all others: whoever comes while he is on his way gets in first, and nobody
// has to be woken for that. The bit is cleared then, so that they lock and
// unlock by one exchange each as if nobody waited. A waiter who insists is
// given the lock instead: one who found the owner off its worker, for a lock
// that is held over a wait is not a short one; and one who has been waiting for
// a millisecond.
//
// Invariants
//   M1  The word names the one owner, who alone leaves it.
//   M2  The queue is not empty: waiters is set, or somebody was told (M3).
//       Set under the lock, which an unlock that finds it set takes as well.
//   M3  Who was told comes to the lock once more: has the mutex, or waits
//       again, or tells another; and sees to M2. Not counted on: a pinned one,
//       who may have to wait for his worker; so another is told beside him.
//
// Edges
//   [lock]  unlock() -> lock(), try_lock(), enter(): all that was done under
//           the mutex. To a waiter who is given it also by his wake.
#pragma once

#include <cstdint>

#include "base/check.hpp"
#include "sync/wait_queue.hpp"

namespace weft::sync {

class MutexCore {
 public:
  constexpr MutexCore() noexcept = default;
  MutexCore(const MutexCore&) = delete;
  MutexCore& operator=(const MutexCore&) = delete;

  // The fiber itself. True: held. The header tries an exchange before it asks.
  bool try_lock(Fiber& self) noexcept {
    auto w = word_.load(relaxed);  // the exchange decides
    return w == 0 &&
           // [lock]
           word_.compare_exchange_strong(w, owned_by(self), acquire, relaxed);
  }
  // The fiber itself; try_lock() failed. Errors: invalid (it holds it
  // already), cancelled (not if shielded), timed_out, exhausted (memory).
  Status wait(Fiber& self, bool shield, Deadline deadline) noexcept;

  // The owner. False: it is not his.
  [[nodiscard]] bool unlock(Fiber& self) noexcept;

  // Any thread: a snapshot.
  const Fiber* owner() const noexcept {
    return owner_of(word_.load(relaxed));  // for reports
  }
  // Whoever destroys it.
  bool unused() noexcept {
    return is_left(lock_, queue_) && on_their_way_ == 0 &&
           word_.load(relaxed) == 0;  // nobody else is here
  }

 private:
  struct Attempt;
  static constexpr std::uintptr_t kWaiters = 1;

  static std::uintptr_t owned_by(Fiber& fiber) noexcept {
    return reinterpret_cast<std::uintptr_t>(&fiber);
  }
  static Fiber* owner_of(std::uintptr_t w) noexcept {
    return reinterpret_cast<Fiber*>(w & ~kWaiters);
  }
  bool spin(Fiber& self) noexcept;
  bool tell_first(Woken& woken) noexcept;
  void give_to_next(Woken& woken) noexcept;

  Atomic<std::uintptr_t> word_{0};  // first, where the header has it, too
  base::SpinLock lock_;
  Plain<bool> told_ = false;               // M3; guarded by lock_
  Plain<std::uint32_t> on_their_way_ = 0;  // who were told; the same
  WaitQueue queue_;                        // the same
};

}  // namespace weft::sync
