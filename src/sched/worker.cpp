// worker.cpp: the loop of a worker: what to run next, and when to sleep.
//
// Edges
//   [hungry]  see worker.hpp; the other end is notify_local().

#include "sched/worker.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/asymmetric.hpp"
#include "base/point.hpp"
#include "sched/dispatch.hpp"
#include "sched/stop.hpp"
#include "stack/overflow.hpp"
#include "time/clock.hpp"

namespace weft::sched {

Worker::Worker(Scheduler& scheduler, unsigned index)
    : frames(scheduler.frames),
      scheduler_(scheduler),
      index_(index),
      stacks_(scheduler.stacks, scheduler.config().stack_cache),
      victims_(scheduler.config().victim,
               scheduler.config().steal_seed + index),
      seen_(scheduler.config().workers),
      watches_(scheduler.config().workers) {
  worker = this;
  current.set_turn(scheduler.config().yield_interval);
}

int Worker::start() noexcept {
  char name[16];
  std::snprintf(name, sizeof name, "%.*s-%u",
                static_cast<int>(
                    std::min<std::size_t>(scheduler_.config().name.size(), 10)),
                scheduler_.config().name.data(), index_);
  return thread_.start(name, &Worker::thread_main, this);
}

void Worker::thread_main(void* self) noexcept {
  auto& here = *static_cast<Worker*>(self);
  weft_tls_carrier = &here;
  stack::SignalStack signal_stack;
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // wake on the deadline
  here.settle_on_thread();
  here.loop();
  weft_tls_carrier = nullptr;
}

// What a worker must know of the thread that is its loop.
void Worker::settle_on_thread() noexcept {
  exceptions_ = &context::thread_exception_state();
  controls_ = context::current_controls();
  context::find_thread_stack(thread_low_, thread_size_);
  context::adopt_thread(loop_handle_);
  const bool plain = simulator == nullptr && !has_canaries() &&
                     !scheduler_.config().spec_assert;
  near_home_ = plain ? &scheduler_ : nullptr;
}

// The fair look is always due, so nobody goes from fiber to fiber without the
// simulator's choice.
void Worker::simulate(Simulator& its_simulator) noexcept {
  Carrier::simulate(&its_simulator);
  fair_due_ = true;
  until_fair_ = 1;
  settle_on_thread();
}

void Worker::loop() noexcept {
  while (Fiber* fiber = next()) {
    if (has_chores()) before_leaving(fiber);
    after_ = After::nothing;
    leave(loop_context_, nullptr, false, fiber);
    arrive();
  }
}

// A fiber that runs on this worker from now on; nullptr: shut down.
Fiber* Worker::next() noexcept {
  for (;;) {
    heartbeat_.store(heartbeat_.load(relaxed) + 1, relaxed);  // one writer
    if (leaving_ != nullptr) flush_leaves();
    if (Fiber* fiber = look()) return found(fiber);
    if (has_own_work()) continue;  // what it took could not be started
    if (scheduler_.stopping()) {
      if (std::exchange(searching_, false)) (void)scheduler_.idle.stop_search();
      return nullptr;
    }
    if (Fiber* fiber = search()) return found(fiber);
    if (Fiber* fiber = scheduler_.ranked.take_low()) {
      if (Fiber* started = ready(fiber, nullptr)) return found(started);
    }
    if (!has_own_work()) sleep();
  }
}

// What is at hand: own queues and the shared ones.
Fiber* Worker::look() noexcept {
  if (fair_due_) [[unlikely]] {
    if (Fiber* fiber = look_fairly()) {
      high_in_a_row_ = 0;
      return fiber;
    }
  } else if (poll_all_) {
    (void)watch_timers();  // after a sleep, which counts as no look
  }
  if (Fiber* fiber = take_next_up(nullptr)) return fiber;
  if (Fiber* fiber = take_high()) return ready(fiber, nullptr);
  high_in_a_row_ = 0;  // who is found now has the turn that they left
  if (Fiber* fiber = queues.pinned.take()) return ready(fiber, nullptr);
  if (Fiber* fiber = pop_newest()) return ready(fiber, nullptr);
  if (Fiber* fiber = queues.turns.pop_front()) return fiber;
  if (Fiber* fiber = queues.inbox.take().item) return ready(fiber, nullptr);
  if (Fiber* fiber = scheduler_.global.take().item) {
    return ready(fiber, nullptr);
  }
  if (poll_timers(*this, time::now()) != 0) {
    if (Fiber* fiber = pop_newest()) return ready(fiber, nullptr);
  }
  // Nobody took the turn that high ones left to others.
  if (Fiber* fiber = take_high()) return ready(fiber, nullptr);
  if (others_have_work()) return nullptr;
  Fiber* const low = scheduler_.ranked.take_low();
  return low != nullptr ? ready(low, nullptr) : nullptr;
}

// Every 61st dispatch: what a busy worker would else neglect, oldest first.
Fiber* Worker::look_fairly() noexcept {
  fair_due_ = false;
  until_fair_ = kFairInterval;
  skipped_looks_ = 0;
  push_next_up();
  judge();
  // Whom timers woke runs first, but not twice in a row: a deadline at each
  // look would else starve all that is below. Then the next look comes at once.
  if (watch_timers() != 0) woken_wait_ = true;
  if (woken_wait_ && !woken_ran_) {
    woken_wait_ = false;
    woken_ran_ = true;
    if (Fiber* fiber = pop_newest()) return ready(fiber, nullptr);
  }
  woken_ran_ = false;
  if (woken_wait_) until_fair_ = 2;
  if (Fiber* fiber = take_overdue()) return ready(fiber, nullptr);
  // Another place first each time: none can starve the others.
  constexpr unsigned kPlaces = 6;
  for (unsigned i = 0; i < kPlaces; ++i) {
    Fiber* fiber = nullptr;
    switch (fair_place_++ % kPlaces) {
      case 0:
        fiber = scheduler_.global.take().item;
        break;
      case 1:
        fiber = queues.inbox.take().item;
        break;
      case 2:
        fiber = queues.pinned.take();
        break;
      case 3:
        if (Fiber* turn = queues.turns.pop_front()) return turn;
        break;
      case 4:
        if (Fiber* taken = watch_other()) return taken;
        break;
      case 5:
        fiber = scheduler_.ranked.take_low();
        break;
    }
    if (fiber != nullptr) return ready(fiber, nullptr);
  }
  return nullptr;
}

// Are the fibers that run here so short that moving them would cost more than
// it brings? Asked where there is somebody who could take them.
void Worker::judge() noexcept {
  constexpr std::int64_t kShort = 3'200;  // ns a dispatch, or as many as 64
                                          // operations
  if (!scheduler_.idle.hungry() || simulator != nullptr) return;
  const auto now = time::now();
  const auto count =
      counters.dispatched.get() + counters.in_place.get() + batches_;
  const auto ran = count - std::exchange(judged_dispatches_, count);
  const auto took = now - std::exchange(judged_at_, now);
  keeps_woken_ = took < kShort * static_cast<std::int64_t>(ran);
}

// Counts a look at the oldest of its own queue; true if it has been there for
// too many. One that was woken: for two. One that has not begun may wait for
// more: of a tree of fibers it is the largest part, and with every one begun
// another stack is in use. Looks, not time: one worker runs the same program in
// the same order each time.
bool Worker::look_at_oldest() noexcept {
  const Fiber* oldest = queues.deque.peek_oldest();
  if (oldest == nullptr) oldest = queues.recent.peek_front();
  if (std::exchange(oldest_, oldest) != oldest) looks_at_oldest_ = 0;
  if (oldest == nullptr) return false;
  const bool begun = oldest->word.state_now() != fiber::State::fresh;
  return ++looks_at_oldest_ >= (begun ? 2 : kLooksUntilOverdue);
}

// Newer ones would outrun it for ever. Every other time those that yielded come
// first.
Fiber* Worker::take_overdue() noexcept {
  if (!look_at_oldest()) return nullptr;
  looks_at_oldest_ = 0;
  if (++overdue_ % 2 == 0 && queues.turns.size_hint() != 0) return nullptr;
  Fiber* const taken = queues.deque.steal().task;
  return taken != nullptr ? taken : queues.recent.pop_front();
}

// Own deadlines and, in turn, those of one other worker that may be stuck;
// all of them after a sleep that watched the clock for everybody. Answers how
// many fibers that made runnable.
unsigned Worker::watch_timers() noexcept {
  const auto& all = scheduler_.workers;
  unsigned woken = 0;
  if (std::exchange(poll_all_, false)) {
    const auto now = time::now();
    for (const auto& other : all) woken += poll_timers(*other, now);
    return woken;
  }
  watched_ = watched_ + 1 < all.size() ? watched_ + 1 : 0;
  Worker& other = *all[watched_];
  const auto next = std::min(queues.timers.next_deadline(),
                             other.queues.timers.next_deadline());
  if (next == time::kNever) return 0;  // reading the clock takes a while, too
  const auto now = time::now();
  woken += poll_timers(*this, now);
  if (&other != this) woken += poll_timers(other, now);
  return woken;
}

// A look at every 61st turn alone would come after more than 100 us. Whom the
// timers wake is now the newest of its own queue: the yield goes to that one.
void Worker::pass_turn() noexcept {
  (void)watch_timers();
  yield_current();
}

bool Worker::arm(time::TimerNode& timer, std::int64_t when) noexcept {
  if (simulator != nullptr &&
      simulator->injects(testing::Fault::allocation_failure, *current)) {
    return false;
  }
  if (!queues.timers.arm(timer, when)) return false;
  if (queues.timers.next_deadline() == when) new_deadline_ = true;
  return true;
}

// About to run a fiber, maybe for long: a worker that sleeps must know of a
// deadline that came up here since it looked.
void Worker::watch_own_deadline() noexcept {
  new_deadline_ = false;
  const auto next = queues.timers.next_deadline();
  if (next == time::kNever || scheduler_.idle.sleeping() == 0) return;
  if (Sleeper* holder = scheduler_.alarm.too_late_for(next)) {
    holder->rouse();
  } else if (clock_unwatched()) {
    scheduler_.notify();
  }
}

// Wakes what is due in one heap; answers how many fibers that made runnable.
unsigned Worker::poll_timers(Worker& slot, std::int64_t now) noexcept {
  auto& timers = slot.queues.timers;
  if (timers.next_deadline() > now) return 0;
  Fiber* due = nullptr;  // latest first
  fiber::Timeout* scopes = nullptr;
  unsigned count = 0;
  timers.lock.lock();
  while (time::TimerNode* node = timers.pop_expired(now)) {
    counters.timers.add();
    if (node->is_scope()) {
      fiber::Timeout::of(*node).begin_firing(scopes);
      continue;
    }
    Fiber& fiber = Fiber::of_timer(*node);
    base::pass(base::Point::expired);
    if (fiber.word.claim(fiber.wait_ticket, fiber::Who::deadline) ==
        fiber::Claimed::won_and_owns) {
      fiber.next = due;
      due = &fiber;
      ++count;
    }
  }
  timers.lock.unlock();
  counters.woken.add(count);
  if (due != nullptr) Scheduler::enqueue_list(due);
  while (fiber::Timeout* const timeout = scopes) {
    scopes = timeout->next();
    count += stop(timeout->scope(), fiber::Cause::deadline);
    timeout->fired();
  }
  return count;
}

// Every fiber that next() returns passes here.
Fiber* Worker::found(Fiber* fiber) noexcept {
  if (std::exchange(searching_, false)) {
    if (scheduler_.idle.stop_search() &&
        (anything_visible() || foreign_backlog() || clock_unwatched())) {
      scheduler_.notify();  // S4
    }
  }
  if (std::exchange(watched_for_all_, false) &&
      earliest_deadline() != time::kNever) {
    scheduler_.notify();  // somebody else watches the clock while we run
  }
  return fiber;
}

bool Worker::has_own_work() const noexcept {
  return next_up_ != nullptr || leaving_ != nullptr ||
         queues.recent.size_hint() != 0 || queues.turns.size_hint() != 0 ||
         !queues.deque.maybe_empty();
}

// A deadline is pending and nobody sleeps towards it.
bool Worker::clock_unwatched() const noexcept {
  return !scheduler_.alarm.held() && earliest_deadline() != time::kNever;
}

void Worker::sleep() noexcept {
  base::pass(base::Point::tired);
  scheduler_.idle.announce(*this, std::exchange(searching_, false));
  base::pass(base::Point::announced);
  base::heavy_barrier();  // [hungry] of every private queue
  if (!scheduler_.stopping() && !anything_visible()) {
    counters.sleeps.add();
    block();
  }
  scheduler_.idle.withdraw(*this);
  searching_ = true;
}

void Worker::block() noexcept {
  base::pass(base::Point::dozing);
  new_deadline_ = false;  // looked at below
  // A fiber in the inbox of a worker that sits in a long-running one waits at
  // most this long for somebody to look.
  constexpr std::int64_t kLook = 1'000'000;
  const auto limit = foreign_backlog() ? time::now() + kLook : time::kNever;
  auto& alarm = scheduler_.alarm;
  if (!alarm.try_take_role(*this)) {
    if (Sleeper* holder = alarm.too_late_for(queues.timers.next_deadline())) {
      holder->rouse();
    }
    sleep_until(limit);
    return;
  }
  const auto until = alarm.arm([this] { return earliest_deadline(); });
  // To sleep towards what has passed costs a sleep and a wake all the same.
  if (until == time::kNever || until > time::now()) {
    sleep_until(std::min(until, limit));
  }
  alarm.release_role();
  poll_all_ = watched_for_all_ = true;
}

std::int64_t Worker::earliest_deadline() const noexcept {
  auto earliest = time::kNever;
  for (const auto& other : scheduler_.workers) {
    earliest = std::min(earliest, other->queues.timers.next_deadline());
  }
  return earliest;
}

// The complete scan before a sleep: seq_cst loads of every index.
bool Worker::anything_visible() noexcept {
  if (!queues.inbox.maybe_empty() || !queues.pinned.is_empty() ||
      !scheduler_.global.maybe_empty() || !scheduler_.ranked.maybe_empty()) {
    return true;
  }
  if (!scheduler_.config().steal) return !queues.deque.maybe_empty();
  for (const auto& other : scheduler_.workers) {
    if (!other->queues.deque.maybe_empty()) return true;
  }
  return false;
}

bool Worker::foreign_backlog() noexcept {
  if (!scheduler_.config().steal) return false;
  for (const auto& other : scheduler_.workers) {
    if (other.get() != this && (!other->queues.inbox.maybe_empty() ||
                                other->queues.recent.size_hint() != 0 ||
                                other->queues.turns.size_hint() != 0)) {
      return true;
    }
  }
  return false;
}

}  // namespace weft::sched
