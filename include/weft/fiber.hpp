// fiber.hpp: the fiber that is running now.
#pragma once

#include <compare>
#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <utility>

#include "weft/budget.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

class RuntimeRef;

struct FiberId {  // never reused within a runtime
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(FiberId, FiberId) = default;
  friend std::ostream& operator<<(std::ostream&, FiberId);
};

enum class FiberState : std::uint8_t {
  ready,
  running,
  parked,
  exhausted,  // parked until it is recharged
  completed,
  cancelled,
};

// Where a fiber may run. All of them on any of several CPUs, one after the
// other or at once.
enum class Tenancy : std::uint8_t { cpu_parallel };

// A child that waits until it is recharged, and of what it has too little.
struct Exhausted {
  FiberId fiber;
  Resource resource = Resource::none;
};

// A hint for what runs first, whenever several fibers could: a high one before
// the others, a low one when nothing else is there. Neither interrupts a fiber
// that runs, and none is starved: while high ones wait, every 17th turn of a
// worker is somebody else's, and low ones come in at the looks that every 61st
// turn is. Not inherited, neither by children nor by whoever holds a lock.
enum class Priority : std::uint8_t { low, normal, high };

// Callers: fibers. On a plain thread each means the thread's proxy fiber, which
// has an id and is cancelled by its own CancelScopes only.
namespace this_fiber {

// Lets others run; returns at once if there is nobody. On a plain thread:
// sched_yield().
//   Suspends:  goes behind the ready fibers of this worker; one of high
//              priority lets one of them go first. Not a cancel point.
void yield() noexcept;

// A cancel point that need not wait: the call for long loops.
//   Suspends:  if other fibers wait for this worker; while a metered fiber has
//              no op left to pay for it.
//   Errors:    cancelled, timed_out (a scope's deadline), exhausted (it has no
//              op left, must stop, and is in a Shield).
Status checkpoint() noexcept;

//   Suspends:  until the deadline; one that has passed lets others run now and
//              then. Always a cancel point.
//   Errors:    cancelled, timed_out (a scope's deadline), exhausted (no memory
//              for a timer).
Status sleep_until(Deadline when) noexcept;
Status sleep_for(Clock::duration delay) noexcept;
template <typename Rep, typename Period>
Status sleep_for(std::chrono::duration<Rep, Period> delay) noexcept {
  return sleep_until(Deadline::after(delay));
}

bool cancelled() noexcept;     // would checkpoint() fail now?
Deadline deadline() noexcept;  // the earliest of all scopes around
FiberId id() noexcept;
std::string_view name() noexcept;
// The first 255 bytes, copied. Kept to the end of the fiber: if it is metered
// it pays for the memory. Errors: exhausted (memory).
Status set_name(std::string_view name) noexcept;
// What it may still spend and has spent; unlimited and nothing if it is not
// metered.
Ledger ledger() noexcept;
constexpr Tenancy tenancy() noexcept { return Tenancy::cpu_parallel; }
Priority priority() noexcept;   // normal on a plain thread
RuntimeRef runtime() noexcept;  // misuse on a plain thread
bool is_fiber() noexcept;       // false on a plain thread

// Keeps the fiber on its worker for a scope: for thread-bound libraries and
// thread-local data. It may still wait; nested pins count, up to 255. Nothing
// on a plain thread.
class [[nodiscard]] Pin {
 public:
  Pin() noexcept;
  ~Pin();
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;
};

}  // namespace this_fiber

namespace detail {

// The current fiber's value for this key; nullptr: none yet.
void* find_local(const void* key) noexcept;
// Gives the current fiber a value; drop() runs when the fiber ends.
void add_local(const void* key, void* value, void (*drop)(void*) noexcept);

}  // namespace detail

// One T per fiber, made on first use, destroyed when the fiber (or the thread)
// ends. Declare it at namespace scope: inline weft::FiberLocal<int> depth{0};
template <typename T>
class FiberLocal {
 public:
  constexpr FiberLocal() = default;
  explicit constexpr FiberLocal(T initial) : initial_(std::move(initial)) {}
  FiberLocal(const FiberLocal&) = delete;
  FiberLocal& operator=(const FiberLocal&) = delete;

  // Not to be kept for another fiber. Throws std::bad_alloc.
  T& operator*() const {
    void* value = detail::find_local(this);
    if (value == nullptr) {
      value = new T(initial_);
      detail::add_local(
          this, value, [](void* old) noexcept { delete static_cast<T*>(old); });
    }
    return *static_cast<T*>(value);
  }
  T* operator->() const { return &**this; }

 private:
  T initial_{};
};

}  // namespace weft
