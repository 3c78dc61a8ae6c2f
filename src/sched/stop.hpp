// stop.hpp: stops scopes, and wakes those who are told.
#pragma once

#include <cstdint>

#include "fiber/family.hpp"
#include "fiber/fiber.hpp"

namespace weft::sched {

class Scheduler;

// Any thread that keeps the scope from ending. Answers how many fibers that
// made runnable.
unsigned stop(fiber::Scope& scope, fiber::Cause why) noexcept;

// The same, if its deadline has passed: whoever asks may be the only one who
// runs, so that no worker looks at the clock for it.
void stop_if_due(fiber::Scope& scope) noexcept;

// Who holds the handle: cancels this fiber.
void cancel(fiber::Fiber& fiber) noexcept;

// Any thread that keeps the nursery from ending: a child of it failed, or could
// not be started. Stops the others, if that is its rule.
void fail(fiber::Family& family, const fiber::Failure& failure) noexcept;
// The same, of this child, which runs or has just ended.
void fail(fiber::Fiber& child, const fiber::Failure& failure) noexcept;

// The fiber itself: must it stop at this cancel point?
fiber::Stop look(fiber::Fiber& self) noexcept;
inline fiber::Stop stopped_here(fiber::Fiber& self) noexcept {
  return self.word.must_look() ? look(self) : fiber::Stop::none;
}

// The same of one that computes, and may keep those from their worker who would
// tell it: told or not.
inline fiber::Stop stopped_around(fiber::Fiber& self) noexcept {
  if (!self.word.must_look() &&
      fiber::stop_around(self.scope, self) == fiber::Stop::none) {
    return fiber::Stop::none;
  }
  return look(self);
}
// Whoever ends the fiber, which was stopped: its nurseries may not know yet.
void pass_on(const fiber::Fiber& self) noexcept;

// Whoever orders calls for this timeout: its scope is stopped at `when`, which
// is not kNever. Stops nobody itself. False: no memory.
[[nodiscard]] bool arm(Scheduler& scheduler, fiber::Timeout& timeout,
                       std::int64_t when) noexcept;

}  // namespace weft::sched
