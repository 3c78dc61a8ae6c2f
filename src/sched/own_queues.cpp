// own_queues.cpp: what a worker keeps to itself goes where others look, and
// back.

#include <algorithm>

#include "sched/dispatch.hpp"

namespace weft::sched {

// Nobody is hungry: takes a part of the deque back to itself.
Fiber* Worker::refill() noexcept {
  constexpr std::size_t kBatch = std::min<std::size_t>(64, kRecentSlots);
  Fiber* batch[kBatch];
  const auto count = queues.deque.pop_batch(batch, kBatch);
  if (count == 0) {
    Fiber* const newest = queues.deque.pop();
    scheduler_.notify();  // the deque looked empty for a moment
    return newest;
  }
  for (std::size_t i = 0; i + 1 < count; ++i) {
    (void)queues.recent.push_back(batch[i]);  // it was empty: there is room
  }
  has_fresh_ = true;
  notify_local();  // they were nowhere for a moment
  return batch[count - 1];
}

// Somebody is hungry: what this worker kept to itself goes to the deque. On
// the way it was nowhere: whoever went to sleep meanwhile must hear of it.
void Worker::expose() noexcept {
  if (queues.recent.size_hint() == 0) return;
  while (queues.recent.size_hint() != 0) spill();
  scheduler_.notify();
}

// The oldest part of the private queue to the deque, or to the global queue if
// that is full too.
void Worker::spill() noexcept {
  constexpr std::size_t kBatch = std::min<std::size_t>(64, kRecentSlots / 2);
  Fiber* batch[kBatch];
  const auto count = queues.recent.pop_oldest(batch, kBatch);
  for (std::size_t i = 0; i < count; ++i) leave_private(*batch[i]);
  if (queues.deque.push_batch(batch, count)) return;
  for (std::size_t i = 0; i < count; ++i) scheduler_.global.push(batch[i]);
  scheduler_.notify();  // S1: anybody may take these, stealing or not
}

// A fiber of this worker that others may run at once, or only this one ever.
void Worker::give_away(Fiber& mine) noexcept {
  mark_hosts(mine);
  mine.word.yielded();
  if (mine.pins != 0) {
    queues.pinned.push(mine);
    return;
  }
  if (mine.rank != 0) {
    scheduler_.ranked.push(mine);
  } else {
    scheduler_.global.push(&mine);
  }
  scheduler_.notify();
}

void wake_otherwise(Fiber& owned) noexcept {
  Worker::leave_private(owned);
  make_runnable(owned);
}

}  // namespace weft::sched
