// event.hpp: a door: open or shut, until somebody changes it.
//
// Lives until every call of set() and reset() has returned: one that was waited
// for may still be under way. For an event that dies with its wait: Latch(1).
#pragma once

#include "weft/sequencer.hpp"

namespace weft {

namespace detail {
struct SelectAccess;
}

class Event {
 public:
  using Future = Sequencer::Future;

  Event() noexcept = default;

  //   Suspends:  never. Callers: fibers and threads, as of all below.
  //   Ordering:  true: what came before set() is visible.
  bool is_set() const noexcept { return (sequencer_.value() & 1) != 0; }
  // Wakes all who wait, even if reset() follows at once.
  //   Suspends:  never. Ordering: what came before is visible to them.
  void set() noexcept { sequencer_.advance(sequencer_.value() | 1); }
  void reset() noexcept {
    const auto now = sequencer_.value();
    sequencer_.advance(now + (now & 1));
  }
  //   Suspends:  until it is set. Always a cancel point.
  //   Errors:    cancelled, timed_out, exhausted (memory for the deadline).
  Status wait(Deadline deadline = Deadline::never()) {
    return sequencer_.wait(sequencer_.value() | 1, deadline);
  }
  // Sets `done` when it is set.
  //   Suspends:  never. Misuse: as Sequencer::wait().
  void wait(Future& done) noexcept {
    sequencer_.wait(sequencer_.value() | 1, done);
  }

 private:
  friend struct detail::SelectAccess;
  Sequencer sequencer_;  // odd: set
};

}  // namespace weft
