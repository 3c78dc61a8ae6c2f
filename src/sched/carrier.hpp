// carrier.hpp: the OS thread below a fiber, worker or plain.
//
// The one thread-local of the library is a pointer to the carrier.
//
// Invariants
//   L1  No fiber is enqueued, no worker roused, nothing parks at lock depth
//       above zero: wakes made under a lock wait in `deferred`.
//   L2  An owned fiber is in one deferred list or one queue. The list needs no
//       atomics: its thread owns every member.
//   L3  A fiber does not change threads at lock depth above zero, so depth and
//       list may live in the thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/check.hpp"
#include "base/spin_lock.hpp"
#include "fiber/fiber.hpp"
#include <weft/detail/here.hpp>

// Of diag/yield_hook.cpp. Null: no code with a compiler's checks is linked.
extern "C" void weft_yield_checks() __attribute__((weak));

namespace weft::sched {

using fiber::Fiber;
class Worker;
class Simulator;

struct HeldLock {
  const void* lock;
  const void* site;  // return address of lock()
};

// The fiber running here, or the thread's proxy. Its thread reads and writes;
// to others it is a hint.
class Current {
 public:
  Current& operator=(Fiber* fiber) noexcept {
    fiber_.store(fiber, relaxed);  // one writer
    here_.locker = reinterpret_cast<std::uintptr_t>(fiber) & is_locker_;
    return *this;
  }
  // May headers lock in its name, without a call?
  void be_locker(bool yes) noexcept {
    is_locker_ = yes ? ~std::uintptr_t{0} : 0;
    *this = static_cast<Fiber*>(*this);
  }
  // NOLINTNEXTLINE(google-explicit-constructor): as a pointer
  operator Fiber*() const noexcept {
    return fiber_.load(relaxed);  // one writer, or a hint
  }
  Fiber* operator->() const noexcept { return *this; }
  // Its thread. True: operations went on for long without asking, and may now
  // do so again. Not where checks are linked: of an inline function the linker
  // may take the copy that has checks in it, and that must not go ahead.
  bool renew_credit() noexcept {
    constexpr std::uint32_t kCredit = 64;
    if (here_.credit != 0) return false;
    if (weft_yield_checks != nullptr) return ++asked_ % kCredit == 0;
    here_.credit = kCredit;
    return true;
  }
  // Its thread: is there nothing to ask about, as headers see it?
  [[nodiscard]] bool goes_ahead() const noexcept {
    return here_.locker != 0 && !detail::must_ask(here_.locker);
  }
  // Its thread: how many ops of checked code a turn has.
  void set_turn(std::uint32_t ops) noexcept { turn_ = ops; }
  // The fiber running here begins its turn. If it is metered each op is asked
  // about.
  void begin_turn(bool metered) noexcept {
    here_.ops_left = metered ? 0 : turn_;
    left_of_turn_ = turn_;
  }
  // So many ops of it. False: its turn is over, or it is metered.
  [[nodiscard]] bool count(std::uint32_t ops) noexcept {
    if (here_.ops_left <= ops) return false;
    here_.ops_left -= ops;
    return true;
  }
  // So many ops of one that is metered. False: its turn is over.
  [[nodiscard]] bool count_metered(std::uint32_t ops) noexcept {
    if (left_of_turn_ <= ops) return false;
    left_of_turn_ -= ops;
    return true;
  }

 private:
  detail::Here here_{0, 0, 0};       // first: headers find it at the carrier
  std::uint32_t turn_ = UINT32_MAX;  // on a plain thread there are none
  std::uint32_t left_of_turn_ = UINT32_MAX;
  std::uint32_t asked_ = 0;  // so often, where checks are linked
  std::uintptr_t is_locker_ = ~std::uintptr_t{0};  // all bits, or none
  Tally<Fiber*> fiber_{nullptr};
};

struct Carrier {
  Current current;
  std::uint64_t lots = 0;          // drawn here
  Simulator* simulator = nullptr;  // if this thread is one, or its worker
  std::uint32_t lock_depth = 0;
  Worker* worker = nullptr;   // nullptr on a plain thread
  bool no_stack = false;      // destroys a closure that no stack was found for
  Fiber* deferred = nullptr;  // owned fibers, linked by next, newest first
  static constexpr std::uint32_t kHeldLocks = 8;
  HeldLock held[kHeldLocks] = {};  // the innermost ones, for the report

  // Its thread: from here until let_go() nothing may park.
  void hold(const void* lock, const void* site) noexcept {
    if (lock_depth < kHeldLocks) held[lock_depth] = {lock, site};
    ++lock_depth;
    current.be_locker(false);
  }
  void let_go() noexcept;
  void simulate(Simulator* by) noexcept {
    simulator = by;
    current.be_locker(by == nullptr && lock_depth == 0);
  }
};

static_assert(offsetof(Carrier, current) == 0 &&
              std::is_standard_layout_v<Current>);

}  // namespace weft::sched

// Read by the assembly of detail/here.hpp, which nothing can cache.
extern "C" __attribute__((
    tls_model("initial-exec"))) __thread weft::sched::Carrier* weft_tls_carrier;

namespace weft::sched {

// Any thread. nullptr: a plain thread that weft has not met yet.
inline Carrier* carrier_or_null() noexcept {
  return reinterpret_cast<Carrier*>(detail::here_or_null());
}

// A plain thread's first use: gives it its carrier and proxy fiber.
Carrier& adopt_plain_thread() noexcept;

// Any thread.
inline Carrier& carrier() noexcept {
  if (Carrier* here = carrier_or_null()) [[likely]]
    return *here;
  return adopt_plain_thread();
}

inline Worker* worker_or_null() noexcept {
  Carrier* here = carrier_or_null();
  return here != nullptr ? here->worker : nullptr;
}

// Any thread; the caller owns the fiber (its word is queued). Enqueues it, or
// defers that until the lock depth is zero.
void make_runnable(Fiber& owned) noexcept;
// Any thread, lock depth zero.
void flush_deferred(Carrier& here) noexcept;
// A fiber whose word is parking, on its worker: leaves its stack until resumed.
void suspend_current() noexcept;
// A fiber or thread that stands linked where the lock keeps others away: see
// Worker::suspend_locked().
[[nodiscard]] bool suspend_locked(base::SpinLock& lock) noexcept;
// Any thread; the caller owns the fiber by a claim that was to keep it near.
void wake_otherwise(Fiber& owned) noexcept;
// Dies with PARK-UNDER-LOCK and the locks held.
[[noreturn]] void die_under_lock(const Carrier& here) noexcept;
inline void check_may_park(const Carrier& here) noexcept {
  if (here.lock_depth != 0) [[unlikely]]
    die_under_lock(here);
}

inline void Carrier::let_go() noexcept {
  if (--lock_depth != 0) return;
  current.be_locker(simulator == nullptr);
  if (deferred != nullptr) flush_deferred(*this);
}

// The end of a fiber or thread: its wakes would wait for the lock for ever.
inline void check_unlocked(const Carrier& here) noexcept {
  WEFT_CHECK(here.lock_depth == 0,
             "a fiber or thread ended while it held spin lock %p",
             here.held[0].lock);
}

// The proxy of a plain thread sleeps until somebody made it runnable, at most
// until `until`. True: it was.
bool sleep_as_proxy(Fiber& proxy, std::int64_t until) noexcept;

}  // namespace weft::sched
