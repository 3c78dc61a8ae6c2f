// latch.hpp: wait for a number of things: once, in rounds, as they come, or for
// what is done once.
//
// All may be destroyed once every wait for them has returned, though the call
// that ended it may not have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include "weft/detail/storage.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

class Latch {  // std::latch
 public:
  explicit Latch(std::ptrdiff_t count) noexcept;  // misuse: below zero
  ~Latch();                                       // misuse while somebody waits
  Latch(const Latch&) = delete;
  Latch& operator=(const Latch&) = delete;

  //   Suspends:  never. Misuse: below zero.
  //   Ordering:  what came before is visible to who waits.
  //   Callers:   fibers and threads, as of all below.
  void count_down(std::ptrdiff_t by = 1) noexcept;
  //   Suspends:  never. True: the count is zero.
  [[nodiscard]] bool try_wait() const noexcept;
  //   Suspends:  until the count is zero. Always a cancel point.
  //   Errors:    cancelled, timed_out, exhausted (memory for the deadline).
  Status wait(Deadline deadline = Deadline::never());
  // Counts down even if the wait ends early.
  Status arrive_and_wait(Deadline deadline = Deadline::never());

 private:
  mutable detail::Storage<24> core_;
};

class WaitGroup {  // Go's; prefer a Nursery, which also reports failures
 public:
  WaitGroup() noexcept;
  ~WaitGroup();  // misuse while somebody waits
  WaitGroup(const WaitGroup&) = delete;
  WaitGroup& operator=(const WaitGroup&) = delete;

  //   Suspends:  never. Misuse: below zero. Callers: as of Latch.
  void add(std::ptrdiff_t count = 1) noexcept;
  void done() noexcept;
  //   Suspends:  until all is done. Always a cancel point.
  //   Errors:    cancelled, timed_out, exhausted (memory for the deadline).
  Status wait(Deadline deadline = Deadline::never());

 private:
  detail::Storage<24> core_;
};

class Barrier {  // std::barrier
 public:
  explicit Barrier(std::ptrdiff_t parties) noexcept;  // misuse: below one
  ~Barrier();  // misuse while somebody waits
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;

  // True for the one who came last; for nobody if the round ends by an
  // arrive_and_drop().
  //   Suspends:  until all parties have come. Always a cancel point.
  //   Errors:    cancelled, timed_out, exhausted (memory for the deadline);
  //              then the arrival is taken back.
  //   Callers:   fibers and threads, as of all below.
  Result<bool> arrive_and_wait(Deadline deadline = Deadline::never());
  // From this round on there is one party less. Misuse: there is none left.
  //   Suspends:  never.
  void arrive_and_drop() noexcept;

 private:
  detail::Storage<32> core_;
};

class Once {
 public:
  constexpr Once() noexcept = default;
  ~Once();  // misuse while somebody waits
  Once(const Once&) = delete;
  Once& operator=(const Once&) = delete;

  // The first caller runs f; the others wait for it. If f throws or returns an
  // error, the next caller tries again.
  //   Suspends:  while another runs f, and as f does. A cancel point, unless it
  //              is done.
  //   Errors:    f's; invalid (from within f); cancelled, timed_out, exhausted
  //              (memory for the deadline).
  //   Callers:   fibers and threads.
  template <typename F>
  Status call(F&& f, Deadline deadline = Deadline::never()) {
    if (done()) return {};
    const Result<bool> runs = begin(deadline);
    if (!runs) return runs.error();
    if (!*runs) return {};
    Attempt attempt(*this);
    if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
      std::invoke(std::forward<F>(f));
      return attempt.end({});
    } else {
      return attempt.end(std::invoke(std::forward<F>(f)));
    }
  }
  //   Suspends:  never. Ordering: true: what f did is visible.
  bool done() const noexcept;

 private:
  class Attempt {  // failed, unless it says otherwise
   public:
    explicit Attempt(Once& once) noexcept : once_(once) {}
    ~Attempt() { once_.end(succeeded_); }
    Status end(Status with) noexcept {
      succeeded_ = with.has_value();
      return with;
    }

   private:
    Once& once_;
    bool succeeded_ = false;
  };
  Result<bool> begin(Deadline deadline);
  void end(bool succeeded) noexcept;

  detail::Storage<24> core_;
};

}  // namespace weft
