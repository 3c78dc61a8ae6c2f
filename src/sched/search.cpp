// search.cpp: a worker looks at the others: without work of its own, or because
// they may be stuck.

#include <algorithm>
#include <utility>

#include "sched/dispatch.hpp"
#include "time/clock.hpp"

namespace weft::sched {

// Idle: looks at others, a bounded while, at ever longer intervals.
Fiber* Worker::search() noexcept {
  constexpr unsigned kRounds = 5;
  const auto count = scheduler_.worker_count();
  if (count == 1 || !scheduler_.config().steal) return nullptr;
  if (Fiber* fiber = rest_after_crumbs()) return fiber;
  if (!searching_ && !scheduler_.idle.start_search(count)) return nullptr;
  searching_ = true;
  note_heartbeats();
  for (unsigned round = 0; round < kRounds; ++round) {
    for (unsigned i = 0; i < Victims::attempts(count); ++i) {
      const auto victim =
          victims_.next(index_, count, [this](unsigned other) noexcept {
            return scheduler_.workers[other]->queues.deque.size_hint();
          });
      if (Fiber* fiber = steal_from(*scheduler_.workers[victim])) return fiber;
    }
    counters.steal_failures.add();
    auto now = time::now();
    const auto until = now + search_pause(round);
    const auto deadline = earliest_deadline();
    do {
      if (deadline <= now) {
        if (Fiber* fiber = take_expired(now)) return fiber;
      }
      if (Fiber* fiber = take_high()) return ready(fiber, nullptr);
      if (Fiber* fiber = queues.inbox.take().item) return ready(fiber, nullptr);
      if (Fiber* fiber = scheduler_.global.take().item) {
        return ready(fiber, nullptr);
      }
      if (round != 0) {  // others have had the time to share what they have
        if (Fiber* fiber = scheduler_.ranked.take_low()) {
          return ready(fiber, nullptr);
        }
      }
      for (int i = 0; i < 8; ++i) pause();
      now = time::now();
    } while (now < until && !scheduler_.stopping());
  }
  return take_over_stale();
}

// Whose deadline has passed, at any worker: while this one searches nobody may
// sleep towards it, and the others may sit in their fibers.
Fiber* Worker::take_expired(std::int64_t now) noexcept {
  unsigned woken = 0;
  for (const auto& other : scheduler_.workers) {
    woken += poll_timers(*other, now);
  }
  if (woken == 0) return nullptr;
  if (Fiber* const pinned = queues.pinned.take()) return ready(pinned, nullptr);
  Fiber* const newest = pop_newest();
  return newest != nullptr ? ready(newest, nullptr) : nullptr;
}

// The oldest fiber of the victim to run, and a few more to keep busy with: of
// short ones a single steal would cost more than it brings.
Fiber* Worker::steal_from(Worker& victim) noexcept {
  constexpr std::size_t kMost = 16;
  auto& deque = victim.queues.deque;
  Fiber* first = nullptr;
  for (std::size_t wanted = std::min(deque.size_hint() / 2 + 1, kMost);
       wanted > 0;) {
    const auto stolen = deque.steal();
    if (stolen.task == nullptr) {
      if (stolen.lost_race) continue;
      break;
    }
    counters.stolen.add();
    --wanted;
    ++crumbs_;
    if (first == nullptr) {
      first = stolen.task;
    } else {
      push_fresh(*stolen.task);
    }
  }
  if (first == nullptr) return nullptr;
  notify_local();  // of the others
  stolen_at_ = time::now();
  return ready(first, nullptr);
}

// Fibers so short that stealing them costs more than running them: leave the
// victim alone for a moment. Not counted as searching, so that it may go on
// keeping its fibers to itself.
Fiber* Worker::rest_after_crumbs() noexcept {
  constexpr std::int64_t kCrumb = 250;    // ns a fiber, steal included
  constexpr std::int64_t kRest = 20'000;  // ns
  const auto crumbs = std::exchange(crumbs_, 0);
  if (crumbs == 0 || searching_) return nullptr;
  const auto now = time::now();
  if (now - stolen_at_ > crumbs * kCrumb) return nullptr;
  do {
    if (Fiber* fiber = look()) return fiber;
    for (int i = 0; i < 32; ++i) pause();
  } while (time::now() < now + kRest && !scheduler_.stopping());
  return nullptr;
}

void Worker::note_heartbeats() noexcept {
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    seen_[i] = scheduler_.workers[i]->heartbeat();
  }
}

// Those whose loop has not turned during the whole search sit in one fiber.
Fiber* Worker::take_over_stale() noexcept {
  for (const auto& other : scheduler_.workers) {
    if (other.get() == this || other->heartbeat() != seen_[other->index()]) {
      continue;
    }
    if (Fiber* fiber = take_over(*other)) return fiber;
  }
  return nullptr;
}

// In turn one other worker, if that has done nothing for a while but sit in one
// fiber, or sleep: while this one is never idle it may be the only help. After
// a visit that found nothing the next one is not due sooner.
Fiber* Worker::watch_other() noexcept {
  constexpr std::int64_t kWhile = 1'000'000;  // ns, as an idle one sleeps
  const auto& all = scheduler_.workers;
  if (!scheduler_.config().steal || all.size() == 1) return nullptr;
  do {
    other_watched_ = other_watched_ + 1 < all.size() ? other_watched_ + 1 : 0;
  } while (other_watched_ == index_);
  Worker& other = *all[other_watched_];
  Watch& watch = watches_[other_watched_];
  // A worker that goes from fiber to fiber turns seldom, and is not stuck.
  const auto beat = other.progress();
  if (std::exchange(watch.beat, beat) != beat) {
    watch.since = 0;  // reading the clock takes a while, too
    return nullptr;
  }
  const auto now = time::now();
  if (watch.since == 0) watch.since = now;
  if (now - watch.since < kWhile) return nullptr;
  Fiber* const taken = take_over(other);
  if (taken == nullptr) watch.since = now;
  return taken;
}

// What waits for its turn at a worker that seems to sit in one fiber runs here.
Fiber* Worker::take_over(Worker& stuck) noexcept {
  constexpr std::size_t kAtOnce = 8;
  std::size_t others = 0;  // something of each: one may never be empty
  for (Fiber* const fiber :
       {stuck.queues.deque.steal().task, stuck.queues.inbox.take().item}) {
    if (fiber == nullptr) continue;
    push_fresh(*fiber);
    ++others;
  }
  Fiber* raided[kAtOnce];
  const auto turns = stuck.queues.turns.raid(raided, kAtOnce);
  for (std::size_t i = turns; i-- > 0;) {
    mark_hosts(*raided[i]);
    raided[i]->word.yielded();
    push_fresh(*raided[i]);
  }
  const auto recent = stuck.queues.recent.raid(raided, kAtOnce);
  for (std::size_t i = recent; i-- > 0;) {
    leave_private(*raided[i]);
    push_fresh(*raided[i]);
  }
  if (others + turns + recent == 0) return nullptr;
  counters.stolen.add(others + turns + recent);
  notify_local();
  Fiber* const newest = pop_newest();
  return newest != nullptr ? ready(newest, nullptr) : nullptr;
}

}  // namespace weft::sched
