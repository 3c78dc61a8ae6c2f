// detail/broadcast.hpp: what the subscribers of a broadcast share.
//
// Values have positions 0, 1, ...; those of [low, next) are in the ring. Each
// subscriber has a position, and takes the value there. A slot knows how many
// still want it; at the low end one that nobody wants is emptied.
//
// Waiting is by two sequencers. sent: how many values there were, a subscriber
// at p waits for p + 1. freed: low, a sender who finds the ring full waits for
// low + 1. Both come to kNoMore when the broadcast is closed.
//
// Invariants
//   B1  next - low <= the number of slots; low and next only grow.
//   B2  wanted, of the slot of p, is the number of subscribers at or before p.
//   B3  A sequencer moves after the change it tells of, without the mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "weft/channel.hpp"
#include "weft/mutex.hpp"
#include "weft/result.hpp"
#include "weft/sequencer.hpp"
#include "weft/time.hpp"

namespace weft::detail {

inline constexpr auto kNoMore = ~std::uint64_t{0};

// Die if it makes no sense: 0; no error.
std::size_t checked_capacity(std::size_t capacity) noexcept;
void check_reason(const char* of, Error reason) noexcept;

// A metered fiber pays for a channel operation. Errors: exhausted; if it may
// wait: cancelled, timed_out.
Status charge_channel_op(bool may_wait) noexcept;

template <typename T>
class BroadcastState {
 public:
  struct Cursor {
    std::uint64_t next = 0;
    std::uint64_t missed = 0;
  };
  using Place = typename std::list<Cursor>::iterator;

  // Throws: std::bad_alloc.
  BroadcastState(std::size_t capacity, OnFull on_full)
      : slots_(std::make_unique<Slot[]>(checked_capacity(capacity))),
        capacity_(capacity),
        on_full_(on_full) {}

  // Any fiber or thread, as all below.
  Status send(T& value, Deadline deadline) {
    WEFT_TRY(charge_channel_op(true));
    for (;;) {
      auto hold = mutex_.acquire();  // others hold it for a copy only
      if (!hold) return hold.error();
      if (closed_) return reason_;
      if (next_ - low_ == capacity_ && on_full_ == OnFull::drop_newest) {
        return Errc::would_block;
      }
      if (next_ - low_ == capacity_ && on_full_ == OnFull::wait) {
        const auto token = low_ + 1;
        hold->unlock();
        WEFT_TRY(freed_.wait(token, deadline));
        continue;
      }
      if (next_ - low_ == capacity_) slot(low_++).value.reset();
      if (!cursors_.empty()) slot(next_).value.emplace(std::move(value));
      slot(next_++).wanted = cursors_.size();
      const auto sent = next_;
      const auto freed = free_unwanted();
      hold->unlock();
      tell(sent, freed);
      return {};
    }
  }

  // nullopt: nothing yet. Else a value, or why there is none any more.
  std::optional<Result<T>> try_take(Place cursor) {
    if (const Status paid = charge_channel_op(false); !paid) {
      return Result<T>(paid.error());
    }
    std::unique_lock hold(mutex_);
    return take(cursor, hold);
  }
  Result<T> take(Place cursor, Deadline deadline) {
    WEFT_TRY(charge_channel_op(true));
    for (;;) {
      auto hold = mutex_.acquire();
      if (!hold) return hold.error();
      if (auto got = take(cursor, *hold)) return *std::move(got);
      const auto token = cursor->next + 1;
      hold->unlock();
      WEFT_TRY(sent_.wait(token, deadline));
    }
  }
  // For sequencer(), when there may be something to take.
  std::uint64_t token(Place cursor) {
    const std::lock_guard hold(mutex_);
    return cursor->next + 1;
  }
  std::uint64_t missed(Place cursor) {
    const std::lock_guard hold(mutex_);
    return cursor->missed +
           (cursor->next < low_ ? low_ - cursor->next : std::uint64_t{0});
  }
  Sequencer& sequencer() noexcept { return sent_; }

  // Throws: std::bad_alloc.
  Place enter() {
    const std::lock_guard hold(mutex_);
    return cursors_.insert(cursors_.end(), Cursor{next_, 0});
  }
  void leave(Place cursor) {
    std::unique_lock hold(mutex_);
    skip_lost(*cursor);
    while (cursor->next != next_) --slot(cursor->next++).wanted;  // B2
    cursors_.erase(cursor);
    const auto freed = free_unwanted();
    hold.unlock();
    tell(0, freed);
  }
  void close(Error reason) {
    check_reason("Broadcast", reason);
    {
      const std::lock_guard hold(mutex_);
      if (std::exchange(closed_, true)) return;
      reason_ = reason;
    }
    sent_.advance(kNoMore);
    freed_.advance(kNoMore);
  }
  bool closed() {
    const std::lock_guard hold(mutex_);
    return closed_;
  }

 private:
  struct Slot {
    std::optional<T> value;
    std::size_t wanted = 0;  // B2
  };
  Slot& slot(std::uint64_t position) noexcept {
    return slots_[static_cast<std::size_t>(position % capacity_)];
  }

  // Unlocks if it answers something.
  std::optional<Result<T>> take(Place cursor, std::unique_lock<Mutex>& hold) {
    skip_lost(*cursor);
    if (cursor->next == next_) {
      if (!closed_) return std::nullopt;
      return Result<T>(reason_);
    }
    auto& from = slot(cursor->next);
    // The last one need not copy.
    std::optional<Result<T>> got =
        from.wanted == 1 ? Result<T>(std::in_place, std::move(*from.value))
                         : Result<T>(std::in_place, *from.value);
    ++cursor->next;
    --from.wanted;
    const auto freed = free_unwanted();
    hold.unlock();
    tell(0, freed);
    return got;
  }
  void skip_lost(Cursor& cursor) const noexcept {
    if (cursor.next >= low_) return;
    cursor.missed += low_ - cursor.next;
    cursor.next = low_;
  }
  // Under the mutex. Where low is now, if somebody may wait for that.
  std::uint64_t free_unwanted() noexcept {
    while (low_ != next_ && slot(low_).wanted == 0) {
      slot(low_++).value.reset();
    }
    return on_full_ == OnFull::wait ? low_ : 0;
  }
  void tell(std::uint64_t sent, std::uint64_t freed) noexcept {  // B3
    if (sent != 0) sent_.advance(sent);
    if (freed > freed_.value()) freed_.advance(freed);
  }

  Mutex mutex_;
  Sequencer sent_;
  Sequencer freed_;
  std::unique_ptr<Slot[]> slots_;  // the rest is guarded by mutex_
  const std::size_t capacity_;     // immutable
  const OnFull on_full_;           // immutable
  std::uint64_t low_ = 0;
  std::uint64_t next_ = 0;
  std::list<Cursor> cursors_;
  bool closed_ = false;
  Error reason_{Errc::closed};
};

}  // namespace weft::detail
