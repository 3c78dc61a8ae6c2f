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

[[gnu::noinline]] Status park_for_end(Fiber& child, Deadline deadline,
                                      bool shield = false) noexcept {
  Wait wait;
  if (&child == &wait.self()) return Errc::invalid;
  if (wait.begin(shield) == Begun::cancelled) {
    return refuse_cancelled(wait.self());
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
  return child.join.is_done() ? Status() : outcome(who);
}

// Never in place: whether there is room depends on the compiler, and no choice
// may depend on that.
[[gnu::noinline]] Status for_end_simulated(Fiber& child,
                                           Deadline deadline) noexcept {
  sched::interleave(sched::Op::join, &child);
  Fiber& self = *sched::carrier().current;
  if (self.word.cancelled()) return refuse_cancelled(self);
  return child.join.is_done() ? Status() : park_for_end(child, deadline);
}

}  // namespace

Status for_end(Fiber& child, Deadline deadline) noexcept {
  auto& here = sched::carrier();
  sched::check_may_park(here);
  if (here.simulator != nullptr) [[unlikely]] {
    return for_end_simulated(child, deadline);
  }
  Fiber& self = *here.current;
  if (self.word.cancelled()) [[unlikely]]
    return refuse_cancelled(self);
  if (child.join.is_done()) return {};
  if (deadline == Deadline::never() && here.worker != nullptr &&
      &child != &self) {
    here.worker->count_as_dispatch();
    if (sched::this_worker().run_in_place(self, child)) return {};
  }
  return park_for_end(child, deadline);
}

void for_end_shielded(Fiber& child) noexcept {
  sched::check_may_park(sched::carrier());
  sched::interleave(sched::Op::join, &child);
  if (child.join.is_done()) return;
  (void)park_for_end(child, Deadline::never(), /*shield=*/true);
}

Status for_family(Family& family, Deadline deadline) noexcept {
  if (family.settled()) return {};
  sched::interleave(sched::Op::join_all, &family);
  for (;;) {
    if (family.settled()) return {};
    auto& here = sched::carrier();
    sched::check_may_park(here);
    Wait wait;
    Fiber& self = wait.self();
    if (here.worker != nullptr && deadline == Deadline::never() &&
        here.simulator == nullptr) {
      sched::this_worker().count_as_dispatch();
      if (sched::this_worker().run_any_in_place(self, family)) continue;
    }
    (void)wait.begin(true);
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
    if (gave_up) return outcome(who);
    family.reset();
    return {};
  }
}

}  // namespace weft::waiting
