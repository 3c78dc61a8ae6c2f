// channel_life.cpp: how a channel begins and ends.

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "base/check.hpp"
#include "base/fault.hpp"
#include "base/point.hpp"
#include "sync/channel_core.hpp"

namespace weft::sync {

using detail::kRingClosed;
using detail::kRingLocked;
using detail::kRingStep;

ChannelCore::ChannelCore(const ElementOps& element, std::size_t capacity,
                         const detail::ChannelSetup& setup) noexcept
    : element_(element), on_full_(setup.on_full), license_(setup.license) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
  static_assert(offsetof(ChannelCore, tail_) ==
                offsetof(detail::ChannelEnds, tail));
  static_assert(offsetof(ChannelCore, head_) ==
                offsetof(detail::ChannelEnds, head));
#pragma GCC diagnostic pop
  const auto flags = setup.lock_free && capacity != 0 ? 0 : kRingLocked;
  for (End* end : {&tail_, &head_}) {
    end->word.store(flags, relaxed);  // nobody knows it yet
    end->lap = std::bit_ceil(capacity) * kRingStep;
    end->limit = capacity * kRingStep;
    end->slots =
        reinterpret_cast<std::byte*>(this) + slots_offset(element, capacity);
  }
  if (capacity != 0) {
    ::new (static_cast<void*>(tail_.slots - sizeof(Ownership))) Ownership;
  }
  for (std::size_t i = 0; i < capacity; ++i) {
    ::new (static_cast<void*>(tail_.slots + i * element.slot_size))
        Atomic<std::uint64_t>(i * kRingStep);
  }
  auto* const text =
      reinterpret_cast<char*>(tail_.slots) + capacity * element.slot_size;
  setup.name.copy(text, setup.name.size());
  name_ = {text, setup.name.size()};
}

std::size_t ChannelCore::slots_offset(const ElementOps& element,
                                      std::size_t capacity) noexcept {
  const auto before =
      sizeof(ChannelCore) + (capacity == 0 ? 0 : sizeof(Ownership));
  const auto align = std::max(element.align, alignof(Ownership));
  return (before + align - 1) & -align;
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
  const auto bytes = slots_offset(element, capacity) +
                     capacity * element.slot_size + setup.name.size();
  void* const memory = ::operator new(bytes, alignment(element), std::nothrow);
  if (memory == nullptr) return nullptr;
  return ::new (memory) ChannelCore(element, capacity, setup);
}

// Nobody is left.
ChannelCore::~ChannelCore() {
  while (drop_oldest()) {
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
  auto* const license = license_;
  this->~ChannelCore();
  ::operator delete(static_cast<void*>(this), alignment(element));
  if (license != nullptr) license->give_back();
}

// The closer holds the channel until it returns: nobody else frees it.
void ChannelCore::close(ChannelSide by, Error reason) noexcept {
  bool more = false;
  std::size_t waiting = 0;
  {
    Woken woken;
    enter();
    if (by == ChannelSide::receives) unwanted_ = true;
    if ((tail_.word.load(relaxed) & kRingClosed) == 0) {  // the lock's
      closed_by_ = by;
      reason_ = reason;
      tail_.word.fetch_or(kRingClosed, release);  // [close] H1
      more = tell_some(woken);
      if (admits_waiting()) waiting = senders_.count(kAtOnce);
    }
    unmark();
    lock_.unlock();
  }
  while (more) {
    base::pass(base::Point::closing);
    Woken woken;
    enter();
    more = tell_some(woken);
    unmark();
    lock_.unlock();
  }
  while (waiting != 0) waiting = keep_late(waiting);
  while (by == ChannelSide::receives && drop_oldest()) {
  }
}

// Tells kAtOnce of those who wait in vain. False: that was all.
bool ChannelCore::tell_some(Woken& woken) noexcept {
  std::size_t left = kAtOnce;
  const auto tell = [&](WaitQueue& queue) noexcept {
    for (; left != 0 && !queue.empty(); --left) {
      (void)WaitQueue::finish(*queue.pop_front(), Reason::close, woken);
    }
    return !queue.empty();
  };
  const bool more = tell(receivers_);
  return (!admits_waiting() && tell(senders_)) || more;
}

// H1. Moves what the first `waiting` of those who wait hold behind the buffer.
// If there is no memory, or the receiving side has closed as well, they keep
// it. Answers how many come next.
[[gnu::noinline]] std::size_t ChannelCore::keep_late(
    std::size_t waiting) noexcept {
  LatePiece* const piece = LatePiece::make(element_, waiting);
  WaitNode* claimed[kAtOnce];
  std::size_t count = 0;
  Woken woken;
  enter();
  for (std::size_t i = 0; i < waiting && !senders_.empty(); ++i) {
    Fiber* owned = nullptr;
    WaitNode* const sender = senders_.pop_front();
    if (!sender->claim(owned)) continue;
    claimed[count++] = sender;
    woken.add(owned);
  }
  const bool keeps = piece != nullptr && count != 0 && admits_waiting();
  if (keeps) late_.append(*piece, count);
  const auto next = senders_.count(kAtOnce);
  unmark();
  lock_.unlock();
  for (std::size_t i = 0; i < count; ++i) {
    if (keeps) piece->fill(i, value_of(*claimed[i]));
    claimed[i]->conclude(keeps ? Reason::data : Reason::close);
  }
  if (piece != nullptr && !keeps) piece->destroy();
  return next;
}

std::size_t ChannelCore::size_hint() const noexcept {
  const auto h = End::position(head_.word.load(acquire));  // [ends]
  const auto t = End::position(tail_.word.load(relaxed));
  const auto laps = t / tail_.lap - h / tail_.lap;
  const auto size = laps * capacity() + tail_.index(t) - tail_.index(h);
  // Head may have moved meanwhile.
  return std::min(size, capacity()) + late_.size();
}

bool ChannelCore::is_ready(ChannelSide as, const Fiber& self) noexcept {
  lock_.lock();
  const bool ready = is_ready_now(as, self);
  lock_.unlock();
  return ready;
}

// Under the lock, and so are the words.
bool ChannelCore::is_ready_now(ChannelSide as, const Fiber& self) noexcept {
  const auto h = End::position(head_.word.load(relaxed));  // the lock's
  const auto t = tail_.word.load(relaxed);                 // the lock's
  if ((t & kRingClosed) != 0) return true;
  const auto inside = End::position(t) - h;
  if (as == ChannelSide::receives) {
    return inside != 0 || senders_.has_other_than(self);
  }
  return (tail_.limit != 0 && inside != tail_.lap) ||
         receivers_.has_other_than(self);
}

}  // namespace weft::sync
