// line_cores.hpp: primitives whose waiters stand in line, and are given what
// they wait for in that order. All of each is under its lock; unused() is asked
// by whoever destroys it.
//
// Edges
//   [done]  OnceCore::end() -> is_done(): what the call did.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sync/future_core.hpp"
#include "sync/wait_queue.hpp"

namespace weft::sync {

struct FairCore;

// A place in line that nobody waits at: a future is set instead.
struct FairPlace : WaitNode {  // its fiber is nullptr
  FairCore* line = nullptr;
  FutureCore& turn;

  explicit FairPlace(FutureCore& its_turn) noexcept : turn(its_turn) {}
};

struct FairCore {
  mutable base::SpinLock lock;
  Plain<Fiber*> owner = nullptr;
  WaitQueue queue;

  // Under no lock; self is the current fiber.
  bool try_lock(Fiber& self) noexcept;
  // Errors: invalid (he holds it already), cancelled (not if shielded),
  // timed_out, exhausted (memory); as of SharedCore.
  Status wait(Fiber& self, bool shield, Deadline deadline) noexcept;
  // True: it is held already. Else `place` is in line.
  bool enter(Fiber& self, FairPlace& place) noexcept;
  // True: it was in line, and is no more.
  bool leave(FairPlace& place) noexcept;
  // False: it is not his.
  bool unlock(Fiber& self) noexcept;
  const Fiber* owner_now() const noexcept;
  bool unused() noexcept { return is_left(lock, queue) && owner == nullptr; }
};

struct SharedCore {
  mutable base::SpinLock lock;
  Plain<std::uint32_t> readers = 0;
  Plain<Fiber*> writer = nullptr;
  WaitQueue writers_line;
  WaitQueue readers_line;

  bool try_lock(Fiber& self) noexcept;
  bool try_lock_shared() noexcept;
  Status wait(Fiber& self, bool shield, Deadline deadline) noexcept;
  Status wait_shared(Fiber& self, bool shield, Deadline deadline) noexcept;
  bool unlock(Fiber& self) noexcept;
  bool unlock_shared() noexcept;
  const Fiber* writer_now() const noexcept;
  bool unused() noexcept {
    return is_left(lock, writers_line) && readers_line.empty() &&
           writer == nullptr && readers == 0;
  }

  // Under the lock: nobody writes, so whoever may comes in.
  void admit_readers(Woken& woken) noexcept;
  void admit_writer(Woken& woken) noexcept;
};

struct SemaphoreCore {
  base::SpinLock lock;
  Plain<std::ptrdiff_t> permits;
  WaitQueue queue;

  explicit SemaphoreCore(std::ptrdiff_t count) noexcept : permits(count) {}
  bool try_take() noexcept;
  Status wait(Deadline deadline) noexcept;
  // False: more than can be counted; then nothing changed.
  bool release(std::ptrdiff_t count) noexcept;
  bool unused() noexcept { return is_left(lock, queue); }
};

// Of Latch and WaitGroup: so much is left to be done.
struct CountCore {
  base::SpinLock lock;
  Plain<std::ptrdiff_t> left;
  WaitQueue queue;

  explicit CountCore(std::ptrdiff_t count) noexcept : left(count) {}
  // False: below zero, or more than can be counted; then nothing changed.
  bool add(std::ptrdiff_t count) noexcept;
  bool is_zero() noexcept;
  Status wait(Deadline deadline) noexcept;
  bool unused() noexcept { return is_left(lock, queue); }
};

struct BarrierCore {
  base::SpinLock lock;
  Plain<std::uint32_t> arrived = 0;
  Plain<std::ptrdiff_t> parties;
  Plain<std::uint64_t> round = 0;
  WaitQueue queue;

  explicit BarrierCore(std::ptrdiff_t count) noexcept : parties(count) {}
  // True: the last of its round.
  Result<bool> arrive_and_wait(Deadline deadline) noexcept;
  bool drop() noexcept;  // false: nobody is left
  bool unused() noexcept { return is_left(lock, queue); }

  // Under the lock: ends the round if all are here.
  bool end_round(Woken& woken) noexcept;
};

struct OnceCore {
  enum class State : std::uint32_t { idle, running, done };
  base::SpinLock lock;
  Atomic<State> state{State::idle};
  Plain<Fiber*> runner = nullptr;
  WaitQueue queue;

  bool is_done() const noexcept {
    return state.load(acquire) == State::done;  // [done]
  }
  // Waits while another runs it. True: the caller runs it now, then end().
  // False: it is done. Errors: invalid (from within), cancelled, timed_out,
  // exhausted (memory).
  Result<bool> begin(Deadline deadline) noexcept;
  void end(bool succeeded) noexcept;
  bool unused() noexcept { return is_left(lock, queue); }
};

struct ConditionCore {
  base::SpinLock lock;
  WaitQueue queue;
  bool unused() noexcept { return is_left(lock, queue); }
};

}  // namespace weft::sync
