#include "fiber/scope.hpp"

#include <mutex>
#include <utility>

#include "base/check.hpp"
#include "fiber/fiber.hpp"

namespace weft::fiber {

namespace {

// Fibers of the process that were given up. What one had opened may have been
// on the heap, and have come from anywhere: so from then on a nursery that is
// left inside of another is nobody's mistake for certain.
constinit Atomic<std::uint64_t> lost_fibers{0};

void wake_to_look(Fiber& fiber, Fiber*& owned) noexcept {
  if (fiber.word.nudge() != Unparked::owns) return;
  fiber.next = owned;
  owned = &fiber;
}

// The caller keeps the fiber from ending, and enqueues whoever it owns then. A
// guest that runs on the fiber's stack looks in its place; it may be gone, and
// its frame somebody else's, who then looks for nothing (P3).
void tell_guest(const Fiber& fiber, Fiber*& owned) noexcept {
  stack::Stack* const stack = fiber.stack;
  if (stack == nullptr) return;  // a thread; or it has no stack, and no guest
  auto* const top =
      static_cast<Fiber*>(stack->owner.load(relaxed));  // see enlist()
  if (top != nullptr && top != &fiber) wake_to_look(*top, owned);
}

void tell(Fiber& fiber, Fiber*& owned) noexcept {
  wake_to_look(fiber, owned);
  tell_guest(fiber, owned);
}

Cause outer(Stop why) noexcept {
  return why == Stop::timed_out ? Cause::outer_deadline : Cause::outer_cancel;
}

// Two lists of fibers, linked by next.
void prepend(Fiber* more, Fiber*& owned) noexcept {
  if (more == nullptr) return;
  Fiber* last = more;
  while (last->next != nullptr) last = last->next;
  last->next = owned;
  owned = more;
}

}  // namespace

void Scope::die_not_innermost() noexcept {
  WEFT_CHECK(false,
             "a scope (Nursery, CancelScope, Shield) ends while one that was "
             "opened inside of it is still open, or on another fiber");
}

void Scope::lose_some() noexcept {
  lost_fibers.fetch_add(1, relaxed);  // its end orders it
}
std::uint64_t Scope::lost() noexcept {
  return lost_fibers.load(relaxed);  // who asks has seen their end
}

// Whoever closes it: nurseries are left inside.
void Scope::drop_lost() noexcept {
  if (lost() == 0) die_not_innermost();
  for (auto* const list : {&untold_, &told_}) {
    while (Listing* const inner = list->pop_front()) {
      static_cast<Inside*>(inner)->left.store(true, relaxed);  // for misuse
    }
  }
}

Stop Scope::stop_of(std::uint8_t state) noexcept {
  if ((state & kOver) != 0) return Stop::none;
  const auto cause = static_cast<Cause>(state & kCause);
  return cause == Cause::deadline || cause == Cause::outer_deadline
             ? Stop::timed_out
             : Stop::cancelled;
}

bool Scope::begin_stop(Cause why) noexcept {
  std::uint8_t running = 0;
  const auto stopped =
      static_cast<std::uint8_t>(static_cast<std::uint8_t>(why) | kTelling);
  // [stop]
  if (!state_.compare_exchange_strong(running, stopped, acq_rel, relaxed)) {
    return false;
  }
  stops_begun().fetch_add(1, release);  // P5
  return true;
}

// Adds the nurseries inside that are still to be told, without the lock: they
// have children of their own. They wait for that before they go.
void Scope::tell_all(Cause why, Fiber*& owned, Inside*& inner) noexcept {
  constexpr int kBatch = 64;  // told under one hold of the lock
  if (!begin_stop(why)) return;
  if (covered_ != nullptr) tell(*covered_, owned);
  for (bool more = true; more;) {
    const std::lock_guard guard(lock_);
    for (int i = 0; i < kBatch && !untold_.empty(); ++i) {
      Listing& child = *untold_.pop_front();
      child.told = true;
      told_.push_back(child);
      if (child.fiber != nullptr) [[likely]] {
        tell(*child.fiber, owned);
      } else {
        auto& nursery = static_cast<Inside&>(child);
        nursery.waits.store(true, relaxed);  // the lock orders it
        nursery.next = std::exchange(inner, &nursery);
      }
    }
    more = !untold_.empty();
  }
  constexpr auto kDone = static_cast<std::uint8_t>(~kTelling);
  state_.fetch_and(kDone, release);  // [leave]
}

void Scope::wait_for_stopper() const noexcept {
  // [leave]
  spin_until([this] { return (state_.load(acquire) & kTelling) == 0; });
}

Fiber* Scope::stop(Cause why) noexcept {
  Fiber* owned = nullptr;
  Inside* inner = nullptr;  // to be told; by a list, they may be nested deeply
  tell_all(why, owned, inner);
  const auto as = outer(stop_of(static_cast<std::uint8_t>(why)));
  while (inner != nullptr) {
    Inside& nursery = *std::exchange(inner, inner->next);
    nursery.scope.tell_all(as, owned, inner);
    nursery.waits.store(false, release);  // [told]
  }
  return owned;
}

bool Scope::add(Listing& child) noexcept {
  const std::lock_guard guard(lock_);
  child.told = stopped() != Stop::none;
  (child.told ? told_ : untold_).push_back(child);
  return !child.told;
}

void Scope::expect_around(const Inside& inner) noexcept {
  if (inner.left.load(relaxed)) die_not_innermost();  // misuse, after a loss
}
void Scope::remove_inside(Inside& inner) noexcept {
  remove(inner);
  spin_until([&inner] { return !inner.waits.load(acquire); });  // [told]
}

void Scope::remove(Listing& child) noexcept {
  const std::lock_guard guard(lock_);
  (child.told ? told_ : untold_).remove(child);
}

Fiber* cancel(Fiber& fiber) noexcept {
  Fiber* owned = nullptr;
  if (fiber.word.cancel() == Unparked::owns) {
    fiber.next = owned;
    owned = &fiber;
  }
  stops_begun().fetch_add(1, release);  // P5
  tell_guest(fiber, owned);
  return owned;
}

// Is it told to stop by its own nursery, or by something around that?
bool stops_with(const Fiber& self, const Scope* base) noexcept {
  for (const Scope* own = self.scope; own != nullptr; own = own->parent()) {
    if (own->covered() != &self) return false;
    if (own == base) return stop_from(own, self) != Stop::none;
    if (own->stopped() != Stop::none || own->is_shield()) return false;
  }
  return false;
}

Stop stop_from(const Scope* scope, const Fiber& self,
               bool through_shields) noexcept {
  const Fiber* fiber = &self;  // whose the scope is; nullptr: nobody's
  for (; scope != nullptr; scope = scope->parent()) {
    if (const auto why = scope->stopped(); why != Stop::none) return why;
    if (scope->is_shield() && !(through_shields && scope->covered() == &self)) {
      return Stop::none;
    }
    if (scope->covered() == fiber) continue;
    if (fiber != nullptr && fiber->word.cancelled()) return Stop::cancelled;
    fiber = scope->covered();  // the base of one, and the scope of another
  }
  return fiber != nullptr && fiber->word.cancelled() ? Stop::cancelled
                                                     : Stop::none;
}

Stop stop_around_counted(Scope* scope, const Fiber& self,
                         std::uint64_t count) noexcept {
  const auto why = stop_from(scope, self, self.broke);
  if (why != Stop::none || self.broke) return why;
  for (; scope != nullptr; scope = scope->parent()) {
    scope->note_calm(count);
    if (scope->covered() != &self) break;  // its base
    if (scope->is_shield()) break;         // what is outside was not looked at
  }
  return why;
}

namespace {

// Nurseries from one scope outwards, up to another that is around it.
void stop_nurseries(Scope* from, const Scope* to, Stop why,
                    Fiber*& owned) noexcept {
  for (; from != to; from = from->parent()) {
    if (from->is_nursery() && from->stopped() == Stop::none) {
      prepend(from->stop(outer(why)), owned);
    }
  }
}

}  // namespace

// As stop_from(), but for each scope on the way, and to the very end.
void pass_on(const Fiber& self, Fiber*& owned) noexcept {
  const Fiber* fiber = &self;
  Scope* open = self.scope;  // from here on nothing was stopped so far
  for (Scope* at = self.scope; at != nullptr; at = at->parent()) {
    const bool is_base = at->covered() != fiber;
    if (const auto why = at->stopped(); why != Stop::none) {
      stop_nurseries(open, at, why, owned);
      open = at->parent();
    } else if (is_base && fiber != nullptr && fiber->word.cancelled()) {
      stop_nurseries(open, at, Stop::cancelled, owned);
      open = at;
    }
    if (at->is_shield()) open = at->parent();
    fiber = at->covered();
  }
}

Stop look(Fiber& self, Fiber*& owned) noexcept {
  if (!self.listed && self.stack.get() != nullptr) self.enlist();
  self.word.begin_look();  // P2
  const auto why = stop_of(self);
  pass_on(self, owned);
  if (why != Stop::none) self.word.look_again();
  return why;
}

void Timeout::disarm() noexcept {
  if (node_.heap == nullptr) return;  // never armed
  if (static_cast<time::TimerHeap*>(node_.heap)->disarm(node_)) return;
  spin_until([this] { return !firing_.load(acquire); });  // [firing]
}

}  // namespace weft::fiber
