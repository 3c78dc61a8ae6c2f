// dispatch.hpp: the parts of a switch that are worth inlining.
//
// A yield is about 145 instructions; as calls these would add dozens.
#pragma once

#include <utility>

#include "base/fault.hpp"
#include "sched/scheduler.hpp"
#include "sched/worker.hpp"
#include "stack/overflow.hpp"

#define WEFT_INLINE [[gnu::always_inline]] inline

namespace weft::sched {

// Do tests disturb what happens between a switch and its commit?
#if defined(WEFT_FAULTS)
inline constexpr bool kDisturbs = true;
#else
inline constexpr bool kDisturbs = false;
#endif

// A queue entry becomes this worker's: running, with a stack. nullptr: it
// could not be started and has ended.
WEFT_INLINE Fiber* Worker::ready(Fiber* entry, stack::Stack* reuse) noexcept {
  const auto state = entry->word.state_now();
  if (state == fiber::State::running) {  // woken near: see claim()
    WEFT_ASSERT(entry->word.is_running_on(id()), "C3");
    return entry;
  }
  if (state == fiber::State::fresh) return begin(*entry, reuse);
  entry->word.resume(id());
  return entry;
}

WEFT_INLINE Fiber* Worker::take_next_up(stack::Stack* reuse) noexcept {
  if (next_up_ == nullptr) return nullptr;
  return ready(std::exchange(next_up_, nullptr), reuse);
}

// The newest fiber that this worker queued for itself.
WEFT_INLINE Fiber* Worker::pop_newest() noexcept {
  if (scheduler_.idle.hungry() && scheduler_.config().steal) [[unlikely]] {
    if (may_keep()) {
      if (Fiber* fiber = queues.recent.pop_back()) return fiber;
    }
    expose();
    return queues.deque.pop();
  }
  return pop_own();
}
WEFT_INLINE Fiber* Worker::pop_own() noexcept {
  if (Fiber* fiber = queues.recent.pop_back()) return fiber;
  return queues.deque.drained() ? nullptr : refill();
}

// The same where others are hungry, or those of high priority go first.
WEFT_INLINE Fiber* Worker::pop_otherwise() noexcept {
  if (scheduler_.idle.high_waits()) {
    if (Fiber* fiber = take_high()) return fiber;
  }
  Fiber* const fiber = pop_newest();
  if (fiber != nullptr) high_in_a_row_ = 0;
  return fiber;
}

// Owned by this worker already (its turn came), or next of its own.
// nullptr: the loop must look further, or is due for a fair look.
WEFT_INLINE Fiber* Worker::pick(stack::Stack* reuse) noexcept {
  if (fair_due_ || --until_fair_ == 0) [[unlikely]] {
    fair_due_ = true;
    return nullptr;
  }
  if (Fiber* fiber = take_next_up(reuse)) return fiber;
  Fiber* const entry = scheduler_.idle.calm() ? pop_own() : pop_otherwise();
  if (entry != nullptr) return ready(entry, reuse);
  Fiber* const turn = queues.turns.pop_front();
  if (turn != nullptr) high_in_a_row_ = 0;
  return turn;
}

WEFT_INLINE void Worker::push_local(Fiber& fiber) noexcept {
  if (queues.recent.push_back(&fiber)) [[likely]]
    return;
  spill();
  (void)queues.recent.push_back(&fiber);  // there is room now
}

WEFT_INLINE void Worker::notify_local() noexcept {
  if (!scheduler_.idle.hungry() || !scheduler_.config().steal) [[likely]]
    return;
  expose();
  scheduler_.notify();
}

// Somebody is hungry: may this worker run what it queued for itself all the
// same?
WEFT_INLINE bool Worker::may_keep() noexcept {
  constexpr std::size_t kKept = 16;
  const auto size = queues.recent.size_hint();
  if (size == 0) has_fresh_ = false;
  return keeps_woken_ && !has_fresh_ && size <= kKept;
}

WEFT_INLINE void Worker::notify_woken() noexcept {
  if (!scheduler_.idle.hungry() || !scheduler_.config().steal) [[likely]]
    return;
  if (!may_keep()) return notify_local();
  scheduler_.notify_of_private();  // he looks whether this worker is stuck
}

// Where no guard traps, an overflow is found when the stack is left.
WEFT_INLINE bool Worker::has_canaries() const noexcept {
  return scheduler_.stacks.guard() == stack::GuardKind::canary;
}

// A fiber that still belongs to this worker waits for its next turn. It is
// shared with those who are hungry, unless it may stay.
WEFT_INLINE void Worker::keep(Fiber& mine, bool may_stay) noexcept {
  if (mine.pins != 0 || mine.rank != 0 ||
      (scheduler_.idle.hungry() && !may_stay) || !queues.turns.push_back(&mine))
      [[unlikely]] {
    give_away(mine);
  } else if (scheduler_.idle.hungry()) [[unlikely]] {
    scheduler_.notify_of_private();  // [hungry]: who came meanwhile looks
  }
}

// What was to run next waits in the queue while another goes first.
WEFT_INLINE void Worker::push_next_up() noexcept {
  if (next_up_ == nullptr) [[likely]]
    return;
  push_local(*std::exchange(next_up_, nullptr));
  notify_local();
}

// Any thread, here its own, about to claim a wait of the fiber: the id of its
// worker, if the fiber may come into the private queue of that; else 0.
WEFT_INLINE unsigned near_for(const Carrier& here,
                              const Fiber& waits) noexcept {
  const Worker* const worker = here.worker;
  if (worker == nullptr || here.lock_depth != 0 || waits.proxy ||
      waits.pins != 0 || waits.rank != 0 ||
      worker->near_home() != fiber::FramePool::home_of(waits)) [[unlikely]] {
    return 0;
  }
  return worker->id();
}

// Any thread; the caller owns the fiber by such a claim, and holds no lock. It
// may have come to another worker since; and the fiber may have been pinned
// when its node was linked already.
WEFT_INLINE void wake_near(Fiber& owned) noexcept {
  Worker* const here = worker_or_null();
  if (here == nullptr || !owned.word.is_running_on(here->id()) ||
      owned.pins != 0) [[unlikely]] {
    return wake_otherwise(owned);
  }
  here->push_local(owned);
  here->notify_woken();
}

// What leaves a worker's private queue, or never came there, for others to
// take.
WEFT_INLINE void Worker::leave_private(Fiber& fiber) noexcept {
  if (fiber.word.state_now() == fiber::State::running) fiber.word.yielded();
}

// First thing after each switch, on the stack that it went to.
WEFT_INLINE void Worker::arrive() noexcept {
  context::arrive_on_stack(current != nullptr ? current->stack->sanitizer
                                              : loop_handle_);
  if (after_ == After::waiting_locked) {
    after_ = After::nothing;
    const auto committed =
        after_fiber_->word.commit_wait(after_fiber_->wait_ticket);
    const bool stray = kDisturbs && wake_for_nothing(*after_fiber_);
    after_lock_->unlock();
    if (committed == fiber::Committed::resume_now) [[unlikely]]
      keep(*after_fiber_);
    if (stray) [[unlikely]]
      make_runnable(*after_fiber_);
    return;
  }
  if (after_ == After::took_turn && !has_canaries()) [[likely]] {
    queues.turns.end_turn(after_fiber_);
    if (!scheduler_.idle.hungry()) [[likely]]
      return;
    scheduler_.notify();  // [hungry], as in keep()
    return;
  }
  if (after_ == After::parking && after_fiber_->host == nullptr &&
      !has_canaries() && !kDisturbs && simulator == nullptr) [[likely]] {
    after_ = After::nothing;
    if (after_fiber_->word.commit() == fiber::Committed::resume_now)
        [[unlikely]]
      keep(*after_fiber_);
    return;
  }
  arrive_otherwise();
}

}  // namespace weft::sched

#undef WEFT_INLINE
