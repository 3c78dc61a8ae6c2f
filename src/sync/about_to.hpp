// about_to.hpp: what a call of a public class begins with.
#pragma once

#include "sched/interleave.hpp"
#include "wait/wait.hpp"

namespace weft::sync {

// Before a call that does not wait. The fiber or thread that asks.
inline fiber::Fiber& about_to(sched::Op op, const void* object) noexcept {
  sched::interleave(op, object);
  return *sched::carrier().current;
}

// Before one that may. Dies if a spin lock is held.
inline fiber::Fiber& about_to_wait(sched::Op op, const void* object) noexcept {
  auto& here = sched::carrier();
  sched::check_may_park(here);
  sched::interleave(here, op, object);
  return *here.current;
}

// The same, and a cancel point. Errors: cancelled.
inline Status cancel_point(const void* object,
                           sched::Op op = sched::Op::wait) noexcept {
  auto& self = about_to_wait(op, object);
  if (waiting::must_stop(self)) return waiting::refuse_stopped(self);
  return {};
}

}  // namespace weft::sync
