// fiber.hpp: the frame of one fiber, 256 bytes, in type-stable memory.
//
// A frame has no stack until it first runs. Whoever ever had a pointer to a
// frame may read its control word until the runtime ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string_view>

#include "base/atomic.hpp"
#include "context/context.hpp"
#include "context/exception_state.hpp"
#include "fiber/control_word.hpp"
#include "fiber/join_word.hpp"
#include "fiber/scope.hpp"
#include "fiber/wait_node.hpp"
#include "stack/stack.hpp"
#include "time/timer_heap.hpp"
#include <weft/detail/body.hpp>
#include <weft/fiber.hpp>

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

// What a metered fiber pays from: wait/purse.hpp has the one kind there is.
struct Account {
  virtual ~Account() = default;
  // The fiber at its end, or its spawner if it never starts: what is left goes
  // back. It pays for nothing any more.
  virtual void close() noexcept = 0;
  // The fiber, closed, which has not left its nursery and goes on after all.
  virtual void reopen() noexcept = 0;
};

// What few fibers have: a name, locals, somebody else's failure, a deadline,
// limits.
//
// Edges
//   [name]  Fiber::set_name() -> Fiber::name(): the text.
struct Extras {
  Atomic<Name*> name{nullptr};
  Local* locals = nullptr;
  Error inherited{Errc{}};  // of a nursery nobody joined; Errc{}: none
  std::exception_ptr inherited_exception;
  std::unique_ptr<Account> account = nullptr;   // fixed before the start
  std::int64_t deadline = time::kNever;         // of its body
  const detail::BodyOps* timed_body = nullptr;  // the body that has it
  const Scope* timed_scope = nullptr;           // in it: around the body
};

// Where a fiber runs. Whoever runs it writes; who tells its guest to look
// reads, and puts up with an old answer: stacks are type-stable.
class StackOf {
 public:
  StackOf& operator=(stack::Stack* stack) noexcept {
    stack_.store(stack, relaxed);  // one writer at a time
    return *this;
  }
  stack::Stack* get() const noexcept {
    return stack_.load(relaxed);  // its runner's own, or a hint
  }
  // NOLINTNEXTLINE(google-explicit-constructor): as a pointer
  operator stack::Stack*() const noexcept { return get(); }
  stack::Stack* operator->() const noexcept { return get(); }

 private:
  Tally<stack::Stack*> stack_{nullptr};
};

// Of ids: the proxy of a plain thread.
inline constexpr std::uint64_t kProxyId = std::uint64_t{1} << 63;

class alignas(kCacheLine) Fiber {
 public:
  using Outcome = detail::Outcome;

  // Line 0: the switch.
  context::Context context;

  // Line 1: all that a short fiber needs besides its closure.
  ControlWord word;
  JoinWord join;
  Plain<Fiber*> next = nullptr;  // link in a batch, list or pool; its owner's
  StackOf stack;                 // from the first run to the end
  Atomic<std::uint64_t> id{0};   // never reused in a runtime; 0: not in use
  const detail::BodyOps* body = nullptr;
  Scope* scope = nullptr;  // its innermost; the base before and after the body
  Outcome outcome : 2 = Outcome::none;
  bool unchecked : 1 = false;   // checks only count; its own
  bool broke : 1 = false;       // waits for a recharge; its own
  bool proxy : 1 = false;       // a plain thread
  bool skip_body : 1 = false;   // stopped before it started
  bool has_extras : 1 = false;  // extras is not null; fixed before the start,
                                // or set by the fiber itself
  bool listed : 1 = false;      // in the list of its base; its own
  std::uint8_t pins = 0;
  std::uint16_t home = 0;              // the worker it is pinned to, 0-based
  std::uint32_t stack_pages : 24 = 0;  // asked for; 0: the runtime's default
  std::uint32_t if_it_fails : 2 = 0;   // an OnFailure: what becomes of others
  std::uint32_t rank : 6 = 0;  // 0: of normal priority; fixed before the start

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

  static Fiber& of_storage(void* storage) noexcept {
    return *reinterpret_cast<Fiber*>(static_cast<std::byte*>(storage) -
                                     kStorageOffset);
  }
  // Any thread while the frame is held; set by its spawner.
  Priority priority() const noexcept {
    return static_cast<Priority>(rank ^ kNormal);
  }
  void set_priority(Priority priority) noexcept {
    rank = (static_cast<std::uint32_t>(priority) & 3u) ^ kNormal;
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

  // The nursery that started it. Not while it is in a scope of its own: before
  // the body and after.
  Family& family() const noexcept;
  // The fiber itself, or once it has ended. Only because it was stopped: no
  // failure of its own.
  bool answers_stop() noexcept;
  // The fiber itself, with a stack: into the list of its base, and out of it.
  void enlist() noexcept;
  void delist() noexcept;
  // The fiber itself: its guest has ended, and it goes on.
  void take_back_stack() noexcept {
    stack->owner.store(this, relaxed);  // see enlist()
    if (host != nullptr && listed) [[unlikely]]
      look_as_guest();  // others are told themselves, or look first
  }

  // The body, on this stack: leaves outcome and storage. Catches everything.
  void run_body() noexcept;
  // The end of the body: an inherited failure becomes the outcome.
  void take_inherited() noexcept;
  // A plain thread's proxy? As `proxy`, for whoever else knows that it lives.
  bool is_of_thread() const noexcept {
    return (id.load(relaxed) & kProxyId) != 0;  // fixed while it lives
  }
  // Does the storage hold what needs a destructor?
  bool owns_result() const noexcept {
    return outcome == Outcome::exception ||
           (outcome == Outcome::value && body->drop_value != nullptr);
  }
  // Is anything left to do for it when its body has ended?
  bool needs_care() const noexcept {
    return outcome != Outcome::value || body->drop_value != nullptr ||
           has_extras || listed;
  }
  // Whoever reclaims the frame: destroys a result nobody took.
  void drop_result() noexcept;
  // The fiber itself at its end: destroys its locals, closes its account.
  void drop_locals() noexcept;
  // Whoever reclaims the frame: frees name and extras.
  void drop_extras() noexcept;
  // The same: all that is left of it. Then the frame is free.
  void clear() noexcept {
    if (owns_result()) drop_result();
    outcome = Outcome::none;
    if (has_extras) [[unlikely]]
      drop_extras();
    word.reclaim();
    id.store(0, relaxed);  // a stale handle finds nobody
  }
  // The fiber itself: a nursery it did not join failed. Becomes its outcome,
  // unless it fails by itself. False: out of memory.
  bool inherit_failure(Error error, std::exception_ptr exception) noexcept;
  // The fiber itself, or its spawner. Out of memory: nullptr, false.
  Extras* make_extras() noexcept;
  bool set_name(std::string_view name) noexcept;
  // What a name takes up until the end of the fiber.
  static std::size_t size_of_name(std::string_view name) noexcept {
    return sizeof(Name) + std::min(name.size(), kLongestName) + 1;
  }

  // Any thread, as long as the frame is held.
  const char* name() const noexcept;

 private:
  void look_as_guest() noexcept;

  static constexpr std::size_t kLongestName = 255;
  static constexpr auto kNormal = static_cast<std::uint32_t>(Priority::normal);
  static constexpr std::size_t kTimerOffset = 256 - sizeof(time::TimerNode);
  static constexpr std::size_t kStorageOffset = 2 * kCacheLine;
};
static_assert(sizeof(Fiber) == 256, "four cache lines a frame");

// ---- Of scope.hpp.

inline Scope::Scope(Kind kind, Fiber* covered, Scope* around) noexcept
    : parent_(covered != nullptr ? covered->scope : around),
      covered_(covered),
      kind_(kind),
      calm_(parent_ != nullptr && covered != nullptr
                ? parent_->calm_for(*covered)
                : 0) {
  if (covered != nullptr) covered->scope = this;
}

// Whoever cancels a fiber counts that afterwards: so a cancel that comes before
// what was noted is seen here, and one that comes later changes the count.
inline std::uint64_t Scope::calm_for(const Fiber& fiber) const noexcept {
  const auto noted = calm_.load(acquire);  // see note_calm()
  return covered_ != &fiber && fiber.word.cancelled() ? 0 : noted;
}

inline void Scope::close() noexcept {
  if ((state_.load(acquire) & kTelling) != 0) [[unlikely]]  // [leave]
    wait_for_stopper();
  const bool alone = untold_.empty() && told_.empty();  // nobody is left to add
  if (!alone) [[unlikely]]
    drop_lost();
  if (covered_ != nullptr && covered_->scope != this) [[unlikely]]
    die_not_innermost();
  if (covered_ != nullptr) covered_->scope = parent_;
}

inline Stop stop_of(const Fiber& self) noexcept {
  return stop_from(self.scope, self, self.broke);
}

inline Stop stop_around(Scope* scope, const Fiber& self) noexcept {
  const auto count = stops_begun().load(acquire);  // P5
  if (scope != nullptr && !self.broke && scope->calm_for(self) == count)
      [[likely]] {
    return Stop::none;
  }
  return stop_around_counted(scope, self, count);
}

inline Stop stop_around_base(const Fiber& fresh) noexcept {
  const auto count = stops_begun().load(acquire);  // P5
  if (fresh.scope->is_calm(count)) [[likely]]
    return Stop::none;
  return stop_around_counted(fresh.scope, fresh, count);
}

// ---- Of wait_node.hpp.

inline bool WaitNode::claim(Fiber*& owned, unsigned near) noexcept {
  Fiber* const waiting = fiber;  // copied: W3
  const auto claimed = waiting->word.claim(ticket, source(index), near);
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
