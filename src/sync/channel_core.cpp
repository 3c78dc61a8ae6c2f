#include "sync/channel_core.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "base/check.hpp"
#include "base/fault.hpp"
#include "base/point.hpp"
#include "sync/about_to.hpp"

namespace weft::sync {

using detail::kRingClosed;
using detail::kRingFlags;
using detail::kRingLocked;
using detail::kRingStep;
using detail::kRingWaits;

namespace {

constexpr auto kNowhere = ~std::uint64_t{0};

void* value_of(const WaitNode& waits) noexcept {
  return static_cast<const detail::ChannelIo*>(waits.slot)->value;
}

}  // namespace

// What two parties agreed on under the lock.
struct ChannelCore::Deal {
  Agreed agreed = Agreed::nothing;
  std::uint64_t take = kNowhere;  // from this position
  std::uint64_t fill = kNowhere;  // this one, with one's own or the partner's
  void* late = nullptr;           // from here
  WaitNode* partner = nullptr;    // who waited: he is claimed
  Fiber* owned = nullptr;         // whom to enqueue then
};

// Values of senders who waited when the channel closed, in their order.
struct ChannelCore::Late {
  static constexpr std::size_t kRoom = 64;
  Plain<Late*> next = nullptr;
  Plain<std::size_t> count = 0;
  Plain<std::size_t> taken = 0;
  std::byte* values;

  // nullptr: no memory.
  static Late* make(const ElementOps& element) noexcept {
    if (base::refused(base::FaultPoint::channel)) return nullptr;
    const std::align_val_t align{element.align};
    const auto head = (sizeof(Late) + element.align - 1) & -element.align;
    void* const memory = ::operator new(head + kRoom * element.size, align,
                                        std::nothrow);
    if (memory == nullptr) return nullptr;
    auto* const late = ::new (memory) Late;
    late->values = static_cast<std::byte*>(memory) + head;
    return late;
  }
  static void free(Late* late, const ElementOps& element) noexcept {
    ::operator delete(static_cast<void*>(late), std::align_val_t{element.align});
  }
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

ChannelCore::ChannelCore(const ElementOps& element, std::size_t capacity,
                         const detail::ChannelSetup& setup) noexcept
    : element_(element), on_full_(setup.on_full) {
  const auto flags = setup.lock_free && capacity != 0 ? 0 : kRingLocked;
  for (End* end : {&tail_, &head_}) {
    end->word.store(flags, relaxed);  // nobody knows it yet
    end->lap = std::bit_ceil(capacity) * kRingStep;
    end->limit = capacity * kRingStep;
    end->slots = reinterpret_cast<std::byte*>(this) + slots_offset(element);
  }
  for (std::size_t i = 0; i < capacity; ++i) {
    ::new (static_cast<void*>(tail_.slots + i * element.slot_size))
        Atomic<std::uint64_t>(i * kRingStep);
  }
  auto* const text = reinterpret_cast<char*>(tail_.slots) +
                     capacity * element.slot_size;
  setup.name.copy(text, setup.name.size());
  name_ = {text, setup.name.size()};
}

std::size_t ChannelCore::slots_offset(const ElementOps& element) noexcept {
  return (sizeof(ChannelCore) + element.align - 1) & -element.align;
}

std::align_val_t ChannelCore::alignment(const ElementOps& element) noexcept {
  return std::align_val_t{std::max(element.align, alignof(ChannelCore))};
}

ChannelCore* ChannelCore::make(const ElementOps& element, std::size_t capacity,
                               const detail::ChannelSetup& setup) noexcept {
  constexpr auto kMost = std::size_t{1} << 48;  // bytes: no machine has them
  if (base::refused(base::FaultPoint::channel) ||
      capacity > kMost / element.slot_size) {
    return nullptr;
  }
  const auto bytes = slots_offset(element) + capacity * element.slot_size +
                     setup.name.size();
  void* const memory =
      ::operator new(bytes, alignment(element), std::nothrow);
  if (memory == nullptr) return nullptr;
  return ::new (memory) ChannelCore(element, capacity, setup);
}

// Nobody is left.
ChannelCore::~ChannelCore() {
  while (drop_oldest()) {
  }
  while (Late* const late = late_) {
    late_ = late->next;
    Late::free(late, element_);
  }
}

void ChannelCore::hold(ChannelSide side) noexcept {
  holders(side).fetch_add(1, relaxed);  // who copies holds it already
}

void ChannelCore::let_go(ChannelSide side) noexcept {
  auto& mine = holders(side);
  // Alone, nobody can make it more. [gone]
  if (mine.load(acquire) != 1 && mine.fetch_sub(1, acq_rel) != 1) return;
  if (sides_.load(acquire) != 1) {  // [gone]
    close(side, Errc::closed);
    if (sides_.fetch_sub(1, acq_rel) != 1) return;  // [gone]
  }
  const auto& element = element_;
  this->~ChannelCore();
  ::operator delete(static_cast<void*>(this), alignment(element));
}

bool ChannelCore::send_at_once(void* value) noexcept {
  std::uint64_t at = 0;
  if (!tail_.advance<0>(at, stamps())) return false;
  put(at, value);
  return true;
}

bool ChannelCore::receive_at_once(void* to) noexcept {
  std::uint64_t at = 0;
  if (!head_.advance<1>(at, stamps())) return false;
  take(at, to);
  return true;
}

void ChannelCore::put(std::uint64_t at, void* value) noexcept {
  element_.move(value_in(at), value);
  base::pass(base::Point::filling);
  detail::fill(stamp(at), at);  // [fill]
}

void ChannelCore::take(std::uint64_t at, void* to) noexcept {
  element_.move(to, value_in(at));
  element_.destroy(value_in(at));
  detail::free(stamp(at), at, tail_.lap);  // [free]
}

// The next position, flags or not. False: the buffer is full. A slot that is
// being read is free in a moment.
bool ChannelCore::reserve(std::uint64_t& at) noexcept {
  if (tail_.limit == 0) return false;
  for (auto w = tail_.word.load(relaxed);;) {  // the exchange decides
    at = End::position(w);
    if (at - End::position(head_.word.load(relaxed)) == tail_.lap) return false;
    if (stamp(at).load(acquire) != at) {  // [free]
      pause();
      w = tail_.word.load(relaxed);  // or another has it
    } else if (tail_.word.compare_exchange_weak(
                   w, tail_.after(at) | (w & kRingFlags), relaxed, relaxed)) {
      return true;
    }
  }
}

// The same of a value. False: the buffer is empty.
bool ChannelCore::claim(std::uint64_t& at) noexcept {
  for (auto w = head_.word.load(relaxed);;) {  // the exchange decides
    at = End::position(w);
    if (End::position(tail_.word.load(relaxed)) == at) return false;
    if (stamp(at).load(acquire) != at + 1) {  // [fill]
      pause();
      w = head_.word.load(relaxed);  // or another has it
    } else if (head_.word.compare_exchange_weak(
                   w, head_.after(at) | (w & kRingFlags), relaxed, relaxed)) {
      return true;
    }
  }
}

// The first who still waits, taken off his queue and claimed: H2.
WaitNode* ChannelCore::next_of(WaitQueue& queue, Fiber*& owned) noexcept {
  while (WaitNode* const node = queue.pop_front()) {
    if (node->claim(owned)) return node;
  }
  return nullptr;
}

ChannelCore::Deal ChannelCore::agree(ChannelSide as) noexcept {
  return as == ChannelSide::sends ? agree_to_send() : agree_to_receive();
}

ChannelCore::Deal ChannelCore::agree_to_send() noexcept {
  Deal deal;
  deal.agreed = Agreed::done;
  if ((tail_.word.load(relaxed) & kRingClosed) != 0) {  // the lock's
    deal.agreed = Agreed::closed;
  } else if ((deal.partner = next_of(receivers_, deal.owned)) == nullptr &&
             (!senders_.empty() || !reserve(deal.fill))) {
    deal.agreed = Agreed::nothing;
  }
  return deal;
}

ChannelCore::Deal ChannelCore::agree_to_receive() noexcept {
  Deal deal;
  deal.agreed = Agreed::done;
  if (claim(deal.take)) {
    // It was full if somebody waited: the slot goes to him.
    if (late_ == nullptr &&
        (deal.partner = next_of(senders_, deal.owned)) != nullptr) {
      deal.fill = deal.take + tail_.lap;
      const auto w = tail_.word.load(relaxed);  // the lock's: N1
      tail_.word.store(tail_.after(deal.fill) | (w & kRingFlags), relaxed);
    }
    return deal;
  }
  deal.take = kNowhere;
  if ((deal.late = take_late()) != nullptr) return deal;
  if ((deal.partner = next_of(senders_, deal.owned)) != nullptr) return deal;
  const auto w = tail_.word.load(relaxed);  // the lock's
  deal.agreed = (w & kRingClosed) != 0 ? Agreed::closed : Agreed::nothing;
  return deal;
}

Status ChannelCore::carry_out(const Deal& deal, ChannelSide as,
                              void* value) noexcept {
  if (deal.agreed == Agreed::closed) return end_for(as);
  if (deal.agreed == Agreed::nothing) return Errc::would_block;
  if (as == ChannelSide::sends) {
    if (deal.partner == nullptr) {
      put(deal.fill, value);
    } else {
      element_.move(value_of(*deal.partner), value);
    }
  } else if (deal.take != kNowhere) {
    take(deal.take, value);
    if (deal.partner != nullptr) put(deal.fill, value_of(*deal.partner));
  } else if (deal.late != nullptr) {
    element_.move(value, deal.late);
    element_.destroy(deal.late);
  } else {
    element_.move(value, value_of(*deal.partner));
  }
  if (deal.partner != nullptr) {
    deal.partner->conclude(Reason::data);
    if (deal.owned != nullptr) sched::make_runnable(*deal.owned);
  }
  return {};
}

// N2. False: something changed, so agree() may succeed now.
bool ChannelCore::mark_waiting(ChannelSide as) noexcept {
  auto t = tail_.word.load(relaxed);  // the exchange decides
  const auto h = head_.word.load(relaxed);
  if (as == ChannelSide::receives) {
    if ((t & (kRingWaits | kRingLocked)) != 0) return true;
    return End::position(t) == End::position(h) &&
           tail_.word.compare_exchange_strong(t, t | kRingWaits, relaxed,
                                              relaxed);
  }
  if ((t & (kRingWaits | kRingLocked)) == 0 &&
      !tail_.word.compare_exchange_strong(t, t | kRingWaits, relaxed,
                                          relaxed)) {
    return false;
  }
  if ((h & (kRingWaits | kRingLocked)) != 0) return true;
  auto full = h;
  return End::position(t) - End::position(h) == tail_.lap &&
         head_.word.compare_exchange_strong(full, h | kRingWaits, relaxed,
                                            relaxed);
}

// Nobody waits any more: others need not ask.
void ChannelCore::unmark() noexcept {
  if (!senders_.empty()) return;
  const auto h = head_.word.load(relaxed);  // the lock's, if there is a flag
  if ((h & kRingWaits) != 0) head_.word.store(h & ~kRingWaits, relaxed);
  if (!receivers_.empty()) return;
  const auto t = tail_.word.load(relaxed);
  if ((t & kRingWaits) != 0) tail_.word.store(t & ~kRingWaits, relaxed);
}

Status ChannelCore::try_as(ChannelSide as, void* value) noexcept {
  lock_.lock();
  const Deal deal = agree(as);
  unmark();
  lock_.unlock();
  return carry_out(deal, as, value);
}

// Head before tail, and the other way round: then what they say was so at the
// second look.
Status ChannelCore::try_send(void* value) noexcept {
  if (send_at_once(value)) return {};
  const auto t = tail_.word.load(acquire);  // before head
  const auto h = head_.word.load(relaxed);
  if ((t & kRingFlags) == 0 && t - End::position(h) == tail_.lap) {
    return Errc::would_block;
  }
  return try_as(ChannelSide::sends, value);
}

Status ChannelCore::try_receive(void* to) noexcept {
  if (receive_at_once(to)) return {};
  const auto h = head_.word.load(acquire);  // before tail
  const auto t = tail_.word.load(relaxed);
  if ((h & kRingFlags) == 0 && End::position(t) == h &&
      (t & kRingClosed) == 0) {
    return Errc::would_block;
  }
  return try_as(ChannelSide::receives, to);
}

Status ChannelCore::send(void* value, Deadline deadline) noexcept {
  if (send_at_once(value)) return {};
  return wait_as(ChannelSide::sends, value, deadline);
}

Status ChannelCore::receive(void* to, Deadline deadline) noexcept {
  if (receive_at_once(to)) return {};
  return wait_as(ChannelSide::receives, to, deadline);
}

Status ChannelCore::wait_as(ChannelSide as, void* value,
                            Deadline deadline) noexcept {
  detail::ChannelIo io{value, {}};
  WaitNode node;
  node.slot = &io;
  waiting::Wait wait;
  lock_.lock();
  Deal deal = agree(as);
  while (deal.agreed == Agreed::nothing && !mark_waiting(as)) deal = agree(as);
  if (deal.agreed != Agreed::nothing) {
    unmark();
    lock_.unlock();
    return carry_out(deal, as, value);
  }
  if (wait.begin(/*shield=*/false) == waiting::Begun::cancelled) {
    unmark();
    lock_.unlock();
    return waiting::refuse_cancelled(wait.self());
  }
  wait.own(node);
  queue_of(as).push_back(node);
  lock_.unlock();
  Waits waits{*this, as, wait.self()};
  if (auto* const simulator = sched::carrier().simulator) [[unlikely]] {
    simulator->note(sched::Op::wait, this, {&Waits::is_over, &waits});
  }
  const auto who = wait.park(deadline);
  came_back();
  if (who != fiber::source(0)) unpublish(as, node);
  waiting::until_gone(node);
  wait.end();
  return who == fiber::source(0) ? result(as, node) : waiting::outcome(who);
}

bool ChannelCore::publish(ChannelSide as, WaitNode& node) noexcept {
  lock_.lock();
  const bool ready = is_ready_now(as, *node.fiber) || !mark_waiting(as);
  if (!ready) queue_of(as).push_back(node);
  unmark();
  lock_.unlock();
  return !ready;
}

void ChannelCore::unpublish(ChannelSide as, WaitNode& node) noexcept {
  lock_.lock();
  queue_of(as).remove(node);
  unmark();
  lock_.unlock();
}

bool ChannelCore::is_ready(ChannelSide as, const Fiber& self) noexcept {
  lock_.lock();
  const bool ready = is_ready_now(as, self);
  lock_.unlock();
  return ready;
}

bool ChannelCore::is_ready_now(ChannelSide as, const Fiber& self) noexcept {
  const auto h = End::position(head_.word.load(relaxed));
  const auto t = tail_.word.load(relaxed);
  if ((t & kRingClosed) != 0) return true;
  const auto inside = End::position(t) - h;
  if (as == ChannelSide::receives) {
    return inside != 0 || senders_.has_other_than(self);
  }
  return (tail_.limit != 0 && inside != tail_.lap) ||
         receivers_.has_other_than(self);
}

void ChannelCore::close(ChannelSide by, Error reason) noexcept {
  bool more = false;
  {
    Woken woken;
    lock_.lock();
    if ((tail_.word.load(relaxed) & kRingClosed) == 0) {  // the lock's
      closed_by_ = by;
      reason_ = reason;
      tail_.word.fetch_or(kRingClosed, acq_rel);  // [close] H1
      (void)receivers_.wake_all(Reason::close, woken);
      if (by == ChannelSide::receives || tail_.limit == 0) {
        (void)senders_.wake_all(Reason::close, woken);
      }
      more = !senders_.empty();
    }
    unmark();
    lock_.unlock();
  }
  while (more) more = keep_late();
  while (by == ChannelSide::receives && drop_oldest()) {
  }
}

// Some of those who wait, their values moved behind the buffer. False: that was
// all of them. Here values move under the lock.
bool ChannelCore::keep_late() noexcept {
  Late* const room = Late::make(element_);
  Woken woken;
  lock_.lock();
  if (room != nullptr) {
    Plain<Late*>* end = &late_;
    while (*end != nullptr) end = &static_cast<Late*>(*end)->next;
    *end = room;
  }
  Fiber* owned = nullptr;
  while (room == nullptr || room->count < Late::kRoom) {
    WaitNode* const sender = next_of(senders_, owned);
    if (sender == nullptr) break;
    if (room != nullptr) {
      element_.move(room->values + room->count * element_.size, value_of(*sender));
      room->count = room->count + 1;
    }
    sender->conclude(room != nullptr ? Reason::data : Reason::close);
    woken.add(owned);
  }
  const bool more = !senders_.empty();
  unmark();
  lock_.unlock();
  return more;
}

void* ChannelCore::take_late() noexcept {
  for (Late* late = late_; late != nullptr; late = late->next) {
    if (late->taken < late->count) {
      const auto index = late->taken;
      late->taken = index + 1;
      return late->values + index * element_.size;
    }
  }
  return nullptr;
}

bool ChannelCore::drop_oldest() noexcept {
  std::uint64_t at = 0;
  lock_.lock();
  const bool found = claim(at);
  void* const late = found ? nullptr : take_late();
  lock_.unlock();
  if (found) {
    element_.destroy(value_in(at));
    detail::free(stamp(at), at, tail_.lap);  // [free]
  } else if (late != nullptr) {
    element_.destroy(late);
  }
  return found || late != nullptr;
}

std::size_t ChannelCore::size_hint() const noexcept {
  const auto h = End::position(head_.word.load(relaxed));
  const auto t = End::position(tail_.word.load(relaxed));
  const auto laps = t / tail_.lap - h / tail_.lap;
  return laps * capacity() + tail_.index(t) - tail_.index(h);
}

}  // namespace weft::sync
