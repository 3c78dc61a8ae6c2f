// join.cpp: waiting for the end of one fiber, or of a whole family.

#include "base/point.hpp"
#include "fiber/family.hpp"
#include "fiber/fiber.hpp"
#include "sched/interleave.hpp"
#include "sched/worker.hpp"
#include "wait/wait.hpp"

namespace weft::waiting {

using fiber::Family;
using fiber::JoinWord;

namespace {

[[gnu::noinline]] Status park_for_end(Fiber& child, const fiber::Scope* base,
                                      Deadline deadline,
                                      bool shield = false) noexcept {
  for (;;) {
    Wait wait;
    Fiber& self = wait.self();
    if (&child == &self) return Errc::invalid;
    if (wait.begin(shield) == Begun::cancelled) {
      if (child.join.is_done()) return {};
      if (!fiber::stops_with(self, base)) return refuse_stopped(self);
      shield = true;
      continue;
    }
    WaitNode node;
    wait.own(node);
    node.linked();
    base::pass(base::Point::joining);
    const auto entered = child.join.enter(node);
    if (entered != JoinWord::Entered::waiting) {
      (void)wait.withdraw();
      wait.end();
      return entered == JoinWord::Entered::done ? Status() : Errc::invalid;
    }
    const auto who = wait.park(deadline);
    if (!node.gone() && !child.join.leave(node)) until_gone(node);
    wait.end();
    // Ended is ended, whoever won the claim.
    if (child.join.is_done()) return {};
    const Status end = outcome(who);
    if (who != Who::cancelled || !fiber::stops_with(self, base)) return end;
    shield = true;
  }
}

// The one who waits for the family must stop. If it is not in the family's
// scope, as the owner of a root is not, nobody has told the children.
void stop_from_outside(Fiber& self, Family& family) noexcept {
  const auto why = sched::look(self);
  (void)sched::stop(family, why == fiber::Stop::timed_out
                                ? fiber::Cause::outer_deadline
                                : fiber::Cause::outer_cancel);
}

// Before a child runs in place: one that must not start is not to. Does not put
// the fiber into its nursery's list, which is for those that wait.
inline void tell_if_stopped(Fiber& self) noexcept {
  if (fiber::stop_around(self.scope, self) != fiber::Stop::none) [[unlikely]]
    (void)sched::look(self);
}

// Children of the family, as long as there are any here. The owner asks what is
// around it again only when somebody was stopped since it last did (P5).
void run_in_place(Fiber& self, Family& family) noexcept {
  std::uint64_t calm = 0;
  do {
    const auto count = fiber::stops_begun().load(acquire);  // P5
    if (count != calm) {
      tell_if_stopped(self);
      calm = count;
    }
    sched::this_worker().count_as_dispatch();
  } while (sched::this_worker().run_any_in_place(self, family) &&
           !family.settled());
}

// Never in place: whether there is room depends on the compiler, and no choice
// may depend on that.
[[gnu::noinline]] Status for_end_simulated(Fiber& child,
                                           const fiber::Scope* base,
                                           Deadline deadline) noexcept {
  sched::interleave(sched::Op::join, &child);
  return child.join.is_done() ? Status() : park_for_end(child, base, deadline);
}

}  // namespace

Status for_end(Fiber& child, const fiber::Scope* base,
               Deadline deadline) noexcept {
  auto& here = sched::carrier();
  sched::check_may_park(here);
  if (here.simulator != nullptr) [[unlikely]] {
    return for_end_simulated(child, base, deadline);
  }
  if (child.join.is_done()) return {};
  Fiber& self = *here.current;
  if (deadline == Deadline::never() && here.worker != nullptr &&
      &child != &self) {
    tell_if_stopped(self);
    here.worker->count_as_dispatch();
    if (sched::this_worker().run_in_place(self, child)) return {};
  }
  return park_for_end(child, base, deadline);
}

void for_end_shielded(Fiber& child) noexcept {
  sched::check_may_park(sched::carrier());
  sched::interleave(sched::Op::join, &child);
  if (child.join.is_done()) return;
  (void)park_for_end(child, nullptr, Deadline::never(), /*shield=*/true);
}

Status for_family(Family& family, Deadline deadline) noexcept {
  if (family.settled()) return {};
  sched::interleave(sched::Op::join_all, &family);
  // Until it is told to stop, which it passes on to the children.
  bool shield = family.stopped() != fiber::Stop::none;
  for (;;) {
    if (family.settled()) return {};
    auto& here = sched::carrier();
    sched::check_may_park(here);
    Fiber& self = *here.current;
    if (here.worker != nullptr && deadline == Deadline::never() &&
        here.simulator == nullptr) {
      run_in_place(self, family);
      if (family.settled()) return {};
    }
    Wait wait(self);
    if (wait.begin(shield) == Begun::cancelled) {
      stop_from_outside(self, family);
      shield = true;
      continue;
    }
    WaitNode node;
    wait.own(node);
    node.linked();
    if (family.open_join(node)) {  // nobody has seen the node
      (void)wait.withdraw();
      wait.end();
      family.reset();
      return {};
    }
    const auto who = wait.park(deadline);
    const bool gave_up = !node.gone() && family.give_up(node);
    if (!gave_up) until_gone(node);
    wait.end();
    if (!gave_up) {
      family.reset();
      return {};
    }
    if (who != Who::cancelled) return outcome(who);
    stop_from_outside(self, family);
    shield = true;
  }
}

}  // namespace weft::waiting
