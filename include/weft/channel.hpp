// channel.hpp: bounded, typed queues between fibers.
//
//   auto [sender, receiver] = weft::make_channel<Job>(64);
//   nursery.spawn([receiver = receiver]() mutable {
//     while (auto job = receiver.receive()) run(*job);
//   });
//   WEFT_TRY(sender.send(Job{...}));
//
// Values arrive in the order sent, each at exactly one receiver: sends that
// returned ok and values received are equally many, also across a close() of
// the sending side. Either end may be copied; a channel closes when its last
// Sender or its last Receiver goes.
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

#include "weft/detail/channel_handle.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

// A Result in registers is put together by its caller: a byte that says which
// it is, stored and then loaded as part of a word, would cost more than the
// rest of a receive.
#define WEFT_RESULT_INLINE [[gnu::always_inline]]

namespace weft {

struct ChannelOptions {
  // A send to a full channel waits, or fails with would_block, or makes room by
  // destroying the oldest value. With capacity 0 there is nothing to destroy:
  // then drop_oldest is drop_newest.
  OnFull on_full = OnFull::wait;
  std::string_view name = {};  // copied
  // Without: every operation takes the channel's lock. For comparisons; the
  // environment CC_CHAN_NO_LOCKFREE=1 turns it off for all.
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
    if (!detail::may_go_ahead()) return detail::send(*channel_, from, deadline);
    if (has_buffer() && detail::send_at_once(*channel_, value)) return {};
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
      if (has_buffer() && detail::may_go_ahead()) {
        const auto now = detail::send_many_at_once(
            *channel_, values.data() + sent, values.size() - sent);
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
      auto first = receive(deadline);
      if (!first) return first.error();
      *out++ = *std::move(first);
      got = 1 + take_at_once(out, max - 1);
    }
    for (; got < max; ++got) {
      Result<T> one = try_receive();
      if (!one) break;
      *out++ = *std::move(one);
    }
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
    if (!detail::may_go_ahead()) {
      return detail::receive(*channel_, value.place(), deadline);
    }
    if (has_buffer() && detail::receive_at_once<T>(*channel_, value)) return {};
    return detail::receive_otherwise(*channel_, value.place(), deadline);
  }

  // Several by one exchange, by way of this stack: writing to `out` may throw.
  template <typename Out>
  std::size_t take_at_once(Out& out, std::size_t max) {
    constexpr std::size_t kBytes = 1024;
    constexpr auto kAtOnce = std::clamp<std::size_t>(kBytes / sizeof(T), 1, 16);
    std::optional<T> few[kAtOnce];
    std::size_t got = 0;
    while (got < max && has_buffer() && detail::may_go_ahead()) {
      std::size_t taken = 0;
      const auto now = detail::receive_many_at_once<T>(
          *channel_, std::min(max - got, kAtOnce),
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
  static Handle handle(Channel* channel, std::size_t capacity) noexcept {
    if (channel == nullptr) return Handle(nullptr, ChannelKind::refused);
    return Handle(channel, capacity == 0 ? ChannelKind::rendezvous
                                         : ChannelKind::buffered);
  }
  template <ChannelSide Side>
  static Channel* channel(const ChannelHandle<Side>& handle) noexcept {
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
// here, but for a close() while senders wait at a full buffer; if there is no
// memory every operation fails with `exhausted`.
//   Suspends:  never. Callers: any fiber or thread; no runtime is needed.
template <typename T>
Channel<T> make_channel(std::size_t capacity, ChannelOptions options = {}) {
  detail::Channel* const made =
      detail::make_channel(detail::kElementOps<T>, capacity,
                           {options.on_full, options.lock_free, options.name});
  return {detail::ChannelAccess::handle<Sender<T>>(made, capacity),
          detail::ChannelAccess::handle<Receiver<T>>(made, capacity)};
}

}  // namespace weft

#undef WEFT_RESULT_INLINE
