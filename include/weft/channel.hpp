// channel.hpp: bounded, typed queues between fibers.
//
//   auto [sender, receiver] = weft::make_channel<Job>(64);
//   nursery.spawn([receiver = std::move(receiver)]() mutable {
//     while (auto job = receiver.receive()) run(*job);
//   });  // moved: a copy kept here would let send() wait when this has failed
//   WEFT_TRY(sender.send(Job{...}));
//
// Values arrive in the order sent, each at exactly one receiver: sends that
// returned ok and values received are equally many, also across a close() of
// the sending side. Either end may be copied; a channel closes when its last
// Sender or its last Receiver goes, or by close() or close(reason) of either.
//
// What both ends have in common, close(), closed(), size(), capacity(),
// dropped(), name() and operator bool, is in detail/channel_handle.hpp.
//
// T moves without throwing, and without waiting; a T that was moved from is
// destroyed without waiting. Operations on an empty handle
// (default, or moved from) fail with `invalid`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/capability.hpp"
#include "weft/detail/channel_handle.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

// A Result in registers is put together by its caller: a byte that says which
// it is, stored and then loaded as part of a word, would cost more than the
// rest of a receive.
#define WEFT_RESULT_INLINE [[gnu::always_inline]]

namespace weft {

// What a send does that finds the channel full. Where it drops it never waits:
// in a select on_send() is always ready then.
enum class OnFull : std::uint8_t {
  wait,
  drop_newest,  // fails with would_block
  drop_oldest,  // destroys it. With capacity 0 there is none: drop_newest
};

struct ChannelOptions {
  OnFull on_full = OnFull::wait;
  std::string_view name = {};  // in reports of deadlocks; copied
  // Without: every operation takes the channel's lock. For comparisons, and to
  // find out whether a fault has to do with it; CC_CHAN_NO_LOCKFREE=1 in the
  // environment turns it off for all channels of a program.
  bool lock_free = true;
};

template <typename T>
class Sender : public detail::ChannelHandle<detail::ChannelSide::sends> {
  static_assert(detail::kIsElement<T>,
                "weft: what goes through a channel is an object whose move "
                "constructor and destructor are noexcept");

 public:
  using value_type = T;
  Sender() noexcept = default;

  // Hands the value over.
  //
  //   Suspends:  while the channel is full (capacity 0: until a receiver takes
  //              it). Always a cancel point.
  //   Errors:    closed, or what the receiving side closed with; would_block
  //              (full, and it drops the newest); cancelled, timed_out;
  //              exhausted (memory for the deadline, or the channel could not
  //              be made). On error the value has not been moved from.
  //   Ordering:  everything before is visible after receive().
  //   Callers:   any fiber or thread, any number at once; first come first in.
  Status send(T&& value, Deadline deadline = Deadline::never()) {
    if (channel_ == nullptr) return refused();
    void* const from = std::addressof(value);
    const auto me = detail::may_go_ahead();
    if (me == 0) return detail::send(*channel_, from, deadline);
    if (has_buffer() && detail::send_at_once(*channel_, me, value)) return {};
    return detail::send_otherwise(*channel_, from, deadline);
  }
  Status send(const T& value, Deadline deadline = Deadline::never())  //
      requires std::is_copy_constructible_v<T> {
    T copy(value);
    return send(std::move(copy), deadline);
  }
  // The same, but fails with would_block rather than wait, whatever the channel
  // does when it is full. No cancel point.
  //   Suspends:  never.
  Status try_send(T&& value) {
    if (channel_ == nullptr) return refused();
    return detail::try_send(*channel_, std::addressof(value));
  }
  Status try_send(const T& value) requires std::is_copy_constructible_v<T> {
    T copy(value);
    return try_send(std::move(copy));
  }
  // Moves the values in, one after the other, until all are sent. Answers how
  // many were, from the front; an error only if none.
  //   Suspends, Errors, Ordering, Callers: as send(). Values of others may come
  //   in between.
  Result<std::size_t> send_many(std::span<T> values,
                                Deadline deadline = Deadline::never()) {
    if (channel_ == nullptr) return refused();
    std::size_t sent = 0;
    while (sent < values.size()) {
      if (const auto me = has_buffer() ? detail::may_go_ahead() : 0) {
        const auto now = detail::send_many_at_once(
            *channel_, me, values.data() + sent, values.size() - sent);
        sent += now;
        if (now != 0) continue;
      }
      const Status one =
          detail::send(*channel_, values.data() + sent, deadline);
      if (!one && sent == 0) return one.error();
      if (!one) break;
      ++sent;
    }
    return sent;
  }

 private:
  friend struct detail::ChannelAccess;
  using ChannelHandle::ChannelHandle;
};

template <typename T>
class Receiver : public detail::ChannelHandle<detail::ChannelSide::receives> {
  static_assert(detail::kIsElement<T>,
                "weft: what goes through a channel is an object whose move "
                "constructor and destructor are noexcept");

 public:
  using value_type = T;
  class Iterator;
  class Range;
  Receiver() noexcept = default;

  // Takes the oldest value.
  //
  //   Suspends:  while there is none. Always a cancel point.
  //   Errors:    closed, or what the sending side closed with, once nothing is
  //              left inside; cancelled, timed_out; exhausted (memory for the
  //              deadline, or the channel could not be made). On error no value
  //              was taken.
  //   Ordering:  everything before send() is visible after this returns.
  //   Callers:   any fiber or thread, any number at once; first to wait is
  //              first served.
  WEFT_RESULT_INLINE Result<T> receive(Deadline deadline = Deadline::never()) {
    detail::Empty<T> value;
    if (const Status end = receive(value, deadline); !end) return end.error();
    return Result<T>(std::in_place, value.take());
  }
  // The same, but fails with would_block rather than wait. No cancel point.
  //   Suspends:  never.
  WEFT_RESULT_INLINE Result<T> try_receive() {
    if (channel_ == nullptr) return refused();
    detail::Empty<T> value;
    if (const Status end = detail::try_receive(*channel_, value.place());
        !end) {
      return end.error();
    }
    return Result<T>(std::in_place, value.take());
  }
  // Waits for one, then takes what else is there, at most `max`. Answers how
  // many it wrote to `out`. If writing throws, values it has taken are lost.
  //   Suspends, Errors, Ordering, Callers: as receive().
  template <std::output_iterator<T> Out>
  Result<std::size_t> receive_many(Out out, std::size_t max,
                                   Deadline deadline = Deadline::never()) {
    if (channel_ == nullptr) return refused();
    if (max == 0) return std::size_t{0};
    std::size_t got = take_at_once(out, max);
    if (got == 0) {
      const Status end = pass_on(out, [&](detail::Empty<T>& value) noexcept {
        return receive(value, deadline);
      });
      if (!end) return end.error();
      got = 1 + take_at_once(out, max - 1);
    }
    const auto now = [this](detail::Empty<T>& value) noexcept {
      return detail::try_receive(*channel_, value.place());
    };
    while (got < max && pass_on(out, now)) ++got;
    return got;
  }

  // for (Job& job : receiver): until receive() fails, for whatever reason;
  // each(end) tells which.
  //   Suspends, Ordering, Callers: as receive().
  Iterator begin();
  std::default_sentinel_t end() const noexcept { return {}; }
  Range each(Status& end, Deadline deadline = Deadline::never());

 private:
  friend struct detail::ChannelAccess;
  using ChannelHandle::ChannelHandle;

  Status receive(detail::Empty<T>& value, Deadline deadline) noexcept {
    if (channel_ == nullptr) return refused();
    const auto me = detail::may_go_ahead();
    if (me == 0) return detail::receive(*channel_, value.place(), deadline);
    if (has_buffer() && detail::receive_at_once<T>(*channel_, me, value)) {
      return {};
    }
    return detail::receive_otherwise(*channel_, value.place(), deadline);
  }

  // Both by way of this stack, for writing to `out` may throw: one T, or some
  // that are small. Not inlined: their caller's frame would hold all of them.

  // One that take(value) makes.
  template <typename Out, typename Take>
  [[gnu::noinline]] static Status pass_on(Out& out, Take take) {
    detail::Empty<T> value;
    const Status end = take(value);
    if (!end) return end;
    struct Drop {
      T& dropped;
      ~Drop() { std::destroy_at(&dropped); }
    } const drop{value.get()};
    *out++ = std::move(value.get());
    return end;
  }
  // Several by one exchange.
  template <typename Out>
  [[gnu::noinline]] std::size_t take_at_once(Out& out, std::size_t max) {
    constexpr std::size_t kBytes = 1024;
    constexpr auto kAtOnce = std::clamp<std::size_t>(kBytes / sizeof(T), 1, 16);
    std::optional<T> few[kAtOnce];
    std::size_t got = 0;
    while (got < max && has_buffer()) {
      const auto me = detail::may_go_ahead();
      if (me == 0) break;
      std::size_t taken = 0;
      const auto now = detail::receive_many_at_once<T>(
          *channel_, me, std::min(max - got, kAtOnce),
          [&few, &taken](T&& value) noexcept {
            few[taken++].emplace(std::move(value));
          });
      if (now == 0) break;
      for (std::size_t i = 0; i < now; ++i) *out++ = *std::move(few[i]);
      got += now;
    }
    return got;
  }
};

template <typename T>
class Receiver<T>::Iterator {
 public:
  using value_type = T;
  using difference_type = std::ptrdiff_t;

  Iterator(Receiver& from, Status* end, Deadline deadline)
      : from_(&from), end_(end), deadline_(deadline) {
    ++*this;
  }
  Iterator(Iterator&& other) noexcept
      : from_(other.from_), end_(other.end_), deadline_(other.deadline_) {
    has_value_ = std::exchange(other.has_value_, false);
    if (has_value_) value_(other.value_.take());
  }
  Iterator& operator=(Iterator&& other) noexcept {
    if (this != &other) {
      std::destroy_at(this);
      std::construct_at(this, std::move(other));
    }
    return *this;
  }
  ~Iterator() { drop(); }

  T& operator*() const noexcept { return value_.get(); }
  Iterator& operator++() {
    drop();
    const Status end = from_->receive(value_, deadline_);
    has_value_ = end.has_value();
    if (!has_value_ && end_ != nullptr) *end_ = end;
    return *this;
  }
  void operator++(int) { ++*this; }
  friend bool operator==(const Iterator& it, std::default_sentinel_t) noexcept {
    return !it.has_value_;
  }

 private:
  void drop() noexcept {
    if (std::exchange(has_value_, false)) std::destroy_at(&value_.get());
  }

  Receiver* from_;
  Status* end_;
  Deadline deadline_;
  bool has_value_ = false;
  mutable detail::Empty<T> value_;
};

// All that comes; why there is no more is in the status it was made with.
template <typename T>
class Receiver<T>::Range {
 public:
  Range(Receiver& from, Status& end, Deadline deadline) noexcept
      : from_(from), end_(end), deadline_(deadline) {}
  Iterator begin() { return Iterator(from_, &end_, deadline_); }
  std::default_sentinel_t end() const noexcept { return {}; }

 private:
  Receiver& from_;
  Status& end_;
  Deadline deadline_;
};

template <typename T>
typename Receiver<T>::Iterator Receiver<T>::begin() {
  return Iterator(*this, nullptr, Deadline::never());
}
template <typename T>
typename Receiver<T>::Range Receiver<T>::each(Status& end, Deadline deadline) {
  return Range(*this, end, deadline);
}

namespace detail {

struct ChannelAccess {
  template <typename Handle>
  static Handle handle(ChannelEnds* channel, std::size_t capacity) noexcept {
    if (channel == nullptr) return Handle(nullptr, ChannelKind::refused);
    return Handle(channel, capacity == 0 ? ChannelKind::rendezvous
                                         : ChannelKind::buffered);
  }
  template <typename Handle>
  static Handle denied() noexcept {
    return Handle(nullptr, ChannelKind::denied);
  }
  template <ChannelSide Side>
  static ChannelEnds* channel(const ChannelHandle<Side>& handle) noexcept {
    return handle.channel_;
  }
  template <ChannelSide Side>
  static Error refused(const ChannelHandle<Side>& handle) noexcept {
    return handle.refused();
  }
};

}  // namespace detail

template <typename T>
struct Channel {  // auto [sender, receiver] = make_channel<T>(n);
  Sender<T> sender;
  Receiver<T> receiver;
};

// Capacity 0 is a rendezvous: a send returns when a receiver has the value.
// There is no unbounded channel. The one allocation of a channel's life is
// here, but for a close() while senders wait at a full buffer. If there is no
// memory all operations fail: `exhausted`; in profile sovereign: `denied`.
//   Suspends:  never. Callers: any fiber or thread; no runtime is needed.
template <typename T>
Channel<T> make_channel(std::size_t capacity, ChannelOptions options = {}) {
  using Access = detail::ChannelAccess;
  if (detail::denies_channel()) {
    return {Access::denied<Sender<T>>(), Access::denied<Receiver<T>>()};
  }
  detail::ChannelEnds* const made =
      detail::make_channel(detail::kElementOps<T>, capacity,
                           {options.on_full, options.lock_free, options.name});
  return {Access::handle<Sender<T>>(made, capacity),
          Access::handle<Receiver<T>>(made, capacity)};
}

// The same by a capability: one of its channels, until both sides are gone.
//   Errors:   denied (a larger buffer than it permits, or no channel left),
//             exhausted (memory).
//   Callers:  any fiber or thread.
template <typename T>
Result<Channel<T>> make_channel(CapChannel& by, std::size_t capacity,
                                ChannelOptions options = {}) {
  const auto license = detail::take_channel(by, capacity);
  if (!license) return license.error();
  detail::ChannelEnds* const made = detail::make_channel(
      detail::kElementOps<T>, capacity,
      {options.on_full, options.lock_free, options.name, *license});
  if (made == nullptr) {
    (*license)->give_back();
    return Error::out_of(Resource::memory);
  }
  return Channel<T>{detail::ChannelAccess::handle<Sender<T>>(made, capacity),
                    detail::ChannelAccess::handle<Receiver<T>>(made, capacity)};
}

}  // namespace weft

#undef WEFT_RESULT_INLINE
