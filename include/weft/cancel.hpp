// cancel.hpp: stop early, and stop cleanly.
//
//   weft::CancelScope scope(weft::Deadline::after(2s));
//   auto page = fetch(url);              // timed_out after 2 s, at the latest
//
// Level-triggered: from the cancel to the end of the scope every cancel point
// inside reports it. A cancel ends at the scope that was asked: the code around
// it goes on. Scopes nest with the C++ scopes of one fiber or thread, as
// nurseries do; a nursery opened inside of one is stopped with it.
#pragma once

#include <cstddef>

#include "weft/time.hpp"

namespace weft {

class [[nodiscard]] CancelScope {
 public:
  // Misuse if another scope of this fiber ends before one inside of it. Without
  // memory for its timer the deadline counts as passed.
  //   Callers:  any fiber; a plain thread, without a deadline.
  explicit CancelScope(Deadline deadline = Deadline::never()) noexcept;
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

  // Ends the waits inside, now and from now on, with cancelled. Idempotent.
  //   Ordering:  what the caller did before is seen by those it stops.
  //   Callers:   any fiber or thread while the scope lives; no signal handlers.
  void cancel() noexcept;
  bool cancelled() const noexcept;  // by cancel(), not from outside
  bool timed_out() const noexcept;  // by its own deadline
  // May be moved either way until it has passed.
  //   Callers:   any fiber or thread while the scope lives, if it is a fiber's.
  void set_deadline(Deadline deadline) noexcept;

 private:
  alignas(void*) std::byte state_[128];
};

// Inside, cancellation and deadlines of the scopes around are deferred: for
// clean-up that must wait. Its own deadline bounds that. Scopes opened inside
// work as usual.
//
//   Callers:  any fiber; a plain thread, without a deadline.
class [[nodiscard]] Shield {
 public:
  explicit Shield(Deadline deadline = Deadline::never()) noexcept;
  ~Shield();
  Shield(const Shield&) = delete;
  Shield& operator=(const Shield&) = delete;

  bool timed_out() const noexcept;  // by its own deadline

 private:
  alignas(void*) std::byte state_[128];
};

}  // namespace weft
