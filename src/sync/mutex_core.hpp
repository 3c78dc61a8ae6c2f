// mutex_core.hpp: one at a time; unfair, unless that keeps somebody waiting.
//
//   bits 6-63  owner    the fiber's frame, or the proxy of a thread; 0: free
//   bit  0     waiters  somebody is in the queue, or was
//   bit  1     told     one of them was woken to try again, and has not yet
//
// An unlock frees the word and tells the first waiter, who tries again beside
// all others: whoever comes while he is on his way gets in first, and nobody
// has to be woken for that. A waiter who insists is given the lock instead:
// one who found the owner off its worker, for a lock that is held over a wait
// is not a short one; and one who has been waiting for a millisecond.
//
// Invariants
//   M1  The word names the one owner, who alone leaves it.
//   M2  The queue is not empty: waiters is set. Set under the lock.
//   M3  told is set by an unlock that tells a waiter, and cleared by that
//       waiter alone. So while it is set an unlock need not tell another.
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
    return try_lock_at(self, word_.load(relaxed));  // the exchange decides
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
    return is_left(lock_, queue_) &&
           word_.load(relaxed) == 0;  // nobody else is here
  }

 private:
  struct Attempt;
  static constexpr std::uintptr_t kWaiters = 1;
  static constexpr std::uintptr_t kTold = 2;
  static constexpr std::uintptr_t kFlags = kWaiters | kTold;

  static std::uintptr_t owned_by(Fiber& fiber) noexcept {
    return reinterpret_cast<std::uintptr_t>(&fiber);
  }
  static Fiber* owner_of(std::uintptr_t w) noexcept {
    return reinterpret_cast<Fiber*>(w & ~kFlags);
  }
  bool try_lock_at(Fiber& self, std::uintptr_t w) noexcept;
  bool spin(Fiber& self) noexcept;
  void tell_next(Woken& woken) noexcept;
  void give_to_next(Woken& woken) noexcept;

  Atomic<std::uintptr_t> word_{0};  // first, where the header has it, too
  base::SpinLock lock_;
  WaitQueue queue_;  // guarded by lock_
};

}  // namespace weft::sync
