// line_attempt.hpp: a wait in line, from what differs between primitives.
#pragma once

#include <utility>

#include "sync/wait_queue.hpp"

namespace weft::sync {

struct LeavesNothing {
  void operator()(Woken& /*woken*/) const noexcept {}
};

// take(), under the lock: true if there was nothing to wait for. leave(woken),
// under the lock: the wait ended without result, and so did its place.
template <typename Take, typename Leave = LeavesNothing>
struct LineAttempt {
  base::SpinLock& lock;
  WaitQueue& queue;
  Take take;
  Leave when_left{};

  Entered enter(WaitNode& node, bool again) noexcept {
    if (take()) return Entered::done;
    again ? queue.push_front(node) : queue.push_back(node);
    return Entered::linked;
  }
  void leave(bool /*told*/, Woken& woken) noexcept { when_left(woken); }
  static bool is_ready(void* it) noexcept {
    return static_cast<LineAttempt*>(it)->take();  // the run is over anyway
  }
};
template <typename Take>
LineAttempt(base::SpinLock&, WaitQueue&, Take) -> LineAttempt<Take>;
template <typename Take, typename Leave>
LineAttempt(base::SpinLock&, WaitQueue&, Take, Leave)
    -> LineAttempt<Take, Leave>;

}  // namespace weft::sync
