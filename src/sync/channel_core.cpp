#include "sync/channel_core.hpp"

#include <cstring>
#include <utility>

#include "base/point.hpp"
#include "sched/dispatch.hpp"
#include "sched/unchecked.hpp"

#define WEFT_INLINE [[gnu::always_inline]] inline

namespace weft::sync {

using detail::kRingClosed;
using detail::kRingFlags;
using detail::kRingLocked;
using detail::kRingWaits;

namespace {
constexpr auto kNowhere = ~std::uint64_t{0};

// For claims: who of those that wait may be kept near.
WEFT_INLINE auto near() noexcept {
  return [](const Fiber& waits) noexcept {
    return sched::near_for(sched::carrier(), waits);
  };
}

// Until a slot is filled or free, which is a few instructions away, unless
// whose it is lost his CPU.
void rest(int& round) noexcept {
  constexpr int kSpins = 64;
  ++round < kSpins ? pause() : yield_cpu();
}
}  // namespace

// What two parties agreed on under the lock.
struct ChannelCore::Deal {
  Agreed agreed = Agreed::done;
  std::uint64_t take = kNowhere;  // from this position
  std::uint64_t fill = kNowhere;  // this one, with one's own or the partner's
  LateValue late;                 // this one
  WaitNode* partner = nullptr;    // who waited: he is claimed
  Fiber* owned = nullptr;         // whom to enqueue then
};

// A wait, as a simulation asks about it.
struct ChannelCore::Waits {
  ChannelCore& channel;
  ChannelSide as;
  const Fiber& self;

  static bool is_over(void* it) noexcept {
    const auto& wait = *static_cast<const Waits*>(it);
    return wait.channel.is_ready(wait.as, wait.self);
  }
};

bool ChannelCore::send_at_once(void* value) noexcept {
  std::uint64_t at = 0;
  if (!tail_.advance<0>(at, me(), stamps())) return false;
  put(at, value);
  return true;
}

bool ChannelCore::receive_at_once(void* to) noexcept {
  std::uint64_t at = 0;
  if (!head_.advance<1>(at, me(), stamps())) return false;
  take(at, to);
  return true;
}

// Others wait for a slot, or for the node of a partner: no check stops this.
// Bytes are copied here, since what the user's compiler makes of a move may
// have checks in it.
WEFT_INLINE void ChannelCore::move(void* to, void* from) noexcept {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  if (element_.is_bits) {
    const auto size = element_.size;
    std::memcpy(to, from, size == kWord ? kWord : size);
    return;
  }
  const sched::Unchecked no_checks;
  element_.move(to, from);
}

void ChannelCore::put(std::uint64_t at, void* value) noexcept {
  move(value_in(at), value);
  base::pass(base::Point::filling);
  detail::mark_filled(stamp(at), at);  // [fill]
}

void ChannelCore::take(std::uint64_t at, void* to) noexcept {
  const sched::Unchecked no_checks;  // as in put()
  element_.move(to, value_in(at));
  element_.destroy(value_in(at));
  detail::mark_free(stamp(at), at, tail_.lap);  // [free]
}

// The next position, flags or not. False: the buffer is full. A slot that is
// being read is free in a moment.
bool ChannelCore::reserve(std::uint64_t& at) noexcept {
  if (tail_.limit == 0) return false;
  int round = 0;
  for (auto w = tail_.word.load(acquire);;) {  // [ends]
    at = End::position(w);
    if (at - End::position(head_.word.load(relaxed)) == tail_.lap) return false;
    if (stamp(at).load(acquire) != at) {  // [free]
      rest(round);
      w = tail_.word.load(acquire);               // [ends]: or another has it
    } else if (tail_.word.compare_exchange_weak(  // [ends]
                   w, tail_.after(at) | (w & kRingFlags), release, acquire)) {
      return true;
    }
  }
}

// The same of a value. False: the buffer is empty.
bool ChannelCore::claim(std::uint64_t& at) noexcept {
  int round = 0;
  for (auto w = head_.word.load(acquire);;) {  // [ends]
    at = End::position(w);
    if (End::position(tail_.word.load(relaxed)) == at) return false;
    if (stamp(at).load(acquire) != at + 1) {  // [fill]
      rest(round);
      w = head_.word.load(acquire);               // [ends]: or another has it
    } else if (head_.word.compare_exchange_weak(  // [ends]
                   w, head_.after(at) | (w & kRingFlags), release, acquire)) {
      return true;
    }
  }
}

template <>
WEFT_INLINE ChannelCore::Deal
ChannelCore::agree<ChannelSide::sends>() noexcept {
  Deal deal;
  if ((tail_.word.load(relaxed) & kRingClosed) != 0) {  // the lock's
    deal.agreed = Agreed::closed;
  } else if ((deal.partner = receivers_.claim_first(deal.owned, near())) ==
                 nullptr &&
             (!senders_.empty() || tail_.limit == 0 || !reserve(deal.fill))) {
    deal.agreed = Agreed::nothing;
  }
  return deal;
}

template <>
WEFT_INLINE ChannelCore::Deal
ChannelCore::agree<ChannelSide::receives>() noexcept {
  Deal deal;
  if (tail_.limit != 0 && claim(deal.take)) {
    // It was full if somebody waited: the slot goes to him.
    if (late_.empty() && admits_waiting() &&
        (deal.partner = senders_.claim_first(deal.owned, near())) != nullptr) {
      deal.fill = deal.take + tail_.lap;
      const auto w = tail_.word.load(acquire);  // [ends], and the lock's: N1
      const auto next = tail_.after(deal.fill) | (w & kRingFlags);
      tail_.word.store(next, release);  // [ends]
    }
    return deal;
  }
  deal.take = kNowhere;
  if (tail_.limit != 0 && (deal.late = late_.take()).piece != nullptr) {
    return deal;
  }
  if (admits_waiting() &&
      (deal.partner = senders_.claim_first(deal.owned, near())) != nullptr) {
    return deal;
  }
  const auto w = tail_.word.load(relaxed);  // the lock's
  deal.agreed = (w & kRingClosed) != 0 ? Agreed::closed : Agreed::nothing;
  return deal;
}

// H2. The partner has what he waited for, or is rid of it.
WEFT_INLINE void conclude(WaitNode& partner, Fiber* owned) noexcept {
  partner.conclude(Reason::data);
  if (owned != nullptr) [[likely]]
    sched::wake_near(*owned);
}

template <ChannelSide As>
WEFT_INLINE void ChannelCore::hand_over(WaitNode& partner, Fiber* owned,
                                        void* value) noexcept {
  if constexpr (As == ChannelSide::sends) {
    move(value_of(partner), value);
  } else {
    move(value, value_of(partner));
  }
  conclude(partner, owned);
}

template <ChannelSide As>
WEFT_INLINE Status ChannelCore::carry_out(const Deal& deal,
                                          void* value) noexcept {
  if (deal.agreed == Agreed::closed) return end_for(As);
  if (deal.agreed == Agreed::nothing) return Errc::would_block;
  if (deal.partner != nullptr && deal.take == kNowhere) {
    hand_over<As>(*deal.partner, deal.owned, value);
  } else if constexpr (As == ChannelSide::sends) {
    put(deal.fill, value);
  } else if (deal.take != kNowhere) {
    take(deal.take, value);
    if (deal.partner != nullptr) {
      put(deal.fill, value_of(*deal.partner));
      conclude(*deal.partner, deal.owned);
    }
  } else {
    void* const late = deal.late.get();
    element_.move(value, late);
    element_.destroy(late);
    deal.late.piece->let_go();
  }
  return {};
}

template <ChannelSide As>
Status ChannelCore::try_now(void* value) noexcept {
  enter();
  const Deal deal = agree<As>();
  unmark();
  lock_.unlock();
  return carry_out<As>(deal, value);
}

// At a rendezvous, without the lock if nobody stands there.
template <ChannelSide As>
Status ChannelCore::try_meet(void* value) noexcept {
  constexpr auto kPartner =
      As == ChannelSide::sends ? kReceiverStands : kSenderStands;
  if ((standing_.load(acquire) & kPartner) == 0 && !is_closed()) {  // [stand]
    return Errc::would_block;
  }
  return try_now<As>(value);
}

// Head before tail, and the other way round: then what they say was so at the
// second look.
Status ChannelCore::try_send(void* value) noexcept {
  if (tail_.limit == 0) return try_meet<ChannelSide::sends>(value);
  if (send_at_once(value)) return {};
  const auto t = tail_.word.load(acquire);  // [ends]
  const auto h = head_.word.load(relaxed);
  if ((t & kRingFlags) == 0 && t - End::position(h) == tail_.lap) {
    return Errc::would_block;
  }
  return try_now<ChannelSide::sends>(value);
}

Status ChannelCore::try_receive(void* to) noexcept {
  if (tail_.limit == 0) return try_meet<ChannelSide::receives>(to);
  if (receive_at_once(to)) return {};
  const auto h = head_.word.load(acquire);  // [ends]
  const auto t = tail_.word.load(relaxed);
  if ((h & kRingFlags) == 0 && End::position(t) == h &&
      (t & kRingClosed) == 0) {
    return Errc::would_block;
  }
  return try_now<ChannelSide::receives>(to);
}

Status ChannelCore::send(void* value, Deadline deadline) noexcept {
  if (send_at_once(value)) return {};
  return transfer<ChannelSide::sends>(value, deadline);
}

Status ChannelCore::receive(void* to, Deadline deadline) noexcept {
  if (receive_at_once(to)) return {};
  return transfer<ChannelSide::receives>(to, deadline);
}

// By way of the buffer, under the lock, which it gives back if it answers true.
// False: the caller waits.
template <ChannelSide As>
[[gnu::noinline]] bool ChannelCore::transfer_buffered(void* value,
                                                      Status& end) noexcept {
  note_visit();
  for (;;) {
    const Deal deal = agree<As>();
    if (deal.agreed != Agreed::nothing) {
      unmark();
      lock_.unlock();
      end = carry_out<As>(deal, value);
      return true;
    }
    if (mark_waiting(As)) return false;
  }
}

// Under the lock, which it gives back: waits for a partner. False: it had to
// look whether it must stop, and need not; try again.
template <ChannelSide As>
WEFT_INLINE bool ChannelCore::wait_for_partner(void* value, Deadline deadline,
                                               Status& end) noexcept {
  waiting::Wait wait(*sched::carrier().current);
  detail::ChannelIo io{value, {}};
  WaitNode node;
  node.slot = &io;
  wait.own_ahead(node);
  queue_of(As).push_back(node);
  if (tail_.limit == 0) note_standing();
  auto who = waiting::Who::open;
  if (deadline != Deadline::never() || !wait.park_locked(lock_, who)) {
    if (wait.begin_locked() == waiting::Begun::cancelled) [[unlikely]] {
      queue_of(As).remove(node);
      unmark();
      lock_.unlock();  // before it looks: it may have to tell others
      if (!waiting::must_stop(wait.self())) return false;
      end = waiting::refuse_stopped(wait.self());
      return true;
    }
    lock_.unlock();
    Waits waits{*this, As, wait.self()};
    if (auto* const simulator = sched::carrier().simulator) [[unlikely]] {
      constexpr auto kOp =
          As == ChannelSide::sends ? sched::Op::send : sched::Op::receive;
      simulator->note(kOp, this, {&Waits::is_over, &waits});
    }
    who = wait.park(deadline);
    came_back();
  }
  if (who != fiber::source(0)) [[unlikely]]
    unpublish(As, node);
  waiting::until_gone(node);
  wait.end();
  end = who == fiber::source(0) ? result(As, node) : waiting::outcome(who);
  return true;
}

// At a rendezvous, under the lock, which it gives back if it answers true.
// False: the caller waits.
template <ChannelSide As>
WEFT_INLINE bool ChannelCore::met(void* value, Status& end) noexcept {
  // First: a close may not have told all yet.
  if ((tail_.word.load(relaxed) & kRingClosed) != 0) {  // the lock's
    lock_.unlock();
    end = end_for(As);
    return true;
  }
  if (partners_of(As).empty()) return false;
  Fiber* owned = nullptr;
  WaitNode* const partner = partners_of(As).claim_first(owned, near());
  if (partner == nullptr) return false;
  note_standing();
  lock_.unlock();
  hand_over<As>(*partner, owned, value);
  end = {};
  return true;
}

template <ChannelSide As>
Status ChannelCore::meet(void* value, Deadline deadline) noexcept {
  Status end;
  lock_.lock();  // nobody owns a rendezvous
  if (met<As>(value, end)) return end;
  return wait_to_meet<As>(value, deadline);
}

template <ChannelSide As>
[[gnu::noinline]] Status ChannelCore::wait_to_meet(void* value,
                                                   Deadline deadline) noexcept {
  Status end;
  do {
    if (wait_for_partner<As>(value, deadline, end)) break;
    lock_.lock();
  } while (!met<As>(value, end));
  return end;
}

template <ChannelSide As>
[[gnu::noinline]] Status ChannelCore::pass(void* value,
                                           Deadline deadline) noexcept {
  for (;;) {
    enter();
    Status end;
    if (transfer_buffered<As>(value, end)) return end;
    if (wait_for_partner<As>(value, deadline, end)) return end;
  }
}

template <ChannelSide As>
Status ChannelCore::transfer(void* value, Deadline deadline) noexcept {
  return tail_.limit == 0 ? meet<As>(value, deadline)
                          : pass<As>(value, deadline);
}

template Status ChannelCore::transfer<ChannelSide::sends>(void*,
                                                          Deadline) noexcept;
template Status ChannelCore::transfer<ChannelSide::receives>(void*,
                                                             Deadline) noexcept;

}  // namespace weft::sync

#undef WEFT_INLINE
