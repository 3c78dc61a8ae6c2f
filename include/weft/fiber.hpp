// fiber.hpp: the fiber that is running now.
#pragma once

#include <compare>
#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <utility>

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
  completed,
  cancelled,
};

// Callers: fibers. On a plain thread each means the thread's proxy fiber, which
// has an id and is never cancelled.
namespace this_fiber {

// Lets others run; returns at once if there is nobody. On a plain thread:
// sched_yield().
//   Suspends:  goes behind the ready fibers of this worker. Not a cancel point.
void yield() noexcept;

// A cancel point that need not wait: the call for long loops.
//   Suspends:  if other fibers wait for this worker.
//   Errors:    cancelled.
Status checkpoint() noexcept;

//   Suspends:  until the deadline; one that has passed lets others run now and
//              then. Always a cancel point.
//   Errors:    cancelled, exhausted (no memory for a timer).
Status sleep_until(Deadline when) noexcept;
Status sleep_for(Clock::duration delay) noexcept;
template <typename Rep, typename Period>
Status sleep_for(std::chrono::duration<Rep, Period> delay) noexcept {
  return sleep_until(Deadline::after(delay));
}

bool cancelled() noexcept;  // would checkpoint() fail now?
FiberId id() noexcept;
std::string_view name() noexcept;
// Copied. Errors: exhausted (no memory).
Status set_name(std::string_view name) noexcept;
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
