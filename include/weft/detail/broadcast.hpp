// detail/broadcast.hpp: what the subscribers of a broadcast share.
//
// Values have positions 0, 1, ...; those of [low, next) are in the ring. Each
// subscriber has a position, and takes the value there. A slot knows how many
// still want it; at the low end one that nobody wants is emptied.
//
// A value is made, copied and destroyed where nothing is locked. Who copies it
// counts as one of its users; its position is taken when the copy is there. So
// a copy that throws takes nothing, and of two who share a position one copies
// in vain.
//
// Subscribers wait by a sequencer, how many values there were: who is at p
// waits for p + 1, and it comes to kNoMore at the close. Senders who find the
// ring full stand in a line, each with his value; who makes room puts the first
// one's in. So nobody who comes later is faster, and a sender who is slow to
// run again, or never does, holds nobody up.
//
// Invariants
//   B1  next - low <= the number of slots; low and next only grow.
//   B2  wanted, of the slot of p, is the number of subscribers at or before p.
//   B3  A sequencer moves, and a sender is told, after the change they tell of
//       and under the same hold of the lock. In the code of who calls a check
//       may stand anywhere, and its fiber may stop there for good; under a spin
//       lock checks only count.
//   B4  The users of a value are its slot and whoever copies it; the last of
//       them destroys it, without the lock.
//   B5  Senders are in line only while the ring is full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "weft/channel.hpp"
#include "weft/future.hpp"
#include "weft/result.hpp"
#include "weft/sequencer.hpp"
#include "weft/time.hpp"
#include "weft/wait.hpp"

namespace weft::detail {

inline constexpr auto kNoMore = ~std::uint64_t{0};

// Die if it makes no sense: 0; no error.
std::size_t checked_capacity(std::size_t capacity) noexcept;
void check_reason(const char* of, Error reason) noexcept;

// What every call of a channel begins with: a cancel point, if it may wait, and
// a metered fiber pays. Errors: exhausted; if it may wait: cancelled,
// timed_out.
Status begin_channel_op(const void* channel, bool may_wait,
                        Deadline deadline = Deadline::never()) noexcept;
// 1 op of a metered fiber, if it has one: of calls that report nothing.
void count_op() noexcept;

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
  BroadcastState(const BroadcastState&) = delete;
  BroadcastState& operator=(const BroadcastState&) = delete;
  ~BroadcastState() {
    for (; low_ != next_; ++low_) delete slot(low_).value;
  }

  // Any fiber or thread, as all below.
  Status send(T& value, bool may_wait, Deadline deadline) {
    WEFT_TRY(begin_channel_op(this, may_wait, deadline));
    auto made = std::make_unique<Value>(value);
    const Status sent = put(made, may_wait, deadline);
    if constexpr (std::is_nothrow_move_assignable_v<T>) {
      if (made != nullptr) value = std::move(made->is);  // it is still his
    }
    return sent;
  }

  // nullopt: nothing yet. Else a value, or why there is none any more.
  std::optional<Result<T>> try_take(Place cursor) {
    for (;;) {
      std::unique_lock hold(lock_);
      skip_lost(*cursor);
      const auto position = cursor->next;
      if (position == next_) {
        if (!closed_) return std::nullopt;
        return Result<T>(reason_);
      }
      Value* const value = slot(position).value;
      // The last one need not copy.
      if (std::is_nothrow_move_constructible_v<T> &&
          slot(position).wanted == 1 && value->users == 1) {
        slot(position).value = nullptr;
        advance(*cursor, hold);
        const std::unique_ptr<Value> last(value);
        return Result<T>(std::in_place, std::move(last->is));
      }
      ++value->users;
      hold.unlock();
      const Copying copying{*this, value};
      Result<T> copy(std::in_place, std::as_const(value->is));
      hold.lock();
      if (cursor->next != position) {  // another was faster
        hold.unlock();
        continue;
      }
      advance(*cursor, hold);
      return copy;
    }
  }
  Result<T> take(Place cursor, Deadline deadline) {
    for (;;) {
      if (auto got = try_take(cursor)) return *std::move(got);
      WEFT_TRY(sent_.wait(token(cursor), deadline));
    }
  }
  // For sequencer(), when there may be something to take.
  std::uint64_t token(Place cursor) noexcept {
    const std::lock_guard hold(lock_);
    return cursor->next + 1;
  }
  std::uint64_t missed(Place cursor) noexcept {
    const std::lock_guard hold(lock_);
    return cursor->missed +
           (cursor->next < low_ ? low_ - cursor->next : std::uint64_t{0});
  }
  Sequencer& sequencer() noexcept { return sent_; }

  // Throws: std::bad_alloc.
  Place enter() {
    std::list<Cursor> made(1);
    const std::lock_guard hold(lock_);
    made.front().next = next_;
    cursors_.splice(cursors_.end(), made);
    return std::prev(cursors_.end());
  }
  void leave(Place cursor) noexcept {
    std::list<Cursor> gone;
    Unused unused;
    const std::lock_guard hold(lock_);
    skip_lost(*cursor);
    while (cursor->next != next_) --slot(cursor->next++).wanted;  // B2
    gone.splice(gone.end(), cursors_, cursor);
    free_unwanted(unused);
  }
  void close(Error reason) noexcept {
    check_reason("Broadcast", reason);
    const std::lock_guard hold(lock_);
    if (std::exchange(closed_, true)) return;
    reason_ = reason;
    sent_.advance(kNoMore);  // B3
    while (first_ != nullptr) pop().told.set(reason);
  }
  bool closed() noexcept {
    const std::lock_guard hold(lock_);
    return closed_;
  }

 private:
  struct Value {
    explicit Value(T& from) : is(std::move(from)) {}
    T is;
    std::size_t users = 1;  // B4
    Value* next = nullptr;  // of the unused
  };
  struct Slot {
    Value* value = nullptr;
    std::size_t wanted = 0;  // B2
  };
  // Values whose last user has gone. Declared before the lock is taken, so that
  // they go after it: B4.
  struct Unused {
    Unused() noexcept = default;
    Unused(const Unused&) = delete;
    Unused& operator=(const Unused&) = delete;
    ~Unused() {
      while (first != nullptr) delete std::exchange(first, first->next);
    }
    Value* first = nullptr;
  };
  // A sender who waits for room, on his stack.
  struct Waiting {
    Value* value;  // nullptr: it is in the ring
    Future<> told{};
    Waiting* next = nullptr;
    Waiting** place = nullptr;  // what points to it; nullptr: it has left
  };
  struct Copying {
    ~Copying() {
      Unused unused;
      const std::lock_guard hold(state.lock_);
      state.let_go(value, unused);
    }
    BroadcastState& state;
    Value* value;
  };

  // Takes the value if it is sent.
  Status put(std::unique_ptr<Value>& made, bool may_wait, Deadline deadline) {
    Unused unused;
    std::unique_lock hold(lock_);
    if (closed_) return reason_;
    if (is_full()) {
      if (!may_wait || on_full_ == OnFull::drop_newest) {
        return Errc::would_block;
      }
      if (on_full_ == OnFull::wait) return stand_in_line(made, hold, deadline);
      empty(slot(low_++), unused);
    }
    append(made.release());
    free_unwanted(unused);
    return {};
  }
  Status stand_in_line(std::unique_ptr<Value>& made,
                       std::unique_lock<SpinLock>& hold, Deadline deadline) {
    Waiting self{made.release()};
    self.place = last_;
    *last_ = &self;
    last_ = &self.next;
    hold.unlock();
    const Status end = self.told.wait(deadline);
    hold.lock();  // who tells has gone then
    if (self.value == nullptr) return {};
    leave_line(self);
    made.reset(self.value);
    return end;
  }

  Slot& slot(std::uint64_t position) noexcept {
    return slots_[static_cast<std::size_t>(position % capacity_)];
  }

  // ---- Under the lock.

  void let_go(Value* value, Unused& unused) noexcept {
    if (value == nullptr || --value->users != 0) return;
    value->next = std::exchange(unused.first, value);
  }
  void empty(Slot& which, Unused& unused) noexcept {
    let_go(std::exchange(which.value, nullptr), unused);
  }
  void skip_lost(Cursor& cursor) const noexcept {
    if (cursor.next >= low_) return;
    cursor.missed += low_ - cursor.next;
    cursor.next = low_;
  }
  void free_unwanted(Unused& unused) noexcept {
    for (;;) {
      while (low_ != next_ && slot(low_).wanted == 0) {
        empty(slot(low_++), unused);
      }
      if (first_ == nullptr || is_full()) return;
      Waiting& sender = pop();
      append(std::exchange(sender.value, nullptr));
      sender.told.set();  // B3
    }
  }
  bool is_full() const noexcept { return next_ - low_ == capacity_; }
  void append(Value* value) noexcept {
    slot(next_++) = {value, cursors_.size()};
    sent_.advance(next_);  // B3
  }
  Waiting& pop() noexcept {
    Waiting& one = *first_;
    leave_line(one);
    return one;
  }
  // Nothing if it has left it already.
  void leave_line(Waiting& one) noexcept {
    if (one.place == nullptr) return;
    *one.place = one.next;
    (one.next != nullptr ? one.next->place : last_) = one.place;
    one.place = nullptr;
  }
  // The value there was taken; it may have been dropped meanwhile. Unlocks.
  void advance(Cursor& cursor, std::unique_lock<SpinLock>& hold) noexcept {
    Unused unused;
    if (cursor.next >= low_) --slot(cursor.next).wanted;
    ++cursor.next;
    free_unwanted(unused);
    hold.unlock();
  }

  // Held for a few instructions; but for as many slots as are emptied, or given
  // up by who leaves, and for those who are told.
  SpinLock lock_;
  Sequencer sent_;
  std::unique_ptr<Slot[]> slots_;  // the rest is guarded by lock_
  const std::size_t capacity_;     // immutable
  const OnFull on_full_;           // immutable
  std::uint64_t low_ = 0;
  std::uint64_t next_ = 0;
  std::list<Cursor> cursors_;
  Waiting* first_ = nullptr;  // in line: B5
  Waiting** last_ = &first_;
  bool closed_ = false;
  Error reason_{Errc::closed};
};

}  // namespace weft::detail
