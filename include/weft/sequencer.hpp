// sequencer.hpp: a counter that only grows, and waits for a value of it.
//
// Who waits is woken in the order of the tokens, however many there are, by
// whoever moves the counter there. Waits can be registered without waiting, and
// cancelled. A sequencer lives until every call of increment() and advance()
// has returned: one that was waited for may still be under way.
#pragma once

#include <cstdint>

#include "weft/detail/storage.hpp"
#include "weft/future.hpp"

namespace weft {

namespace detail {
struct SequencerAccess;
}

class Sequencer {
 public:
  // A registered wait; also for wait_any().
  class Future;

  explicit Sequencer(std::uint64_t start = 0) noexcept;
  ~Sequencer();  // misuse while somebody waits
  Sequencer(const Sequencer&) = delete;
  Sequencer& operator=(const Sequencer&) = delete;

  //   Suspends:  never. Callers: fibers and threads, as of all below.
  //   Ordering:  what was done before it came to that value is visible.
  std::uint64_t value() const noexcept;
  //   Suspends:  until value() >= token. Always a cancel point.
  //   Errors:    cancelled, timed_out, exhausted (memory for the deadline).
  Status wait(std::uint64_t token, Deadline deadline = Deadline::never());
  // Sets `done` when value() >= token.
  //   Suspends:  never. Misuse: a future that waits already, or is not reset.
  void wait(std::uint64_t token, Future& done) noexcept;
  // Both wake all whose token is reached, in the order of the tokens.
  //   Suspends:  never. Ordering: what came before is visible to them.
  void increment() noexcept;
  void advance(std::uint64_t value) noexcept;  // no-op if not greater

 private:
  friend struct detail::SequencerAccess;
  detail::Storage<40> core_;
};

class Sequencer::Future : public weft::Future<> {
 public:
  Future() noexcept;
  ~Future();  // misuse while it waits
  // It is set when this returns: with `cancelled`, unless it already was. From
  // a callback, or under a SpinLock, it may be set only when that is over, and
  // must live until then. Nothing if it does not wait. It and its sequencer
  // live until this returns.
  //   Suspends:  never. Callers: fibers and threads.
  void cancel() noexcept;
  // Makes it new; that of the base class does not. Misuse while it waits.
  //   Callers: who has both sides.
  void reset() noexcept;

 private:
  using weft::Future<>::set;  // the sequencer does
  friend class Sequencer;
  friend struct detail::SequencerAccess;
  detail::Storage<72> wait_;
};

}  // namespace weft
