// scope.hpp: what can be stopped as a whole: a nursery, or a stretch of one
// fiber's life.
//
// The scopes of a fiber are a stack, from Fiber::scope outwards. Below them all
// lies the nursery that the fiber was spawned into, its base. A stop is told to
// fibers: to the one that a scope covers, and to the children of a nursery. A
// fiber that is told looks at its next cancel point: at its scopes and at those
// of the fibers around it, whose children it keeps from ending. If it was meant
// it tells the nurseries that it found on its way. So a stop goes down the tree
// of fibers, past an owner that gets no worker, and no scope need know of the
// scopes inside. But for a nursery
// that was opened inside of another by name, which covers no fiber: that one is
// in the list of the other as its children are (Inside).
//
// A child is in its nursery's list from its first cancel point on: until then
// it waits for nothing, and its word says that it must look. Children that
// never wait cost nothing.
//
// Invariants
//   P1  A scope is stopped once, before it is over; the first cause stays. One
//       that meets be_over() may be lost: then it came too late.
//   P2  Who stops writes state_ first and tells then; who looks clears its
//       cancel bit first and reads state_ then. So no stop is missed.
//   P3  To tell a fiber is to set its cancel bit and to wake it for nothing: it
//       decides by itself. So it does no harm to tell somebody who is not in
//       the scope, or is shielded, or has another's frame.
//   P4  A guest, which runs in place on the stack of its nursery's owner, looks
//       in that one's place, too; who tells the owner tells the guest. Who goes
//       on when its own guest has ended may have missed that, and looks.
//   P5  Who stops a scope or cancels a fiber counts that in stops_begun(), once
//       it is written. A scope in which the count is noted had nothing stopped
//       around it then; while the count is the same, it still has.
//   P6  What is around a scope, by parent() and by covered(), outlives it: a
//       nursery waits for its children, a fiber closes its scopes. So who is
//       inside may ask all of it, and stop the nurseries there.
//
// Edges
//   [stop]    stop() -> stopped(): what the canceller did before.
//   [firing]  Timeout::fired() -> Timeout::disarm(): the last touch.
//   [told]    Scope::stop() -> Scope::remove_inside(): the last touch.
//   [leave]   Scope::stop() -> Scope::close(): the same, where the scope's own
//             fiber saw the stop and went.
#pragma once

#include <cstdint>

#include "base/atomic.hpp"
#include "base/intrusive_list.hpp"
#include "base/spin_lock.hpp"
#include "time/timer_heap.hpp"
#include <weft/result.hpp>

namespace weft::fiber {

class Fiber;

// What a cancel point answers.
enum class Stop : std::uint8_t { none, cancelled, timed_out };

inline Errc to_errc(Stop why) noexcept {  // cancelled for none
  return why == Stop::timed_out ? Errc::timed_out : Errc::cancelled;
}

// What stopped a scope.
enum class Cause : std::uint8_t {
  none,
  cancel,          // somebody asked for it
  failure,         // of a child
  deadline,        // its own
  outer_cancel,    // of a scope around it, or of the fiber
  outer_deadline,  // of a scope around it
};

// A child's place in its nursery's list, where its stack begins, or where it
// runs in place on its host's.
struct Listing : base::ListHook {
  Fiber* fiber = nullptr;    // nullptr: it is an Inside
  Listing* below = nullptr;  // the host's
  bool told = false;  // which list it is in; guarded by the scope's lock_
};

class Scope;

// Of scopes and of fibers, in this process. No model looks at it: what it does
// is to save looks.
inline Tally<std::uint64_t>& stops_begun() noexcept {
  struct alignas(kCacheLine) Line {
    Tally<std::uint64_t> count{1};
  };
  static constinit Line line;
  return line.count;
}

// The place of a nursery in the list of the one that it was opened in by name.
struct Inside : Listing {
  explicit Inside(Scope& inner) noexcept : scope(inner) {}
  Scope& scope;
  Inside* next = nullptr;     // its stopper's
  Atomic<bool> waits{false};  // for its stopper, which will tell it
  Atomic<bool> left{false};   // the other has ended
};

class Scope {
 public:
  enum class Kind : std::uint8_t { plain, nursery, shield };

  // Opens the scope on the stack of `covered`, the running fiber or thread.
  // nullptr: nobody's waits lie inside; then it may be inside of another scope
  // all the same, see Inside.
  Scope(Kind kind, Fiber* covered, Scope* around = nullptr) noexcept;
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  virtual ~Scope() = default;
  // The covered fiber: takes the scope off its stack. Dies if there is one
  // inside of it. Its last call.
  void close() noexcept;
  // Whoever ends the scope, first of all, for what comes before close() may
  // wait. Dies unless that is the covered fiber.
  void expect_ended_by(const Fiber* here) const noexcept {
    if (covered_ != nullptr && covered_ != here) [[unlikely]]
      die_not_innermost();
  }
  // The covered fiber, which is given up, with nobody left inside: does what
  // the scope's destructor would, which nobody calls.
  virtual void abandon() noexcept { close(); }
  // A fiber is given up, maybe with nurseries of its own that are inside of
  // others by name, whoever's those are, and with tasks: nobody ends these.
  static void lose_some() noexcept;
  // How often, in the whole process.
  static std::uint64_t lost() noexcept;

  Scope* parent() const noexcept { return parent_; }
  Fiber* covered() const noexcept { return covered_; }
  bool is_shield() const noexcept { return kind_ == Kind::shield; }
  bool is_nursery() const noexcept { return kind_ == Kind::nursery; }

  Stop stopped() const noexcept {
    const auto state = state_.load(acquire);  // [stop]
    return state == 0 ? Stop::none : stop_of(state);
  }
  Cause cause() const noexcept {
    return static_cast<Cause>(state_.load(acquire) & kCause);  // [stop]
  }
  // Any thread that keeps the scope from ending but for what it does itself
  // here. Tells everybody inside; the caller enqueues the answer, linked by
  // next, newest first.
  [[nodiscard]] Fiber* stop(Cause why) noexcept;
  // The covered fiber: nothing is inside any more, no stop counts. One that
  // comes at this very moment is as one that comes later: it leaves no trace.
  void be_over() noexcept {
    const auto state = state_.load(relaxed);  // only its own looks ask
    if (state == 0) {
      state_.store(kOver, relaxed);  // the same
    } else {
      state_.fetch_or(kOver, relaxed);  // the same
    }
    set_deadline(time::kNever);
  }

  // P5: what the count was when nothing around it was stopped, as seen by the
  // covered fiber or by one of whom it is the base. Both note it.
  std::uint64_t calm_for(const Fiber& fiber) const noexcept;
  bool is_calm(std::uint64_t count) const noexcept {
    return calm_.load(acquire) == count;  // see note_calm()
  }
  void note_calm(std::uint64_t count) noexcept {
    calm_.store(count, release);  // see calm_for()
  }

  // Its earliest moment, kNever if it has no deadline; any thread.
  std::int64_t deadline() const noexcept {
    return deadline_.load(relaxed);  // a value by itself
  }
  void set_deadline(std::int64_t when) noexcept {
    deadline_.store(when, relaxed);  // a value by itself
  }

  // A child of this nursery, on its own stack: at its first cancel point, and
  // when it ends. Or whoever opens and ends an Inside. False: this is stopped,
  // and nobody will tell.
  bool add(Listing& child) noexcept;
  void remove(Listing& child) noexcept;
  // The scope around must not have ended: asked first, without touching it.
  static void expect_around(const Inside& inner) noexcept;
  void remove_inside(Inside& inner) noexcept;

 private:
  static constexpr std::uint8_t kOver = 0x80;
  static constexpr std::uint8_t kTelling = 0x40;  // its stopper is not through
  static constexpr std::uint8_t kCause = 0x3F;
  static Stop stop_of(std::uint8_t state) noexcept;
  bool begin_stop(Cause why) noexcept;
  void tell_all(Cause why, Fiber*& owned, Inside*& inner) noexcept;
  void drop_lost() noexcept;
  void wait_for_stopper() const noexcept;
  [[noreturn]] static void die_not_innermost() noexcept;

  Scope* const parent_;
  Fiber* const covered_;
  const Kind kind_;
  Atomic<std::uint8_t> state_{0};  // a Cause, kOver, kTelling
  base::SpinLock lock_;
  base::IntrusiveList<Listing> untold_;  // guarded by lock_
  base::IntrusiveList<Listing> told_;    // guarded by lock_; once it is stopped
  Atomic<std::int64_t> deadline_{time::kNever};
  Tally<std::uint64_t> calm_;  // P5; 0: never looked
};

// Whoever holds the frame: cancels the fiber itself; as Scope::stop().
[[nodiscard]] Fiber* cancel(Fiber& fiber) noexcept;

// The fiber itself, at a cancel point, when its word says that it must look.
// Answers why it must stop, and tells the nurseries around it. owned: whom the
// caller enqueues, added at the front.
[[nodiscard]] Stop look(Fiber& self, Fiber*& owned) noexcept;
// The fiber itself, or whoever ends it: tells the nurseries around it, its own
// and those of the fibers around, that have a stopped scope around them and no
// shield between. It may be in a shield itself, inside of them. owned: the
// same.
void pass_on(const Fiber& self, Fiber*& owned) noexcept;

// The fiber itself, or whoever starts it: why must it stop, in that scope,
// which is its own or its base? Without telling anybody. Asks all around, up to
// the first shield. Its own shields hold nothing off if through_shields.
Stop stop_from(const Scope* scope, const Fiber& self,
               bool through_shields = false) noexcept;
// The same for its innermost. Shields of its own hold nothing off from one that
// waits for a recharge.
Stop stop_of(const Fiber& self) noexcept;
// The same from that scope, told or not: goes through all around it only once
// for each stop (P5).
Stop stop_around(Scope* scope, const Fiber& self) noexcept;
// Whoever starts the fiber, which was not cancelled itself: the same from its
// base.
Stop stop_around_base(const Fiber& fresh) noexcept;
Stop stop_around_counted(Scope* scope, const Fiber& self,
                         std::uint64_t count) noexcept;

// The fiber itself, which must stop: does what stops it stop the children of
// `base`, too? An address only; true if that is one of its own nurseries,
// inside of what was stopped.
bool stops_with(const Fiber& self, const Scope* base) noexcept;

// The timer of a scope that has a deadline.
class Timeout {
 public:
  explicit Timeout(Scope& scope) noexcept : scope_(scope) { node_.be_scope(); }
  Timeout(const Timeout&) = delete;
  Timeout& operator=(const Timeout&) = delete;

  static Timeout& of(time::TimerNode& node) noexcept {
    return *reinterpret_cast<Timeout*>(&node);
  }

  time::TimerNode& node() noexcept { return node_; }
  Scope& scope() noexcept { return scope_; }
  // Whoever takes it out of its heap, under the heap's lock: the scope stays
  // until fired().
  void begin_firing(Timeout*& list) noexcept {
    next_ = list;
    list = this;
    firing_.store(true, relaxed);  // the heap's lock orders it
  }
  Timeout* next() const noexcept { return next_; }
  void fired() noexcept {
    firing_.store(false, release);  // [firing]
  }
  // Whoever armed it, under what orders such calls: it does not fire any more.
  void disarm() noexcept;

 private:
  time::TimerNode node_;  // first: of() finds it
  Scope& scope_;
  Timeout* next_ = nullptr;
  Atomic<bool> firing_{false};
};

}  // namespace weft::fiber
