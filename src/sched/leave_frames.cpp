// leave_frames.cpp: tasks that are there when their runtime goes, because a
// fiber that had some was given up.
//
// Most of them lie on its stack, and nobody will ever look at them. But one may
// also be somebody's who has been careless. Which is which nobody knows: so all
// frames stay in memory, and belong to a scheduler that never runs anything.

#include "sched/scheduler.hpp"

namespace weft::sched {

namespace {

Scheduler& heir() {
  static auto* const it = new Scheduler(Config{});  // as long as the process
  return *it;
}

}  // namespace

// What the frames hold goes now. Who joins one later learns that it has ended.
void Scheduler::leave_frames() noexcept {
  frames.for_each([](Fiber& fiber) {
    if (fiber.word.state_now() != fiber::State::done) return;
    if (fiber.outcome != Fiber::Outcome::none) fiber.drop_result();
    fiber.set_error(Errc::closed);
    if (fiber.has_extras) fiber.drop_extras();
  });
  frames.leave_to(&heir());
}

}  // namespace weft::sched
