// wait.hpp: one wait of the current fiber, from begin to end.
//
//   begin()      opens it; from here on it can be claimed
//   publish      the caller links its nodes at the sources
//   arm()        the deadline, last: it is the dearest source
//   park()       off the stack until somebody won the claim
//   unpublish    the caller takes back the nodes of the losers
//   end()        disarms, runs again
//
// Everything that waits goes through here: joins, sleeps, nurseries, and each
// waitable of the public interface. (The namespace is waiting: weft::wait() is
// the public function.)
#pragma once

#include <cstdint>

#include "fiber/wait_node.hpp"
#include "sched/carrier.hpp"
#include "time/clock.hpp"
#include <weft/result.hpp>
#include <weft/time.hpp>

namespace weft::waiting {

using fiber::Begun;
using fiber::Fiber;
using fiber::WaitNode;
using fiber::Who;

class Wait {
 public:
  // Any fiber; a plain thread waits as its proxy.
  Wait() noexcept : self_(*sched::carrier().current) {}
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  Fiber& self() const noexcept { return self_; }

  // Dies if a spin lock is held. cancelled: no wait began.
  [[nodiscard]] Begun begin(bool shield) noexcept;
  // A node that belongs to this wait.
  void own(WaitNode& node) const noexcept;
  // Parks until the wait is settled, at most until the deadline. withdrawn: no
  // memory for its timer.
  [[nodiscard]] Who park(Deadline deadline) noexcept;
  // A source was ready: ends the wait by oneself, or learns who was faster.
  [[nodiscard]] Who withdraw() noexcept;
  // Once every node is gone.
  void end() noexcept;

 private:
  [[nodiscard]] bool arm(std::int64_t when) noexcept;
  [[nodiscard]] Who park_fiber() noexcept;
  [[nodiscard]] Who park_thread(std::int64_t until) noexcept;

  Fiber& self_;
  bool armed_ = false;
  bool polls_ = false;  // there was no time left to wait
};

// What the caller of a wait is told; ok if a source ended it.
Status outcome(Who who) noexcept;

// A waker took the node: its last touch is a few instructions away.
void until_gone(const WaitNode& node) noexcept;

// The caller is cancelled and does not wait: answers cancelled, and counts, for
// a loop that takes no notice must not keep its worker to itself.
Status refuse_cancelled(const Fiber& self) noexcept;

// Any fiber or thread. Waits until `child` has ended; the caller holds its
// handle. May run it in place. Errors: invalid (oneself, or somebody waits
// already), cancelled, timed_out, exhausted (memory).
Status for_end(Fiber& child, Deadline deadline) noexcept;
// The same, for one who is not the child and waits though he is cancelled.
void for_end_shielded(Fiber& child) noexcept;

// Owner only. Waits until the family has no members. Errors: timed_out,
// exhausted (memory).
// Shielded: a cancelled owner still waits for its children.
Status for_family(fiber::Family& family, Deadline deadline) noexcept;

// Any fiber or thread. Errors: cancelled, exhausted (memory).
Status until(Deadline when) noexcept;

}  // namespace weft::waiting
