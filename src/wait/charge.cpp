#include "wait/charge.hpp"

#include <cerrno>
#include <utility>

#include "sched/scheduler.hpp"
#include "sched/simulator.hpp"
#include "sched/stop.hpp"
#include "wait/wait.hpp"

namespace weft::waiting {

namespace {

// What stops the fiber as a whole: the nursery that started it, or the scope
// around its body that has its own deadline.
fiber::Scope* base_of(const Fiber& self) noexcept {
  const auto* const timed = self.extras.load(relaxed)->timed_scope;  // its own
  auto* base = self.scope;
  while (base->covered() == &self && base != timed) base = base->parent();
  return base;
}

// The fiber does not come to a cancel point, and has nothing left to spend. It
// ends where it stands: its children first, which must not outlive it. Comes
// here again from the destructors of its result, if it was already winding up,
// and of its locals, which pay as well: each time one less is left.
[[noreturn]] void give_up(Fiber& self) noexcept {
  Purse& purse = *Purse::of(self);
  purse.end_grace();  // before anything comes back
  while (Fiber* const child = purse.filling())
    child->family().take_back(*child);
  fiber::Scope::lose_some();
  self.unchecked = true;  // what scopes close at their end is closed
  while (self.scope->covered() == &self) {
    auto& own = *self.scope;
    if (own.is_nursery()) {
      auto& family = static_cast<fiber::Family&>(own);
      (void)sched::stop(family, fiber::Cause::outer_cancel);
      (void)for_family(family, Deadline::never());
    }
    own.abandon();
  }
  self.unchecked = false;
  if (self.owns_result()) self.drop_result();
  self.drop_locals();  // and closes its account: the last that pays
  sched::this_worker().abandon_current(Error::out_of(Resource::ops));
}

// In a shield, too, it learns that it must stop; then it is out of what it
// waits for, and no more than that.
Status wait_and_take(Fiber& self, Purse& purse, const Price& price,
                     Deadline deadline) noexcept {
  self.broke = true;
  self.word.look_again();  // what it saw before was seen with the shield
  const Status paid = purse.take_or_wait(price, deadline);
  self.broke = false;
  if (paid || paid.error() == Errc::exhausted) return paid;
  if (fiber::stop_of(self) != fiber::Stop::none) return paid;
  if (paid.error() == Errc::timed_out && deadline.expired()) return paid;
  self.word.look_again();  // whom it has not told in the shield
  return Error::out_of(purse.lacks(price));
}

// Only what stops the fiber as a whole ends the wait. Its own scopes do not:
// it cannot be told, and if it is never recharged they do no harm.
Status wait_at_base(Fiber& self, Purse& purse, const Price& price) noexcept {
  auto* const innermost = std::exchange(self.scope, base_of(self));
  self.word.look_again();  // what it saw before was seen with its scopes
  const Status paid = purse.take_or_wait(price, Deadline::never());
  self.scope = innermost;
  self.word.look_again();  // at the scopes that were left out
  return paid;
}

}  // namespace

Status charge_short(Fiber& self, const Price& price, bool may_wait,
                    Deadline deadline) noexcept {
  Purse& purse = *Purse::of(self);
  if (!may_wait) return purse.take_refilled(price);
  return wait_and_take(self, purse, price, deadline);
}

namespace {

// Compiled code and the system's calls are one: it may look at errno after what
// looks like nothing, and on another thread. Each call asks where it is.
[[gnu::noinline]] int load_errno() noexcept { return errno; }
[[gnu::noinline]] void store_errno(int value) noexcept { errno = value; }
struct KeepErrno {
  KeepErrno() noexcept : kept(load_errno()) {}
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;
  ~KeepErrno() { store_errno(kept); }
  const int kept;
};

// May the fiber park or yield here? Not under a spin lock, nor where others
// wait for what it is about to do, nor in a signal handler on its own stack.
bool may_leave(const sched::Carrier& here) noexcept {
  const Fiber* const self = here.current;
  return here.worker != nullptr && self != nullptr && here.lock_depth == 0 &&
         !here.no_stack && !self->unchecked &&
         self->word.state_now() == fiber::State::running &&
         self->stack->carries_caller() &&
         sched::count_foreign_locks() <=
             (here.simulator != nullptr ? here.simulator->outer_locks() : 0);
}

// May it take a lock? A signal handler may have interrupted who has that one:
// on a stack of its own, or where a lock is held. Then what is in the purse has
// to do.
bool may_lock(const sched::Carrier& here) noexcept {
  return here.lock_depth == 0 &&
         (here.no_stack || here.current->stack->carries_caller());
}

}  // namespace

void pass_turn() noexcept {
  auto& here = sched::carrier();
  if (!may_leave(here)) return;
  const KeepErrno keep_errno;
  here.current.begin_turn(here.current->word.is_metered());
  if (here.simulator != nullptr) {
    here.simulator->yield(here);
  } else {
    here.worker->pass_turn();
  }
}

void charge_or_wait(Fiber& self, const Price& price) noexcept {
  Purse& purse = *Purse::of(self);
  const auto& here = sched::carrier();
  const bool paid = may_lock(here) ? purse.take_refilled(price).has_value()
                                   : purse.take(price);
  if (!paid && may_leave(here)) {
    const KeepErrno keep_errno;
    while (!wait_at_base(self, purse, price)) {
      if (!purse.take_grace(price)) give_up(self);
    }
  }
  if (!sched::carrier().current.count_metered(price.ops)) pass_turn();
}

Status charge_or_tell(Fiber& self, const Price& price,
                      Deadline deadline) noexcept {
  const KeepErrno keep_errno;
  const auto& here = sched::carrier();
  if (self.word.is_metered() && !may_lock(here)) {
    Purse& purse = *Purse::of(self);
    if (purse.take(price)) return {};
    return Error::out_of(purse.lacks(price));
  }
  const bool may_wait = may_leave(here);
  if (Status paid = charge(self, price, may_wait, deadline); !paid) return paid;
  if (!sched::carrier().current.count_metered(price.ops)) pass_turn();
  return {};
}

}  // namespace weft::waiting
