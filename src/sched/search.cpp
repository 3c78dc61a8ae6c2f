// search.cpp: a worker without work looks at the others.

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
    const auto until = time::now() + search_pause(round);
    do {
      if (Fiber* fiber = queues.inbox.take().item) return ready(fiber, nullptr);
      if (Fiber* fiber = scheduler_.global.take().item) {
        return ready(fiber, nullptr);
      }
      for (int i = 0; i < 8; ++i) pause();
    } while (time::now() < until && !scheduler_.stopping());
  }
  return take_over_stale();
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
      push_local(*stolen.task);
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

// A worker whose loop has not turned during the whole search sits in one
// fiber: what waits for its turn there may run here.
Fiber* Worker::take_over_stale() noexcept {
  constexpr std::size_t kAtOnce = 8;
  for (const auto& other : scheduler_.workers) {
    if (other.get() == this || other->heartbeat() != seen_[other->index()]) {
      continue;
    }
    if (Fiber* fiber = other->queues.inbox.take().item) {
      counters.stolen.add();
      return ready(fiber, nullptr);
    }
    Fiber* raided[kAtOnce];
    auto count = other->queues.turns.raid(raided, kAtOnce);
    for (std::size_t i = count; i-- > 0;) {
      mark_hosts(*raided[i]);
      raided[i]->word.yielded();
      push_local(*raided[i]);
    }
    counters.stolen.add(count);
    count = other->queues.recent.raid(raided, kAtOnce);
    for (std::size_t i = count; i-- > 0;) push_local(*raided[i]);
    counters.stolen.add(count);
    notify_local();
    if (Fiber* fiber = pop_newest()) return ready(fiber, nullptr);
  }
  return nullptr;
}

}  // namespace weft::sched
