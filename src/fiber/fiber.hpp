// fiber.hpp: the frame of one fiber, 256 bytes, in type-stable memory.
//
// A frame has no stack until it first runs. Whoever ever had a pointer to a
// frame may read its control word until the runtime ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string_view>

#include "base/atomic.hpp"
#include "context/context.hpp"
#include "context/exception_state.hpp"
#include "fiber/control_word.hpp"
#include "fiber/join_word.hpp"
#include "fiber/wait_node.hpp"
#include "stack/stack.hpp"
#include "time/timer_heap.hpp"
#include <weft/detail/body.hpp>

namespace weft::fiber {

class Family;

// One FiberLocal's value in one fiber.
struct Local {
  const void* key;
  void* value;
  void (*drop)(void*) noexcept;
  Local* next;
};

// A name once given stays readable as long as the frame is held.
struct Name {
  Name* older;
  char* text() noexcept { return reinterpret_cast<char*>(this + 1); }
};

// What few fibers have: a name, locals, somebody else's failure.
//
// Edges
//   [name]  Fiber::set_name() -> Fiber::name(): the text.
struct Extras {
  Atomic<Name*> name{nullptr};
  Local* locals = nullptr;
  Error inherited{Errc{}};  // of a nursery nobody joined; Errc{}: none
  std::exception_ptr inherited_exception;
};

class alignas(kCacheLine) Fiber {
 public:
  using Outcome = detail::Outcome;

  // Line 0: the switch.
  context::Context context;

  // Line 1: all that a short fiber needs besides its closure.
  ControlWord word;
  JoinWord join;
  Plain<Fiber*> next = nullptr;   // link in a batch, list or pool; its owner's
  stack::Stack* stack = nullptr;  // from the first run to the end
  Atomic<std::uint64_t> id{0};    // never reused in a runtime; 0: not in use
  const detail::BodyOps* body = nullptr;
  Family* family = nullptr;  // of the nursery that started it
  Outcome outcome : 4 = Outcome::none;
  bool proxy : 1 = false;       // a plain thread
  bool skip_body : 1 = false;   // cancelled before it started
  bool has_extras : 1 = false;  // extras is not null; fixed before the start,
                                // or set by the fiber itself
  std::uint8_t pins = 0;
  std::uint16_t home = 0;         // the worker it is pinned to, 0-based
  std::uint32_t stack_pages = 0;  // asked for; 0: the runtime's default

  // Line 2: the closure, later the result. A thread's proxy sleeps here.
  union alignas(detail::kStorageAlign) Storage {
    std::byte bytes[detail::kStorageSize];
    Atomic<std::uint32_t> wake;
    Storage() noexcept : bytes{} {}
  } storage;

  // Line 3: for those that wait, have a name, run in place.
  // Counts its waits. The fiber writes; a timer reads under its heap's lock.
  Plain<std::uint64_t> wait_ticket = 0;
  Atomic<Extras*> extras{nullptr};  // written by the fiber or its spawner
  Fiber* host = nullptr;            // runs on this fiber's stack, in place
  context::ExceptionState exceptions;
  time::TimerNode timer;

  static Fiber& of_timer(time::TimerNode& node) noexcept {
    return *reinterpret_cast<Fiber*>(reinterpret_cast<std::byte*>(&node) -
                                     kTimerOffset);
  }

  Error& error() noexcept {
    return *std::launder(reinterpret_cast<Error*>(storage.bytes));
  }
  std::exception_ptr& exception() noexcept {
    return *std::launder(reinterpret_cast<std::exception_ptr*>(storage.bytes));
  }
  void set_error(Error what) noexcept {
    ::new (static_cast<void*>(storage.bytes)) Error(what);
    outcome = Outcome::error;
  }
  void set_exception(std::exception_ptr what) noexcept;

  // Ended, and only because it was cancelled: no failure of its own.
  bool answers_cancel() noexcept {
    return outcome == Outcome::error && error() == Errc::cancelled &&
           word.cancelled();
  }

  // The body, on this stack: leaves outcome and storage. Catches everything.
  void run_body() noexcept;
  // The end of the body: an inherited failure becomes the outcome.
  void take_inherited() noexcept;
  // Does the storage hold what needs a destructor?
  bool owns_result() const noexcept {
    return outcome == Outcome::exception ||
           (outcome == Outcome::value && body->drop_value != nullptr);
  }
  // Is anything left to do for it when its body has ended?
  bool needs_care() const noexcept {
    return outcome != Outcome::value || body->drop_value != nullptr ||
           has_extras;
  }
  // Whoever reclaims the frame: destroys a result nobody took.
  void drop_result() noexcept;
  // The fiber itself at its end: destroys its locals.
  void drop_locals() noexcept;
  // Whoever reclaims the frame: frees name and extras.
  void drop_extras() noexcept;
  // The fiber itself: a nursery it did not join failed. Becomes its outcome,
  // unless it fails by itself. False: out of memory.
  bool inherit_failure(Error error, std::exception_ptr exception) noexcept;
  // The fiber itself, or its spawner. Out of memory: nullptr, false.
  Extras* make_extras() noexcept;
  bool set_name(std::string_view name) noexcept;

  // Any thread, as long as the frame is held.
  const char* name() const noexcept;

 private:
  static constexpr std::size_t kTimerOffset = 256 - sizeof(time::TimerNode);
};
static_assert(sizeof(Fiber) == 256, "four cache lines a frame");

// ---- Of wait_node.hpp.

inline bool WaitNode::claim(Fiber*& owned) noexcept {
  Fiber* const waiting = fiber;  // copied: W3
  const auto claimed = waiting->word.claim(ticket, source(index));
  owned = claimed == Claimed::won_and_owns ? waiting : nullptr;
  if (claimed != Claimed::lost) return true;
  gone_.store(true, release);  // [gone]
  return false;
}

inline void WaitNode::conclude(Reason why) noexcept {
  reason = why;                // W4
  gone_.store(true, release);  // [gone]
}

inline bool WaitNode::settle(Reason why, Fiber*& owned) noexcept {
  if (!claim(owned)) return false;
  conclude(why);
  return true;
}

}  // namespace weft::fiber
