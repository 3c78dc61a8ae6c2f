// finish.cpp: the end of a fiber, its joiner, its nursery; children in place.

#include <utility>

#include "base/check.hpp"
#include "base/point.hpp"
#include "sched/dispatch.hpp"
#include "sched/stop.hpp"
#include "sched/worker.hpp"
#include "time/clock.hpp"

namespace weft::sched {

using Outcome = detail::Outcome;

namespace {

bool failed(const Fiber& fiber) noexcept {
  return fiber.outcome == Outcome::error || fiber.outcome == Outcome::exception;
}

}  // namespace

// A failure becomes the nursery's, unless it is the answer to a stop. Whom a
// sibling's failure stopped ends with that. Of a stop further out the nursery
// hears at the latest now, for its join to tell.
void Worker::report_failure(Fiber& fiber) noexcept {
  if (!fiber.answers_stop()) {
    if (fiber.outcome == Outcome::exception) {
      fail(fiber, {Errc::panicked, fiber.exception()});
    } else {
      fail(fiber, {fiber.error()});
    }
  } else if (fiber.family().stopped() == fiber::Stop::none) {
    pass_on(fiber);
  } else if (fiber.family().cause() == fiber::Cause::failure) {
    auto first = fiber.family().first_failure();
    if (first.exception != nullptr) {
      fiber.set_exception(std::move(first.exception));
    } else {
      fiber.set_error(first.error);
    }
  }
}

// The end of a body, on its own stack, still running: it may wait and move.
void Worker::wind_up(Fiber& self) noexcept {
  if (failed(self)) [[unlikely]]
    report_failure(self);
  if (self.owns_result() && self.join.is_dropped()) [[unlikely]]
    self.drop_result();  // nobody will come for it
  if (self.has_extras) {
    self.drop_locals();
    // Destructors may have left failures behind, too late for the outcome.
    auto& extras = *self.extras.load(relaxed);  // the fiber's own
    if (!(extras.inherited == Errc{})) {
      fail(self, {std::exchange(extras.inherited, Errc{}),
                  std::exchange(extras.inherited_exception, nullptr)});
    }
  }
  if (self.listed) self.delist();
}

// The stack is no longer the fiber's (J3). False: nobody holds the handle any
// more, so the frame is the caller's, and the result is still in it.
bool Worker::finish(Fiber& fiber) noexcept {
  Family* const family = &fiber.family();  // afterwards the frame may be gone
  fiber.word.done(fiber.skip_body);
  base::pass(base::Point::ended);
  const auto [joiner, is_ours] = fiber.join.finish();
  if (joiner != nullptr) settle_joiner(*joiner, true);
  if (is_ours) {
    if (fiber.owns_result()) [[unlikely]]
      return false;
    reclaim(fiber);
  }
  counters.finished.add();
  // The nursery hears of it when the worker turns to something else than its
  // children: until then its join could not return anyway.
  if (leaving_ != family && leaving_ != nullptr) flush_leaves();
  leaving_ = family;
  ++leaves_;
  scheduler_.one_less();
  return true;
}

void Worker::flush_leaves() noexcept {
  Family* family = std::exchange(leaving_, nullptr);
  const auto count = std::exchange(leaves_, 0);
  while (family != nullptr) {
    Family* const up = family->up();  // which waits for us; J5
    fiber::WaitNode* const joiner =
        family->leave(count) ? family->take_joiner() : nullptr;
    if (joiner != nullptr) settle_joiner(*joiner, true);
    family = up;
  }
}

// A fiber woken by the end of another runs next, past all queues; unless this
// worker goes on with what it runs.
void Worker::settle_joiner(fiber::WaitNode& joiner, bool run_next) noexcept {
  Fiber* owned = nullptr;
  (void)joiner.settle(fiber::Reason::data, owned);
  if (owned == nullptr) return;
  counters.woken.add();
  if (run_next && !owned->proxy && owned->pins == 0 && next_up_ == nullptr &&
      &Scheduler::of(*owned) == &scheduler_) {
    next_up_ = owned;
    counters.handed_over.add();
  } else {
    make_runnable(*owned);
  }
}

// May the joiner's stack carry the child? It must be the joiner's own child, of
// its innermost scope, so that whoever ends the join also ends the child; and
// find room. A child that may have to wait for a recharge has its own stack:
// the joiner may be the one who recharges it.
[[gnu::always_inline]] inline bool Worker::can_host(
    const Fiber& joiner, const Fiber& child) const noexcept {
  if (joiner.pins != 0 || child.word.is_metered() ||
      child.scope != joiner.scope || child.scope->covered() != &joiner) {
    return false;
  }
  const auto* here = static_cast<std::byte*>(__builtin_frame_address(0));
  const auto left = static_cast<std::size_t>(here - joiner.stack->low);
  // What was asked for, or most of what is usual: the joiner stands on a stack
  // of that size itself.
  return left >= (child.stack_pages == 0 ? scheduler_.usual_room()
                                         : scheduler_.stack_size(child));
}

// When the fair look is due the fiber yields first, so that a loop of spawns
// and joins, or of waits that have no time, starves nobody. If nobody seems to
// wait but its own kind, and the oldest of those is not overdue, most looks are
// skipped: two computations that take turns often would pile their children
// onto each other, out of the reach of their joins. Not all: what is cheap to
// ask here knows neither those who yielded nor other workers' deadlines.
void Worker::look_if_due(After as) noexcept {
  if (simulator != nullptr) return;  // it has been asked already
  if (scheduler_.idle.high_waits()) {
    until_fair_ = 2;  // the look comes after the first of them
    return yield_otherwise(*current, as);
  }
  if (++skipped_looks_ < kSkippedLooks && nobody_waits() && !look_at_oldest() &&
      (queues.timers.next_deadline() == time::kNever ||
       queues.timers.next_deadline() > time::now())) {
    until_fair_ = kFairInterval;
    return;
  }
  yield_otherwise(*current, as);
}

// Who joins newest first finds its child at one end of a queue, who joins in
// the order of the spawns at the other.
inline bool Worker::take_unstarted(Fiber& child) noexcept {
  if (queues.recent.pop_at_end(&child)) [[likely]]
    return true;
  Fiber* taken = nullptr;
  if (queues.deque.peek() == &child) {
    taken = queues.deque.pop();
  } else if (queues.deque.peek_oldest() == &child) {
    taken = queues.deque.steal().task;
  }
  if (taken == nullptr || taken == &child) return taken != nullptr;
  put_back(*taken);  // a thief had the child; this came instead
  return false;
}

// The child's whole life, as a call on the joiner's stack. Answers where the
// joiner goes on.
[[gnu::always_inline]] inline Worker& Worker::call_in_place(
    Fiber& joiner, Fiber& child, fiber::Started started) noexcept {
  child.skip_body = must_skip(child, started);
  child.stack = joiner.stack.get();
  fiber::Listing listing;
  listing.fiber = &child;
  listing.below = static_cast<fiber::Listing*>(child.stack->listing);
  child.stack->listing = &listing;
  child.stack->owner.store(&child, relaxed);  // see Fiber::enlist()
  child.host = &joiner;
  current = &child;
  const bool in_flight = !exceptions_->empty();
  if (in_flight) [[unlikely]] {
    joiner.exceptions = std::exchange(*exceptions_, {});
  }
  const auto controls = context::current_controls();
  context::change_controls(controls, controls_);  // as on a stack of its own
  child.run_body();  // may park, move, run children of its own in place
  if (child.needs_care()) [[unlikely]]
    wind_up(child);
  context::change_controls(context::current_controls(), controls);
  Worker& now = this_worker();
  check_unlocked(now);
  if (in_flight) [[unlikely]]
    *now.exceptions_ = joiner.exceptions;
  now.current = &joiner;
  joiner.word.unhost(now.id());
  joiner.stack->listing = listing.below;
  joiner.take_back_stack();
  child.host = nullptr;
  child.stack = nullptr;
  now.counters.finished.add();
  now.counters.in_place.add();
  child.word.done(child.skip_body);
  static_cast<Family*>(child.scope)->left_here();
  now.scheduler_.one_less();
  return now;
}

bool Worker::run_in_place(Fiber& joiner, Fiber& child) noexcept {
  if (scheduler_.idle.high_waits()) [[unlikely]]
    return false;  // those go first
  if (child.word.state_now() != fiber::State::fresh || !take_unstarted(child)) {
    return false;
  }
  // Asked once it is ours and cannot end.
  if (!can_host(joiner, child) || !child.join.begin_in_place()) {
    put_back(child);
    return false;
  }
  call_in_place(joiner, child, child.word.start_alone(id()));
  child.join.finish_in_place();
  return true;
}

bool Worker::run_any_in_place(Fiber& joiner, Family& family) noexcept {
  Fiber* taken = nullptr;
  if (scheduler_.idle.calm()) [[likely]] {
    taken = pop_own();
  } else if (!scheduler_.idle.high_waits()) {  // those go first
    taken = pop_newest();
  }
  if (taken == nullptr) return false;
  // The next child's word and closure: its body is a call away.
  if (const auto* const after = queues.recent.newest_hint()) {
    __builtin_prefetch(&after->word);
    __builtin_prefetch(&after->storage);
  }
  if (taken->word.state_now() != fiber::State::fresh ||
      taken->scope != &family || !can_host(joiner, *taken)) {
    put_back(*taken);
    return false;
  }
  const bool dropped = taken->join.is_dropped();
  auto& here = call_in_place(
      joiner, *taken,
      dropped ? taken->word.start_alone(id()) : taken->word.start(id()));
  if (!dropped) [[unlikely]] {
    const auto [holder, reclaim] = taken->join.finish();
    if (holder != nullptr) here.settle_joiner(*holder, false);
    // A result that was given up just now: its destructor may wait, and move.
    if (reclaim) here.scheduler_.reclaim(*taken);
    return true;
  }
  here.reclaim(*taken);
  return true;
}

// Its place was empty for a moment: a worker that went to sleep then has not
// seen it.
void Worker::put_back(Fiber& fiber) noexcept {
  push_local(fiber);
  notify_local();
}

}  // namespace weft::sched
