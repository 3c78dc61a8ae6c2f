// control_word.hpp: who owns a fiber, and what its current wait came to.
//
// word_layout.hpp has its bits.
//
// The claim belongs to the wait, not to who runs the fiber: nodes stay linked
// and claimable while the fiber wakes for nothing, looks and parks again.
//
// Invariants
//   C1  At most one of these owns a fiber: a queue entry, the worker `owner`,
//       the thread to which claim/unpark/cancel answered owns, the holder of
//       its join word. parked and hosting: nobody.
//   C2  parked is written only by commit() and commit_wait(), off the fiber's
//       stack.
//   C3  At most one queue entry per fiber; pushed only in fresh or queued, or
//       into its own worker's private queue in running or parking.
//   C4  Between owns and the push no queue holds the fiber: the claimer may
//       still write to its nodes and use its `next` link.
//   C5  The claim goes from open to something else once per ticket.
//   C6  token and cancel change by read-modify-write only, and no transition
//       loses them except where its comment says so.
//
// Edges
//   [wake]     unpark/claim/cancel -> commit (refused), commit_wait,
//              begin_park, rewait, end_wait: the fiber sees what was written.
//   [context]  commit, commit_wait, yielded -> claim/unpark/cancel, resume: the
//              saved registers are seen by whoever resumes the fiber.
//   [spawn]    publish -> start: closure and frame.
//   [done]     done -> is_done: what the fiber did.
#pragma once

#include <cstdint>

#include "base/atomic.hpp"
#include "base/check.hpp"
#include "fiber/states.hpp"
#include "fiber/transition.hpp"
#include "fiber/word_layout.hpp"

namespace weft::fiber {

class ControlWord : private WordLayout {
 public:
  // Spawner only; the frame came from a pool.
  void reserve() noexcept {
    const auto w = word_.load(relaxed);  // exclusive: C1
    WEFT_ASSERT(state(w) == State::free, "C1");
    word_.store(next_ticket(w & kTicketMask) | bits(State::reserved),
                relaxed);  // exclusive: C1
  }

  // Spawner only: the fiber pays for what it does.
  void be_metered() noexcept {
    const auto w = word_.load(relaxed);  // exclusive: C1
    word_.store(w | kMetered, relaxed);  // exclusive: C1
  }

  // Spawner only: the frame is complete. look: sets the cancel bit, so that the
  // fiber looks at its first cancel point.
  void publish(bool look = false) noexcept {
    const auto w = word_.load(relaxed) | (look ? kCancel : 0);  // exclusive: C1
    record(Logical::init, Logical::runnable, Actor::spawner);
    word_.store(with_state(w, State::fresh), release);  // [spawn]
  }

  // Spawner only: the frame is not needed after all.
  void abandon() noexcept {
    const auto w = word_.load(relaxed);     // exclusive: C1
    word_.store(w & kTicketMask, relaxed);  // free; exclusive: C1
  }

  // Dequeuer only: fresh -> running. A cancelled fiber skips its body.
  [[nodiscard]] Started start(unsigned owner) noexcept {
    const auto w = move(State::fresh, State::running, owner);  // [spawn]
    record(Logical::runnable, Logical::running, Actor::worker);
    return (w & kAlone) != 0 ? Started::run_cancelled : Started::run;
  }

  // The same where nobody else has the handle, so that only a runtime that
  // stops could write here, too: its sweep comes again. Saves the exchange.
  [[nodiscard]] Started start_alone(unsigned owner) noexcept {
    const auto w = word_.load(acquire);  // [spawn]
    WEFT_ASSERT(state(w) == State::fresh, "C3");
    word_.store(with_owner(with_state(w, State::running), owner),
                relaxed);  // C1
    record(Logical::runnable, Logical::running, Actor::worker);
    return (w & kAlone) != 0 ? Started::run_cancelled : Started::run;
  }

  // Dequeuer only: queued -> running.
  void resume(unsigned owner) noexcept {
    move(State::queued, State::running, owner);  // [context] [wake]
    record(Logical::runnable, Logical::running, Actor::worker);
  }

  // The fiber: opens a wait with the next ticket. Clears a token. cancelled:
  // no wait began.
  [[nodiscard]] Begun begin_wait(std::uint64_t ticket, bool shield) noexcept {
    return begin(ticket, shield, /*take_token=*/false);
  }

  // The fiber: the same, but a pending token ends it before it began.
  [[nodiscard]] Begun begin_park(std::uint64_t ticket) noexcept {
    return begin(ticket, /*shield=*/false, /*take_token=*/true);
  }

  // Worker only, off the fiber's stack, once its registers are saved.
  // resume_now: a claim or a token came first; the worker still owns it.
  [[nodiscard]] Committed commit() noexcept {
    for (auto w = word_.load(acquire);;) {  // [wake]
      WEFT_ASSERT(state(w) == State::parking, "C2");
      if (claim_of(w) != Who::open || (w & kToken) != 0) {
        return Committed::resume_now;  // still parking: the fiber ends that
      }
      const auto next = with_owner(with_state(w, State::parked), 0);
      if (word_.compare_exchange_weak(w, next, acq_rel,
                                      acquire)) {  // [context]
        record(Logical::parking, Logical::parked, Actor::worker);
        return Committed::parked;
      }
    }
  }

  // Worker only, off the fiber's stack: begin_wait() and commit() in one, for
  // a fiber whose nodes nobody could claim before. resume_now: it shall look
  // whether it must stop; its wait has begun, and is parking.
  [[nodiscard, gnu::always_inline]] Committed commit_wait(
      std::uint64_t ticket) noexcept {
    for (auto w = word_.load(acquire);;) {  // [wake]
      WEFT_ASSERT(state(w) == State::running, "C1");
      const bool looks = (w & kCancel) != 0;
      const auto kept = w & (kCancel | kAlone | kMetered |
                             (looks ? kOwnerMask << kOwnerShift : 0));
      const auto next =
          opened(ticket, looks ? State::parking : State::parked) | kept;
      if (word_.compare_exchange_weak(w, next, acq_rel,
                                      acquire)) {  // [wake] [context]
        record(Logical::running, Logical::parking, Actor::owner);
        if (looks) return Committed::resume_now;
        record(Logical::parking, Logical::parked, Actor::worker);
        return Committed::parked;
      }
    }
  }

  // Any thread that holds the node: open -> who, if the wait is still `ticket`.
  // won_and_owns: after the hand-over the caller enqueues the fiber. near: the
  // caller is on that worker, and the fiber is for its private queue: so it is
  // running, as what is in there may be (C3).
  [[nodiscard]] Claimed claim(std::uint64_t ticket, Who who,
                              unsigned near = 0) noexcept {
    for (auto w = word_.load(acquire);;) {  // [context]
      if (w >> kClaimShift != opened(ticket, {}) >> kClaimShift) {
        return Claimed::lost;
      }
      const bool owns = state(w) == State::parked;
      auto next = with_claim(w, who);
      if (owns) next = woken(next, near);
      if (word_.compare_exchange_weak(w, next, acq_rel,
                                      acquire)) {  // [wake] [context]
        if (!owns) return Claimed::won;
        record(Logical::parked, Logical::runnable, Actor::waker);
        if (near != 0) {
          record(Logical::runnable, Logical::running, Actor::worker);
        }
        return Claimed::won_and_owns;
      }
    }
  }

  // Any thread with a raw handle. Leaves a token if the fiber is not parked;
  // exchanges even if one is there: the caller's writes need [wake].
  [[nodiscard]] Unparked unpark() noexcept { return interrupt(0); }
  // Any thread. The fiber shall look at its scopes: wakes it for nothing. The
  // frame may have been used again: every wait puts up with that.
  [[nodiscard]] Unparked nudge() noexcept { return interrupt(kCancel); }
  // The same, and it is cancelled itself; the frame is held.
  [[nodiscard]] Unparked cancel() noexcept {
    return interrupt(kCancel | kAlone);
  }

  // The fiber, or its guest: is about to look at its scopes.
  void begin_look() noexcept {
    word_.fetch_and(~kCancel, acq_rel);  // [wake]
  }
  // The same, when it must stop, or may have to.
  void look_again() noexcept {
    word_.fetch_or(kCancel, acq_rel);  // [wake]
  }

  // The fiber, after it was resumed: open means woken for nothing, and the
  // word is parking again (the token was taken); else what ended the wait.
  [[nodiscard]] Who rewait() noexcept {
    for (auto w = word_.load(acquire);;) {  // [wake]
      if (claim_of(w) != Who::open) return claim_of(w);
      const auto next = with_state(w, State::parking) & ~kToken;
      if (word_.compare_exchange_weak(w, next, acq_rel, acquire)) {  // [wake]
        if (state(w) != State::parking) {
          record(Logical::running, Logical::parking, Actor::owner);
        }
        return Who::open;
      }
    }
  }

  // The fiber, when publishing found a source ready, or when it must stop:
  // open -> withdrawn, or cancelled. Answers that, or who was faster.
  [[nodiscard]] Who withdraw(Who as = Who::withdrawn) noexcept {
    for (auto w = word_.load(acquire);;) {  // [wake]
      if (claim_of(w) != Who::open) return claim_of(w);
      const auto next = with_claim(w, as);
      if (word_.compare_exchange_weak(w, next, acq_rel, acquire)) {  // [wake]
        return as;
      }
    }
  }

  // The fiber, its wait settled and its nodes gone.
  void end_wait() noexcept {
    auto w = word_.load(acquire);  // [wake]
    while (state(w) == State::parking) {
      const auto next = with_state(w, State::running);
      if (word_.compare_exchange_weak(w, next, acq_rel, acquire)) {  // [wake]
        record(Logical::parking, Logical::running, Actor::owner);
        return;
      }
    }
  }

  // The fiber, back from a raw park. Closes the wait, which nobody claims;
  // takes the token if that was what refused the commit, and leaves one that
  // came later.
  void end_park() noexcept {
    for (auto w = word_.load(acquire);;) {  // [wake]
      WEFT_ASSERT(claim_of(w) == Who::open, "C2");
      const bool refused = state(w) == State::parking;
      auto next = with_claim(with_state(w, State::running), Who::withdrawn);
      if (refused) next &= ~kToken;
      if (word_.compare_exchange_weak(w, next, acq_rel, acquire)) {  // [wake]
        if (refused) {
          record(Logical::parking, Logical::running, Actor::owner);
        }
        return;
      }
    }
  }

  // Worker only, off the fiber's stack: it may run elsewhere from now on.
  void yielded() noexcept {
    auto w = word_.load(relaxed);  // the exchange decides
    for (;;) {
      WEFT_ASSERT(state(w) == State::running || state(w) == State::parking,
                  "C1");
      const auto next = with_owner(with_state(w, State::queued), 0);
      if (word_.compare_exchange_weak(w, next, acq_rel,
                                      relaxed)) {  // [context]
        record(Logical::running, Logical::runnable, Actor::worker);
        return;
      }
    }
  }

  // Worker only, before the guest's commit: running -> hosting. False if it
  // is hosting already.
  bool host() noexcept {
    auto w = word_.load(relaxed);  // own word: the exchange decides
    while (state(w) == State::running) {
      const auto next = with_owner(with_state(w, State::hosting), 0);
      if (word_.compare_exchange_weak(w, next, acq_rel,
                                      relaxed)) {  // [context]
        return true;
      }
    }
    return false;
  }

  // The worker on which the guest ended: hosting -> running.
  void unhost(unsigned owner) noexcept {
    if (state(word_.load(relaxed)) != State::hosting) return;  // never left it
    move(State::hosting, State::running, owner);               // [wake]
  }

  // Worker only, frame exclusive: an ended fiber has something left to do.
  void revive(unsigned owner, bool was_cancelled, bool metered) noexcept {
    auto w = word_.load(relaxed) | kCancel;  // exclusive: C1
    WEFT_ASSERT(state(w) == State::done, "C1");
    if (was_cancelled) w |= kAlone;
    if (metered) w |= kMetered;
    word_.store(with_owner(with_state(w, State::running), owner),
                relaxed);  // exclusive: C1
  }

  // Worker only. Token and cancel go with the fiber: a racing exchange fails
  // and then finds done.
  void done(bool was_cancelled) noexcept {
    const auto w = word_.load(relaxed);  // only the ticket is kept
    WEFT_ASSERT(state(w) == State::running, "C1");
    record(Logical::running, was_cancelled ? Logical::cancelled : Logical::done,
           Actor::worker);
    word_.store((w & kTicketMask) | bits(State::done), release);  // [done]
  }

  // Whoever the join word names: done -> free.
  void reclaim() noexcept {
    const auto w = word_.load(relaxed);  // exclusive: C1
    WEFT_ASSERT(state(w) == State::done, "C1");
    word_.store(w & kTicketMask, relaxed);  // free; exclusive: C1
  }

  bool is_done() const noexcept {
    return state(word_.load(acquire)) == State::done;  // [done]
  }
  State state_now() const noexcept {  // any thread: a snapshot
    return state(word_.load(relaxed));
  }
  bool must_look() const noexcept {  // the fiber itself
    return (word_.load(relaxed) & kCancel) != 0;
  }
  // Whoever claimed it near: does it belong to that worker?
  bool is_running_on(unsigned owner) const noexcept {
    const auto w = word_.load(relaxed);  // own word, but for flags
    return (w & (kStateMask | kOwnerMask << kOwnerShift)) ==
           with_owner(bits(State::running), owner);
  }
  bool is_metered() const noexcept {  // the fiber itself; fixed at its start
    return (word_.load(relaxed) & kMetered) != 0;
  }
  bool is_shielded() const noexcept {  // whoever owns the fiber
    return (word_.load(relaxed) & kShield) != 0;
  }
  bool cancelled() const noexcept {  // the fiber itself, or a snapshot
    return (word_.load(relaxed) & kAlone) != 0;
  }
  // The specification's values: IDLE 0, ASSIGNED -1, PARKED -2, DONE -4,
  // OWNED > 0; internal: hosting -3, reserved -5.
  std::int64_t spec_value() const noexcept;
  Logical logical() const noexcept;

 private:
  // The word of a wait that begins: its ticket, the claim open, a state.
  static std::uint64_t opened(std::uint64_t ticket, State s) noexcept {
    return (ticket & kTicketLow) << kTicketShift |
           static_cast<std::uint64_t>(Who::open) << kClaimShift | bits(s);
  }
  // A parked fiber's, whom nobody owns, when it is to run: anywhere, or on the
  // worker `near`.
  static std::uint64_t woken(std::uint64_t w, unsigned near) noexcept {
    return w + (near == 0 ? bits(State::queued) - bits(State::parked)
                          : bits(State::running) - bits(State::parked) +
                                (std::uint64_t{near} << kOwnerShift));
  }
  // Owner bits are zero in every state that a worker takes over from, so one
  // addition moves state and owner and leaves the flags to their writers.
  std::uint64_t move(State from, State to, unsigned owner) noexcept {
    const auto change =
        bits(to) - bits(from) + (std::uint64_t{owner} << kOwnerShift);
    const auto w =
        word_.fetch_add(change, acq_rel);  // [spawn] [context] [wake]
    WEFT_ASSERT(state(w) == from, "C3");
    return w;
  }

  Unparked interrupt(std::uint64_t flags) noexcept {
    for (auto w = word_.load(relaxed);;) {  // the exchange decides
      if (!is_live(state(w))) return Unparked::nothing;
      const bool owns = state(w) == State::parked;
      auto next = w | flags;
      next = owns ? with_state(next, State::queued) : next | kToken;
      if (word_.compare_exchange_weak(w, next, acq_rel,
                                      relaxed)) {  // [wake] [context]
        if (owns) record(Logical::parked, Logical::runnable, Actor::waker);
        return owns ? Unparked::owns : Unparked::nothing;
      }
    }
  }

  Begun begin(std::uint64_t ticket, bool shield, bool take_token) noexcept {
    for (auto w = word_.load(acquire);;) {  // [wake]
      WEFT_ASSERT(state(w) == State::running, "C1");
      const bool had_token = take_token && (w & kToken) != 0;
      const bool cancelled = (w & kCancel) != 0 && !shield;
      auto next = w & ~(kToken | kShield);
      if (!had_token && !cancelled) {
        next = with_claim(with_state(next, State::parking), Who::open);
        next = (next & ~kTicketMask) | (ticket & kTicketLow) << kTicketShift;
        if (shield) next |= kShield;
      } else if (!had_token) {
        return Begun::cancelled;  // nothing to change: the token stays
      }
      if (word_.compare_exchange_weak(w, next, acq_rel, acquire)) {  // [wake]
        if (had_token) return Begun::had_token;
        record(Logical::running, Logical::parking, Actor::owner);
        return Begun::go_on;
      }
    }
  }

  Atomic<std::uint64_t> word_{0};
};

}  // namespace weft::fiber
