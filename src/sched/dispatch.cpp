// dispatch.cpp: from one fiber to the next, and what each switch leaves to do.

#include "sched/dispatch.hpp"

#include <utility>

#include "base/check.hpp"
#include "base/point.hpp"
#include "sched/foreign_locks.hpp"
#include "sched/simulator.hpp"
#include "sched/stop.hpp"

namespace weft::sched {

// What the sanitizers know of a stack; nullptr: the thread's own.
inline context::Ground Worker::ground_of(stack::Stack* stack) noexcept {
  if (stack == nullptr) return {&loop_handle_, thread_low_, thread_size_};
  return {&stack->sanitizer, stack->low,
          static_cast<std::size_t>(stack->top() - stack->low)};
}

inline stack::Stack* Worker::stack_for(const Fiber& fresh,
                                       std::size_t size) noexcept {
  if (simulator != nullptr &&
      simulator->injects(testing::Fault::allocation_failure, fresh)) {
    return nullptr;
  }
  return stacks_.take(size);
}

Fiber* Worker::begin(Fiber& fresh, stack::Stack* reuse) noexcept {
  const auto size = scheduler_.stack_size(fresh);
  auto* stack =
      reuse != nullptr && reuse->size == size ? reuse : stack_for(fresh, size);
  const auto started = fresh.join.is_dropped() ? fresh.word.start_alone(id())
                                               : fresh.word.start(id());
  fresh.skip_body = must_skip(fresh, started);
  if (stack == nullptr) [[unlikely]] {
    Fiber* const before = current;
    current = &fresh;  // for destructors
    no_stack = true;   // they run on one that is not theirs: they may not wait
    hold(&fresh, __builtin_return_address(0));
    fresh.body->drop_closure(fresh.storage.bytes);
    if (fresh.has_extras) fresh.drop_locals();
    no_stack = false;
    let_go();
    fresh.set_error(fresh.skip_body ? Error(to_errc(stop_of(fresh)))
                                    : Error::out_of(Resource::stacks));
    if (fresh.skip_body) {
      pass_on(fresh);
    } else {
      report_failure(fresh);
    }
    (void)finish(fresh);
    current = before;
    return nullptr;
  }
  fresh.stack = stack;
  stack->owner.store(&fresh, relaxed);  // published with the fiber's word
  if (stack != reuse) {
    fresh.exceptions = {};
    context::adopt_stack(stack->sanitizer, stack->leases);
    context::prepare(fresh.context, stack->top(), &Worker::fiber_main, nullptr,
                     &Worker::fiber_returned, controls_);
  }
  return &fresh;
}

// The switch itself. On return, maybe much later, on the same stack and maybe
// on another thread; `this` is of no use then.
[[gnu::noinline]] void Worker::leave(context::Context& here, stack::Stack* from,
                                     bool ends, Fiber* to) noexcept {
  current = to;
  context::Context* there = &loop_context_;
  if (to != nullptr) {
    *exceptions_ = to->exceptions;
    current.begin_turn(to->word.is_metered());
    counters.dispatched.add();
    there = &to->context;
  } else {
    *exceptions_ = {};
  }
  context::leave_stack(ground_of(from),
                       ground_of(to != nullptr ? to->stack.get() : nullptr),
                       ends);
  weft_switch_context(&here, there);  // the only switch: see switch_*.S
}

void Worker::check_canary(const stack::Stack& stack) const noexcept {
  if (has_canaries() && !stack::canary_intact(stack)) {
    stack::report_overflow(stack);
  }
}

// Tests only: every wait must put up with it.
inline bool Worker::wakes_for_nothing(const Fiber& parked) noexcept {
  if (simulator == nullptr) return base::stray_wake();
  return simulator->injects(testing::Fault::spurious_wake, parked);
}

// The same while nobody else can: true if it is this worker's again.
bool Worker::wake_for_nothing(Fiber& parked) noexcept {
  return wakes_for_nothing(parked) &&
         parked.word.unpark() == fiber::Unparked::owns;
}

// Its hosts can be told from now on, but may have been told before: then the
// guest is not to park (P4).
void Worker::look_for_hosts(Fiber& guest) noexcept {
  if (guest.word.is_shielded() || stop_of(guest) == fiber::Stop::none) return;
  (void)guest.word.nudge();  // it does not park; this worker still owns it
}

void Worker::arrive_otherwise() noexcept {
  switch (std::exchange(after_, After::nothing)) {
    case After::nothing:
      break;
    case After::took_turn:
      check_canary(*after_fiber_->stack);
      queues.turns.end_turn(after_fiber_);
      if (scheduler_.idle.hungry()) scheduler_.notify();
      break;
    case After::yielded:
      check_canary(*after_fiber_->stack);
      keep(*after_fiber_);
      break;
    case After::looked:
      check_canary(*after_fiber_->stack);
      keep(*after_fiber_, may_keep());
      break;
    case After::parking:
      check_canary(*after_fiber_->stack);
      mark_hosts(*after_fiber_);
      if (after_fiber_->host != nullptr) look_for_hosts(*after_fiber_);
      base::pass(base::Point::parking);
      if (wakes_for_nothing(*after_fiber_)) (void)after_fiber_->word.unpark();
      if (after_fiber_->word.commit() == fiber::Committed::resume_now) {
        keep(*after_fiber_);
      }
      break;
    case After::waiting_locked:  // arrive() sees to it
      break;
    case After::stopped:
      check_canary(*after_fiber_->stack);
      break;
    case After::ended:
      stacks_.put(after_stack_);
      break;
    case After::lost:
      context::keep_stack_reachable(ground_of(after_stack_));
      scheduler_.stacks.lose(after_stack_);
      break;
  }
}

// What may not wait until the worker comes back from `to`.
void Worker::before_leaving(const Fiber* to) noexcept {
  if (leaving_ != nullptr) flush_leaves();
  if (to == nullptr) return;  // the loop sees to the rest
  push_next_up();             // not behind `to`
  if (new_deadline_) watch_own_deadline();
}

// Leaves the current stack for the next fiber's, or for the loop.
[[gnu::always_inline]] inline void Worker::leave_fiber(After after, Fiber& self,
                                                       Fiber* next) noexcept {
  check_foreign_locks(simulator != nullptr ? simulator->outer_locks() : 0);
  self.exceptions = *exceptions_;
  after_ = after;
  after_fiber_ = &self;
  leave(self.context, self.stack, false, next);
  this_worker().arrive();
}

void Worker::yield_current() noexcept {
  Fiber& self = *current;
  // Nothing but turns: then one visit to that queue is all.
  if (until_fair_ > 1 && !has_chores() && scheduler_.idle.calm() &&
      queues.recent.size_hint() == 0 && queues.deque.drained() &&
      self.pins == 0 && self.rank == 0) [[likely]] {
    if (Fiber* const next = queues.turns.begin_turn()) {
      --until_fair_;
      counters.yielded.add();
      leave_fiber(After::took_turn, self, next);
      return;
    }
  }
  yield_otherwise(self, After::yielded);
}

// In the places that only the loop looks at.
bool Worker::nobody_waits() noexcept {
  return next_up_ == nullptr && leaving_ == nullptr &&
         queues.inbox.maybe_empty() && queues.pinned.is_empty() &&
         scheduler_.global.maybe_empty();
}

void Worker::yield_otherwise(Fiber& self, After as) noexcept {
  Fiber* next = pick(nullptr);
  if (next == nullptr && !fair_due_ && nobody_waits()) {
    high_in_a_row_ = 0;  // there is nobody else to have a turn
    if (self.rank == 0) [[likely]]
      return;  // low ones come in at the looks
    next = take_its_like(self);
    if (next == nullptr) return;
  }
  counters.yielded.add();
  if (has_chores()) before_leaving(next);
  leave_fiber(as, self, next);
}

[[gnu::always_inline]] inline void Worker::suspend_current() noexcept {
  Fiber& self = *current;
  Fiber* const next = pick(nullptr);
  counters.parked.add();
  if (has_chores()) before_leaving(next);
  leave_fiber(After::parking, self, next);
}

void suspend_current() noexcept { this_worker().suspend_current(); }

// Under a lock nothing may be begun or looked for, and no user code run: only
// for who has begun, and is next anyway.
[[gnu::always_inline]] inline bool Worker::suspend_locked(
    base::SpinLock& lock) noexcept {
  Fiber& self = *current;
  if (until_fair_ <= 1 || has_chores() || self.host != nullptr ||
      base::is_watched(base::Point::parking) ||
      (!scheduler_.idle.calm() &&
       (scheduler_.idle.high_waits() || !may_keep()))) {
    return false;
  }
  Fiber* const next = queues.recent.pop_back_if([](const Fiber& newest) {
    return newest.word.state_now() == fiber::State::running;
  });
  if (next == nullptr) return false;
  WEFT_ASSERT(next->word.is_running_on(id()), "C3");
  --until_fair_;
  counters.parked.add();
  after_lock_ = &lock;
  leave_fiber(After::waiting_locked, self, next);
  return true;
}

bool suspend_locked(base::SpinLock& lock) noexcept {
  Worker* const here = worker_or_null();
  return here != nullptr && here->suspend_locked(lock);
}

Worker::Left Worker::simulate_step(Fiber& fiber, bool was_stopped) noexcept {
  const auto state = fiber.word.state_now();
  if (!was_stopped && state != fiber::State::fresh &&
      state != fiber::State::queued) {
    fiber.word.yielded();  // its turn comes, maybe on another worker
  }
  Fiber* const running = was_stopped ? &fiber : ready(&fiber, nullptr);
  auto left = Left::otherwise;
  if (running != nullptr) {  // or without a stack: then it has failed
    after_ = After::nothing;
    const auto in_flight = *exceptions_;  // of the thread that is the loop
    leave(loop_context_, nullptr, false, running);
    *exceptions_ = in_flight;
    if (after_ == After::stopped) left = Left::stopped;
    if (after_ == After::yielded) left = Left::yielded;
    arrive();
  }
  if (leaving_ != nullptr) flush_leaves();
  return left;
}

void Worker::stop_current() noexcept {
  leave_fiber(After::stopped, *current, nullptr);
}

inline stack::Stack* Worker::take_stack_of(Fiber& ended) noexcept {
  stack::Stack* const stack = ended.stack;
  ended.stack = nullptr;
  check_canary(*stack);
  stack->owner.store(nullptr, relaxed);  // nobody looks any more
  return stack;
}

// After a body: the worker it has come to, ready for the next one.
inline Worker& Worker::settle_end(Fiber& self) noexcept {
  if (self.needs_care()) wind_up(self);
  Worker& here = this_worker();
  if (here.simulator != nullptr) [[unlikely]]
    here.simulator->interleave(here, Op::end, &self);  // and stays on it
  check_unlocked(here);
  context::change_controls(context::current_controls(), here.controls_);
  return here;
}

// Every leased stack starts here, and runs fresh fibers one after the other
// as long as there are any.
void Worker::fiber_main(void* /*unused*/) noexcept {
  Worker* here = &this_worker();
  here->arrive();
  fiber::Listing listing;
  for (;;) {
    Fiber* self = here->current;
    listing.fiber = self;
    self->stack->listing = &listing;
    self->run_body();
    here = &settle_end(*self);
    const bool cancelled = self->word.cancelled();
    const bool metered = self->word.is_metered();
    stack::Stack* const mine = here->take_stack_of(*self);
    if (!here->finish(*self)) [[unlikely]] {
      // The handle was dropped meanwhile: so this fiber destroys its result,
      // as any other fiber does what may have to wait, and pays for it. How it
      // ended it has told: from here on it has no outcome.
      self->stack = mine;
      mine->owner.store(self, relaxed);  // nobody looks yet
      self->join.drop_again();
      self->word.revive(here->id(), cancelled, metered);
      if (metered) self->extras.load(relaxed)->account->reopen();  // its own
      here->current.begin_turn(metered);
      self->drop_result();
      here = &settle_end(*self);
      (void)here->take_stack_of(*self);
      (void)here->finish(*self);
    }
    here->current = nullptr;
    Fiber* next = here->pick(mine);
    if (next == nullptr && here->leaving_ != nullptr && !here->fair_due_) {
      here->flush_leaves();  // may find the nursery's owner to go on with
      next = here->take_next_up(mine);
    }
    if (next != nullptr && next->stack == mine) {
      if (here->leaving_ != next->scope) here->flush_leaves();
      here->push_next_up();  // not behind `next`
      here->current = next;
      here->current.begin_turn(next->word.is_metered());
      here->counters.dispatched.add();
      continue;
    }
    here->after_ = After::ended;
    here->after_stack_ = mine;
    context::Context never_again;
    if (here->has_chores()) here->before_leaving(next);
    here->leave(never_again, mine, true, next);
    __builtin_unreachable();
  }
}

void Worker::abandon_current(Error why) noexcept {
  Fiber& self = *current;
  WEFT_ASSERT(self.host == nullptr, "P4");
  self.set_error(why);
  self.pins = 0;  // whoever holds one does not give it back
  self.unchecked = false;
  Worker& here = settle_end(self);
  stack::Stack* const lost = here.take_stack_of(self);
  (void)here.finish(self);  // an error needs no destructor
  here.current = nullptr;
  Fiber* const next = here.pick(nullptr);
  here.after_ = After::lost;
  here.after_stack_ = lost;
  // What was thrown and is not yet handled is lost with it.
  struct {
    context::Context context;
    context::ExceptionState exceptions;
  } never_again{.context = {}, .exceptions = *here.exceptions_};
  if (here.has_chores()) here.before_leaving(next);
  here.leave(never_again.context, lost, false, next);
  __builtin_unreachable();
}

void Worker::fiber_returned() noexcept {
  WEFT_CHECK(false, "a fiber's entry returned");
}

}  // namespace weft::sched
