// wait.hpp: one wait of the current fiber, from begin to end.
//
//   begin()      opens it; from here on it can be claimed
//   publish      the caller links its nodes at the sources
//   arm()        the deadline, last: it is the dearest source
//   park()       off the stack until somebody won the claim
//   unpublish    the caller takes back the nodes of the losers
//   end()        disarms, runs again
//
// Under a lock that the fiber keeps over the switch the nodes are linked first:
// own_ahead(), link, then park_locked() or begin_locked().
//
// Everything that waits goes through here: joins, sleeps, nurseries, and each
// waitable of the public interface. (The namespace is waiting: weft::wait() is
// the public function.)
#pragma once

#include <cstdint>

#include "fiber/fiber.hpp"
#include "sched/carrier.hpp"
#include "sched/stop.hpp"
#include "time/clock.hpp"
#include <weft/result.hpp>
#include <weft/time.hpp>

namespace weft::waiting {

using fiber::Begun;
using fiber::Fiber;
using fiber::WaitNode;
using fiber::Who;

// The fiber itself: does this cancel point report that it must stop?
inline bool must_stop(Fiber& self) noexcept {
  return sched::stopped_here(self) != fiber::Stop::none;
}

class Wait {
 public:
  // Any fiber; a plain thread waits as its proxy.
  Wait() noexcept : Wait(*sched::carrier().current) {}
  explicit Wait(Fiber& self) noexcept : self_(self) {}
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  Fiber& self() const noexcept { return self_; }

  // Dies if a spin lock is held. cancelled: no wait began.
  [[nodiscard]] Begun begin(bool shield) noexcept {
    sched::check_may_park(sched::carrier());
    shield_ = shield;
    if (shield) {
      const auto begun = self_.word.begin_wait(++self_.wait_ticket, shield);
      // It goes on waiting, but its nurseries hear of a stop.
      if (self_.word.must_look()) [[unlikely]]
        (void)sched::look(self_);
      return begun;
    }
    for (;;) {
      const auto begun = self_.word.begin_wait(++self_.wait_ticket, shield);
      if (begun != Begun::cancelled || must_stop(self_)) return begun;
    }
  }
  // A node of the wait that park_locked() or begin_locked() is to begin: it may
  // be linked before, under the lock of both.
  void own_ahead(WaitNode& node) noexcept {
    ++self_.wait_ticket;
    own(node);
  }
  // Under a lock, where nobody may be told: cancelled, look first.
  [[nodiscard]] Begun begin_locked() noexcept {
    return self_.word.begin_wait(self_.wait_ticket, /*shield=*/false);
  }
  // Under the lock, until it was woken, if somebody is next to run; then `who`
  // says by what, and the lock is free. Else nothing has happened.
  [[nodiscard]] bool park_locked(base::SpinLock& held, Who& who) noexcept {
    if (!sched::suspend_locked(held)) return false;
    who = again();
    if (who == Who::open) [[unlikely]]
      who = park_fiber();
    return true;
  }
  // A node that belongs to this wait.
  void own(WaitNode& node) const noexcept {
    node.fiber = &self_;
    node.ticket = self_.wait_ticket;
  }
  // Parks until the wait is settled, at most until the deadline. withdrawn: no
  // memory for its timer.
  [[nodiscard]] Who park(Deadline deadline) noexcept {
    if (deadline == Deadline::never() && !self_.proxy) [[likely]]
      return park_fiber();
    return park_otherwise(deadline);
  }
  // A source was ready: ends the wait by oneself, or learns who was faster.
  [[nodiscard]] Who withdraw() noexcept { return self_.word.withdraw(); }
  // Once every node is gone.
  void end() noexcept {
    if (armed_ || polls_) [[unlikely]]
      end_timed();
    self_.word.end_wait();
    if (polls_) [[unlikely]]
      count_poll();
  }

 private:
  [[nodiscard]] bool arm(std::int64_t when) noexcept;
  void end_timed() noexcept;
  static void count_poll() noexcept;
  [[nodiscard]] Who park_fiber() noexcept {
    for (;;) {
      sched::suspend_current();
      if (const auto who = again(); who != Who::open) return who;
    }
  }
  // Open: woken for nothing. The nodes are still linked, so on it goes, unless
  // it was woken to look whether it must stop, and must.
  [[nodiscard]] Who again() noexcept {
    const auto who = self_.word.rewait();
    if (who != Who::open || !self_.word.must_look()) [[likely]]
      return who;
    if (!must_stop(self_) || shield_) return who;
    return self_.word.withdraw(Who::cancelled);
  }
  [[nodiscard]] Who park_otherwise(Deadline deadline) noexcept;
  [[nodiscard]] Who park_thread(std::int64_t until) noexcept;

  Fiber& self_;
  bool shield_ = false;  // no cancel point
  bool armed_ = false;
  bool polls_ = false;  // there was no time left to wait
};

// What the caller of a wait is told, the fiber itself; ok if a source ended it.
Status outcome(Who who) noexcept;

// A waker took the node: its last touch is a few instructions away.
inline void until_gone(const WaitNode& node) noexcept {
  if (!node.gone()) [[unlikely]]
    spin_until([&node] { return node.gone(); });
}

// The caller must stop and does not wait: answers why, and counts, for a loop
// that takes no notice must not keep its worker to itself.
Status refuse_stopped(const Fiber& self) noexcept;

// Any fiber or thread. Waits until `child` of that nursery, which may be gone
// if the child is, has ended; the caller holds its handle. May run it in place.
// Errors: invalid (oneself, or somebody waits already), cancelled, timed_out,
// exhausted (memory).
Status for_end(Fiber& child, const fiber::Scope* base,
               Deadline deadline) noexcept;
// The same, for one who is not the child and waits though he is cancelled.
void for_end_shielded(Fiber& child) noexcept;

// Owner only. Waits until the family has no members. Errors: timed_out,
// exhausted (memory). An owner that must stop tells the children, and waits for
// them all the same.
Status for_family(fiber::Family& family, Deadline deadline) noexcept;

// Any fiber or thread. Errors: cancelled, exhausted (memory).
Status until(Deadline when) noexcept;

}  // namespace weft::waiting
