// channel_life.cpp: how a channel begins and ends.

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "base/check.hpp"
#include "base/fault.hpp"
#include "sync/channel_core.hpp"

namespace weft::sync {

using detail::kRingClosed;
using detail::kRingLocked;
using detail::kRingStep;

ChannelCore::ChannelCore(const ElementOps& element, std::size_t capacity,
                         const detail::ChannelSetup& setup) noexcept
    : element_(element), on_full_(setup.on_full) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
  static_assert(offsetof(ChannelCore, tail_) ==
                offsetof(detail::Channel, tail));
  static_assert(offsetof(ChannelCore, head_) ==
                offsetof(detail::Channel, head));
#pragma GCC diagnostic pop
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
  auto* const text =
      reinterpret_cast<char*>(tail_.slots) + capacity * element.slot_size;
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
  const auto bytes =
      slots_offset(element) + capacity * element.slot_size + setup.name.size();
  void* const memory = ::operator new(bytes, alignment(element), std::nothrow);
  if (memory == nullptr) return nullptr;
  return ::new (memory) ChannelCore(element, capacity, setup);
}

// Nobody is left.
ChannelCore::~ChannelCore() {
  while (drop_oldest()) {
  }
  while (ChannelLate* const late = late_) {
    late_ = late->next;
    ChannelLate::free(late, element_);
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

void ChannelCore::close(ChannelSide by, Error reason) noexcept {
  bool more = false;
  {
    Woken woken;
    lock_.lock();
    if ((tail_.word.load(relaxed) & kRingClosed) == 0) {  // the lock's
      closed_by_ = by;
      reason_ = reason;
      tail_.word.fetch_or(kRingClosed, release);  // [close] H1
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
  ChannelLate* const room = ChannelLate::make(element_);
  Woken woken;
  lock_.lock();
  if (room != nullptr) {
    Plain<ChannelLate*>* end = &late_;
    while (*end != nullptr) end = &static_cast<ChannelLate*>(*end)->next;
    *end = room;
  }
  Fiber* owned = nullptr;
  while (room == nullptr || !room->is_full()) {
    WaitNode* const sender = senders_.claim_first(owned);
    if (sender == nullptr) break;
    if (room != nullptr) room->add(value_of(*sender), element_);
    sender->conclude(room != nullptr ? Reason::data : Reason::close);
    woken.add(owned);
  }
  const bool more = !senders_.empty();
  unmark();
  lock_.unlock();
  return more;
}

void* ChannelCore::take_late() noexcept {
  for (ChannelLate* late = late_; late != nullptr; late = late->next) {
    if (late->taken < late->count) {
      const auto index = late->taken;
      late->taken = index + 1;
      return late->values + index * element_.size;
    }
  }
  return nullptr;
}

bool ChannelCore::drop_oldest() noexcept {
  struct Place {
    ChannelCore& channel;
    std::uint64_t at;
    static void free(void* it) noexcept {
      const auto& place = *static_cast<const Place*>(it);
      detail::free(place.channel.stamp(place.at), place.at,
                   place.channel.tail_.lap);  // [free]
    }
  } place{*this, 0};
  lock_.lock();
  const bool found = tail_.limit != 0 && claim(place.at);
  void* const late = found || tail_.limit == 0 ? nullptr : take_late();
  lock_.unlock();
  if (found) element_.drop(value_in(place.at), &Place::free, &place);
  if (late != nullptr) element_.destroy(late);
  return found || late != nullptr;
}

std::size_t ChannelCore::size_hint() const noexcept {
  const auto h = End::position(head_.word.load(acquire));  // [ends]
  const auto t = End::position(tail_.word.load(relaxed));
  const auto laps = t / tail_.lap - h / tail_.lap;
  const auto size = laps * capacity() + tail_.index(t) - tail_.index(h);
  return std::min(size, capacity());  // head may have moved meanwhile
}

}  // namespace weft::sync
