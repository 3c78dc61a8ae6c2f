// ranked.cpp: when a worker takes a fiber of high or of low priority.

#include "sched/ranked.hpp"

#include "sched/dispatch.hpp"

namespace weft::sched {

// Not for ever: then another has a turn, if there is one. Who looks for that
// one begins to count again, once he has found it or looked everywhere.
Fiber* Worker::take_high() noexcept {
  if (high_in_a_row_ == kHighInARow) return nullptr;
  Fiber* const fiber = scheduler_.ranked.take_high();
  high_in_a_row_ = fiber != nullptr ? high_in_a_row_ + 1 : 0;
  return fiber;
}

// Low ones take turns among themselves.
Fiber* Worker::take_its_like(const Fiber& yielding) noexcept {
  if (yielding.priority() != Priority::low) return nullptr;
  Fiber* const low = scheduler_.ranked.take_low();
  return low != nullptr ? ready(low, nullptr) : nullptr;
}

// What search() may bring here: those fibers go before the low ones.
bool Worker::others_have_work() const noexcept {
  if (!scheduler_.config().steal) return false;
  for (const auto& other : scheduler_.workers) {
    if (other.get() != this && (other->queues.recent.size_hint() != 0 ||
                                other->queues.deque.size_hint() != 0)) {
      return true;
    }
  }
  return false;
}

}  // namespace weft::sched
