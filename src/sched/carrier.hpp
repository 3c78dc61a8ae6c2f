// carrier.hpp: the OS thread below a fiber, worker or plain.
//
// The one thread-local of the library is a pointer to the carrier. It is read
// by assembly that the compiler can neither hoist over a switch nor keep: a
// fiber may be on another thread after each call that suspends.
//
// Invariants
//   L1  No fiber is enqueued, no worker roused, nothing parks at lock depth
//       above zero: wakes made under a lock wait in `deferred`.
//   L2  An owned fiber is in one deferred list or one queue. The list needs no
//       atomics: its thread owns every member.
//   L3  A fiber does not change threads at lock depth above zero, so depth and
//       list may live in the thread.
#pragma once

#include <cstdint>

#include "base/check.hpp"
#include "fiber/fiber.hpp"

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
    return *this;
  }
  // NOLINTNEXTLINE(google-explicit-constructor): as a pointer
  operator Fiber*() const noexcept {
    return fiber_.load(relaxed);  // one writer, or a hint
  }
  Fiber* operator->() const noexcept { return *this; }

 private:
  Tally<Fiber*> fiber_{nullptr};
};

struct Carrier {
  Current current;
  Worker* worker = nullptr;  // nullptr on a plain thread
  Simulator* simulator = nullptr;  // if this thread is one, or its worker
  std::uint32_t lock_depth = 0;
  bool no_stack = false;      // destroys a closure that no stack was found for
  Fiber* deferred = nullptr;  // owned fibers, linked by next, newest first
  static constexpr std::uint32_t kHeldLocks = 8;
  HeldLock held[kHeldLocks] = {};  // the innermost ones, for the report
};

}  // namespace weft::sched

extern "C" __attribute__((
    visibility("hidden"),
    tls_model("initial-exec"))) __thread weft::sched::Carrier* weft_tls_carrier;

namespace weft::sched {

// Any thread. nullptr: a plain thread that weft has not met yet.
inline Carrier* carrier_or_null() noexcept {
  Carrier* carrier;
#if defined(__x86_64__)
  asm volatile(
      "movq weft_tls_carrier@gottpoff(%%rip), %0\n\t"
      "movq %%fs:(%0), %0"
      : "=r"(carrier));
#elif defined(__aarch64__)
  std::uint64_t offset;
  asm volatile(
      "adrp %1, :gottprel:weft_tls_carrier\n\t"
      "ldr %1, [%1, :gottprel_lo12:weft_tls_carrier]\n\t"
      "mrs %0, tpidr_el0\n\t"
      "ldr %0, [%0, %1]"
      : "=&r"(carrier), "=&r"(offset));
#else
#error "weft: no thread-local accessor for this architecture"
#endif
  return carrier;
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
// Dies with PARK-UNDER-LOCK and the locks held.
[[noreturn]] void die_under_lock(const Carrier& here) noexcept;
inline void check_may_park(const Carrier& here) noexcept {
  if (here.lock_depth != 0) [[unlikely]]
    die_under_lock(here);
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
