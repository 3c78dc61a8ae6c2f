// future.hpp: one result, set by one fiber or thread, awaited by one other.
//
//   weft::Future<int> answer;
//   nursery.spawn([&] { answer.set(42); });
//   int value = *answer.wait();
//
// Lives where you put it: no heap, no shared state; a Future<> is two words.
// Neither copied nor moved, since both sides have its address; it must live
// until the setter's call has begun to tell, not until it returns: who has seen
// it set may destroy it.
//
// Misuse, which is reported and aborts: setting it twice, setting no error as
// one, two who wait at once (also one future twice in wait_any), a callback
// beside a wait, destroying or resetting it while somebody waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "weft/detail/storage.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

namespace detail {
struct FutureAccess;
template <typename T, typename H>
class SetCase;
}  // namespace detail

class AnyFuture {  // what all Future<T> can do
 public:
  AnyFuture(const AnyFuture&) = delete;
  AnyFuture& operator=(const AnyFuture&) = delete;

  //   Suspends:  never. Ordering: true: all before set() is visible.
  bool is_set() const noexcept;
  struct Callback {
    void (*run)(Callback&) noexcept;
  };
  // Calls callback.run(callback) once it is set, on the setter's stack: it must
  // not wait. False, and never called: it is set already.
  //   Suspends:  never. Callers: one, in place of wait().
  [[nodiscard]] bool subscribe(Callback& callback) noexcept;

 protected:
  constexpr AnyFuture() noexcept = default;
  ~AnyFuture();
  void complete(Error error) noexcept;
  void fail(Error error) noexcept;  // misuse: no error
  Status await(Deadline deadline);
  Status result() const noexcept;  // once it is set
  void renew() noexcept;

 private:
  friend struct detail::FutureAccess;
  detail::Storage<16> core_;
};

template <typename T = void>
class Future : public AnyFuture {
  static_assert(!std::is_same_v<T, Error> && !std::is_same_v<T, Errc>,
                "weft: an error is what a Future<> can be set to as well");

 public:
  constexpr Future() noexcept = default;

  //   Suspends:  never. Ordering: what came before is visible after wait().
  //   Callers:   one fiber or thread, once.
  void set(T value) {
    value_.emplace(std::move(value));
    complete(Errc{});
  }
  void set(Error error) noexcept { fail(error); }
  void set(Errc code) noexcept { fail(code); }

  // Takes the value: once.
  //   Suspends:  until it is set. Always a cancel point.
  //   Errors:    the one set; cancelled, timed_out, exhausted (memory for the
  //              deadline): then the future is as it was.
  //   Ordering:  everything before set() is visible afterwards.
  //   Callers:   fibers and threads, one at a time.
  Result<T> wait(Deadline deadline = Deadline::never()) {
    if (const Status waited = await(deadline); !waited) return waited.error();
    return take();
  }
  // Makes it new. Callers: who has both sides.
  void reset() noexcept {
    renew();
    value_.reset();
  }

 private:
  template <typename U, typename H>
  friend class detail::SetCase;
  Result<T> take() {  // once it is set
    if (const Status end = result(); !end) return end.error();
    return std::move(*value_);
  }

  std::optional<T> value_;
};

template <>
class Future<void> : public AnyFuture {
 public:
  constexpr Future() noexcept = default;

  // As above.
  void set() noexcept { complete(Errc{}); }
  void set(Error error) noexcept { fail(error); }
  void set(Errc code) noexcept { fail(code); }
  Status wait(Deadline deadline = Deadline::never()) {
    if (const Status waited = await(deadline); !waited) return waited;
    return take();
  }
  void reset() noexcept { renew(); }

 private:
  template <typename U, typename H>
  friend class detail::SetCase;
  Status take() noexcept { return result(); }
};

// Waits for one of several. Answers which is set, the first if several are; the
// caller then takes its result with wait(), which does not wait any more.
//
//   Suspends:  until one is set. Always a cancel point.
//   Errors:    invalid (no futures), cancelled, timed_out, exhausted (memory:
//              for the deadline, or for more than 16 futures); then all are as
//              they were.
//   Callers:   fibers and threads; the one who waits for each of them.
Result<std::size_t> wait_any(std::span<AnyFuture* const> futures,
                             Deadline deadline = Deadline::never());

}  // namespace weft
