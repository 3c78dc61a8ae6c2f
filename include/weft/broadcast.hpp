// broadcast.hpp: every subscriber gets every value; or just the latest.
//
//   weft::Broadcast<Quote> quotes(64);
//   nursery.spawn([mine = quotes.subscribe()]() mutable {
//     while (auto quote = mine.receive()) show(*quote);
//   });
//   WEFT_TRY(quotes.send(quote));
//
//   weft::Watch<Config> config(load());
//   std::uint64_t seen = 0;
//   while (auto now = config.changed(seen)) apply(*now);
//
// For select(): on_receive(subscription, handler), on_changed(watch, seen,
// handler).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "weft/detail/broadcast.hpp"
#include "weft/detail/select_cases.hpp"
#include "weft/mutex.hpp"
#include "weft/result.hpp"
#include "weft/sequencer.hpp"
#include "weft/time.hpp"
#include "weft/wait.hpp"

namespace weft {

template <typename T>
class Broadcast;

namespace detail {
template <typename T, typename H>
class SubscriptionCase;
template <typename T, typename H>
class ChangedCase;
}  // namespace detail

// One subscriber's place. Moved, not copied; what goes with it when it goes is
// its place. Outlives the broadcast, if need be. Default, or moved from: empty.
template <typename T>
class Subscription {
 public:
  using value_type = T;
  Subscription() noexcept = default;
  Subscription(Subscription&& other) noexcept
      : state_(std::move(other.state_)), cursor_(other.cursor_) {}
  Subscription& operator=(Subscription other) noexcept {
    std::swap(state_, other.state_);
    std::swap(cursor_, other.cursor_);
    return *this;
  }
  //   Suspends:  never, but for what destroying T does.
  ~Subscription() {
    if (state_ != nullptr) state_->leave(cursor_);
  }

  // Takes the next value: a copy, but for the last one to take it. One who fell
  // behind goes on with the oldest that is left.
  //
  //   Suspends:  while there is none. Always a cancel point.
  //   Errors:    closed, or what the broadcast was closed with, once all that
  //              was sent before is taken; cancelled, timed_out, exhausted
  //              (memory for the deadline); invalid (empty). Throws what the
  //              copy throws; then the value can be taken again. What a move
  //              throws loses it.
  //   Ordering:  everything before send() is visible after this returns.
  //   Callers:   any fiber or thread, any number at once; each value comes to
  //              one of them.
  Result<T> receive(Deadline deadline = Deadline::never()) {
    if (state_ == nullptr) return Errc::invalid;
    WEFT_TRY(detail::begin_channel_op(state_.get(), true, deadline));
    return state_->take(cursor_, deadline);
  }
  // The same, but fails with would_block if there is none. No cancel point.
  //   Suspends:  never, but for what copying T does.
  Result<T> try_receive() {
    if (state_ == nullptr) return Errc::invalid;
    WEFT_TRY(detail::begin_channel_op(state_.get(), false));
    auto got = state_->try_take(cursor_);
    if (!got) return Errc::would_block;
    return *std::move(got);
  }
  // How many values were lost so far because this subscriber was too slow.
  //   Suspends:  never. Callers: any fiber or thread.
  std::uint64_t missed() const noexcept {
    return state_ == nullptr ? 0 : state_->missed(cursor_);
  }
  explicit operator bool() const noexcept { return state_ != nullptr; }

 private:
  friend class Broadcast<T>;
  template <typename U, typename H>
  friend class detail::SubscriptionCase;
  using State = detail::BroadcastState<T>;
  explicit Subscription(std::shared_ptr<State> state)
      : state_(std::move(state)), cursor_(state_->enter()) {}

  std::shared_ptr<State> state_;
  typename State::Place cursor_{};
};

template <typename T>
class Broadcast {
  static_assert(std::is_copy_constructible_v<T>,
                "weft: what is broadcast is copied for each subscriber");

 public:
  // capacity: how far the slowest subscriber may lag; 0 is misuse. on_full:
  // then a send waits for it, or takes its oldest value away, or fails.
  //   Throws:    std::bad_alloc.
  explicit Broadcast(std::size_t capacity, OnFull on_full = OnFull::drop_oldest)
      : state_(std::make_shared<State>(capacity, on_full)) {}
  Broadcast(const Broadcast&) = delete;
  Broadcast& operator=(const Broadcast&) = delete;
  // As close(). Subscribers still get what was sent.
  ~Broadcast() { close(); }

  // To all who have subscribed by now; if nobody has, to nobody.
  //
  //   Suspends:  with OnFull::wait, while the slowest is `capacity` values
  //              behind. First come, first in. Always a cancel point.
  //   Errors:    closed, or the reason; would_block (OnFull::drop_newest);
  //              cancelled, timed_out, exhausted (memory for the deadline).
  //              On error the value is as it was, if T's move assignment is
  //              noexcept; else it may have been moved from. Throws what
  //              moving T throws, and std::bad_alloc; then nothing was sent,
  //              and nothing dropped.
  //   Ordering:  everything before is visible after receive().
  //   Callers:   any fiber or thread, any number at once. All subscribers see
  //              one order.
  Status send(T&& value, Deadline deadline = Deadline::never()) {
    const auto state = state_;  // who is told may destroy this
    return state->send(value, true, deadline);
  }
  Status send(const T& value, Deadline deadline = Deadline::never()) {
    return send(T(value), deadline);
  }
  // The same, but fails with would_block rather than wait, or drop anything. No
  // cancel point.
  //   Suspends:  never, but for what moving T does.
  Status try_send(T&& value) {
    const auto state = state_;
    return state->send(value, false, Deadline::never());
  }
  Status try_send(const T& value) { return try_send(T(value)); }
  // From the next value on.
  //   Suspends:  never.
  //   Throws:    std::bad_alloc. Callers: any fiber or thread, as of all below.
  Subscription<T> subscribe() { return Subscription<T>(state_); }
  // Subscribers get what was sent before, then `closed` or the reason; the
  // first one stays. Misuse: no error as the reason.
  //   Suspends:  never.
  void close() noexcept { close(Errc::closed); }
  void close(Error reason) noexcept {
    const auto state = state_;
    state->close(reason);
  }
  bool closed() const noexcept { return state_->closed(); }

 private:
  using State = detail::BroadcastState<T>;
  std::shared_ptr<State> state_;
};

// A value and its changes. Each is a new value, published at once: readers
// never wait for writers, and a writer's code runs under no lock that a reader
// wants. A watch lives until every call of set(), update() and close() has
// returned: one that was waited for may still be under way.
template <typename T>
class Watch {
  static_assert(std::is_copy_constructible_v<T>,
                "weft: what is watched is copied for each reader");

 public:
  using value_type = T;
  // Of version 1: who has seen 0 has it to see.
  //   Throws:    std::bad_alloc, as set() and update().
  explicit Watch(T initial)
      : latest_(std::make_shared<const T>(std::move(initial))) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // One version more. Nothing once it is closed, as update(). Costs a metered
  // fiber 1 op, if it has one; changed() is an operation of a channel.
  //   Suspends:  while another writes. No cancel point.
  //   Ordering:  what came before is visible to who sees the version.
  //   Callers:   any fiber or thread, as of all below.
  void set(T value) {
    detail::count_op();
    auto next = std::make_shared<const T>(std::move(value));
    const std::lock_guard hold(writers_);
    publish(std::move(next));
  }
  // change(T&) of a copy of the latest, one at a time; it may wait, and read,
  // but not write here. If it throws nothing has changed.
  //   Suspends, Ordering: as set().
  template <typename F>
  void update(F&& change) {
    detail::count_op();
    const std::lock_guard hold(writers_);
    if (closed()) return;
    auto next = std::make_shared<T>(*latest());
    std::invoke(std::forward<F>(change), *next);
    publish(std::move(next));
  }
  // The latest, also of one that is closed.
  //   Suspends:  never, but for what copying T does.
  T get() const { return *latest(); }
  //   Suspends:  never.
  std::uint64_t version() const noexcept {
    const std::lock_guard hold(guard_);
    return version_;
  }
  // Gives the latest, and its version in `seen`; those in between are skipped.
  //
  //   Suspends:  until version() > seen. Always a cancel point.
  //   Errors:    closed, or what it was closed with, once the latest was seen;
  //              cancelled, timed_out, exhausted (memory for the deadline);
  //              then `seen` is as it was.
  //   Ordering:  everything before set() is visible after this returns.
  Result<T> changed(std::uint64_t& seen,
                    Deadline deadline = Deadline::never()) const {
    WEFT_TRY(detail::begin_channel_op(this, true, deadline));
    WEFT_TRY(changes_.wait(token_after(seen), deadline));
    return take(seen);
  }
  // The first reason stays. Misuse: no error as the reason.
  //   Suspends:  never.
  void close() noexcept { close(Errc::closed); }
  void close(Error reason) noexcept {
    detail::check_reason("Watch", reason);
    const std::lock_guard hold(guard_);
    if (std::exchange(closed_, true)) return;
    reason_ = reason;
    changes_.advance(detail::kNoMore);  // as in publish()
  }
  bool closed() const noexcept {
    const std::lock_guard hold(guard_);
    return closed_;
  }

 private:
  template <typename U, typename H>
  friend class detail::ChangedCase;

  static std::uint64_t token_after(std::uint64_t seen) noexcept {
    return seen == detail::kNoMore ? seen : seen + 1;
  }
  std::shared_ptr<const T> latest() const noexcept {
    const std::lock_guard hold(guard_);
    return latest_;
  }
  // Once the sequencer is there: a newer one, or none will come.
  Result<T> take(std::uint64_t& seen) const {
    std::unique_lock hold(guard_);
    if (version_ <= seen) return reason_;
    const auto value = latest_;
    const auto version = version_;
    hold.unlock();
    Result<T> copy(std::in_place, *value);
    seen = version;
    return copy;
  }
  // Under writers_. What was there before goes when nothing is locked that a
  // reader wants. Told under the lock: a check of the caller's code that came
  // in between could stop its fiber for good.
  void publish(std::shared_ptr<const T> next) noexcept {
    const std::lock_guard hold(guard_);
    if (closed_) return;
    latest_.swap(next);
    changes_.advance(++version_);
  }

  Mutex writers_;
  mutable Sequencer changes_{1};  // version_, or kNoMore
  mutable SpinLock guard_;  // for a few instructions, and those who are told
  std::shared_ptr<const T> latest_;  // guarded by guard_, as the rest
  std::uint64_t version_ = 1;
  bool closed_ = false;
  Error reason_{Errc::closed};
};

// Closes on every way out what children wait at, when that is older than their
// nursery. Declare it after the nursery:
//
//   weft::Watch<Config> config(load());
//   weft::Nursery nursery;
//   const weft::CloseGuard guard(config);
//
// A Broadcast, a Watch, or one end of a channel; it outlives the guard.
template <typename C>
requires requires(C& closes) { closes.close(); }
class [[nodiscard]] CloseGuard {
 public:
  explicit CloseGuard(C& closes) noexcept : closes_(closes) {}
  CloseGuard(const CloseGuard&) = delete;
  CloseGuard& operator=(const CloseGuard&) = delete;
  ~CloseGuard() { closes_.close(); }

 private:
  C& closes_;
};

namespace detail {

template <typename T, typename H>
class SubscriptionCase : public TokenCase {
 public:
  SubscriptionCase(Subscription<T>& from, H handler) noexcept(kMoves<H>)
      : TokenCase(from ? &from.state_->sequencer() : nullptr, Errc::invalid),
        from_(&from),
        handler_(std::move(handler)) {}
  SubscriptionCase(SubscriptionCase&& other) = default;

  void prepare() noexcept {
    renew(*from_ ? &from_->state_->sequencer() : nullptr, Errc::invalid);
    if (*from_) use_token(from_->state_->token(from_->cursor_));
  }
  // Another with the same subscription may have been faster.
  bool happen() {
    std::optional<Result<T>> got = Result<T>(Errc::invalid);
    if (*from_) got = from_->state_->try_take(from_->cursor_);
    if (!got) return false;
    handler_(*std::move(got));
    return true;
  }

 private:
  Subscription<T>* from_;
  H handler_;
};

template <typename T, typename H>
class ChangedCase : public TokenCase {
 public:
  ChangedCase(const Watch<T>& watch, std::uint64_t& seen,
              H handler) noexcept(kMoves<H>)
      : TokenCase(&watch.changes_, Errc{}),
        watch_(&watch),
        seen_(&seen),
        handler_(std::move(handler)) {}
  ChangedCase(ChangedCase&& other) = default;

  void prepare() noexcept { use_token(Watch<T>::token_after(*seen_)); }
  void happen() { handler_(watch_->take(*seen_)); }

 private:
  const Watch<T>* watch_;
  std::uint64_t* seen_;
  H handler_;
};

}  // namespace detail

// Cases of a select. handler(Result<T>): the value, or why there is none any
// more. on_changed() keeps `seen` as changed() does.
template <typename T, typename H>
auto on_receive(Subscription<T>& from, H handler) {
  detail::check_receives<H, T>();
  return detail::SubscriptionCase<T, H>(from, std::move(handler));
}
template <typename T, typename H>
auto on_changed(const Watch<T>& watch, std::uint64_t& seen, H handler) {
  detail::check_receives<H, T>();
  return detail::ChangedCase<T, H>(watch, seen, std::move(handler));
}

}  // namespace weft
