// time.hpp: the runtime's clock, and how long to wait.
//
//   receiver.receive(Deadline::after(2s));
//
// Deadlines, not durations: they survive retries and compose by earliest().
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <type_traits>

#include "weft/result.hpp"

namespace weft {

// A std::chrono clock. Monotonic; virtual in a Simulation; the same epoch as
// steady_clock otherwise.
struct Clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Clock>;
  static constexpr bool is_steady = true;
  static time_point now() noexcept;
};

class Deadline {
 public:
  static constexpr Deadline never() noexcept {
    return Deadline(Clock::time_point::max());
  }
  // Saturates: a delay that ends after the end of time is never().
  static Deadline after(Clock::duration delay) noexcept;
  template <typename Rep, typename Period>
  static Deadline after(std::chrono::duration<Rep, Period> delay) noexcept {
    return after(saturate(delay));
  }
  constexpr explicit Deadline(Clock::time_point when) noexcept : when_(when) {}
  constexpr explicit Deadline(
      std::chrono::steady_clock::time_point when) noexcept
      : when_(std::chrono::duration_cast<Clock::duration>(
            when.time_since_epoch())) {}

  constexpr Clock::time_point when() const noexcept { return when_; }
  bool expired() const noexcept;
  Clock::duration remaining() const noexcept;  // not below zero

  friend constexpr auto operator<=>(Deadline, Deadline) noexcept = default;
  friend constexpr Deadline earliest(Deadline a, Deadline b) noexcept {
    return a < b ? a : b;
  }

 private:
  // seconds::max() does not fit into nanoseconds, and "for ever" is a usual
  // reading of it.
  template <typename Rep, typename Period>
  static constexpr Clock::duration saturate(
      std::chrono::duration<Rep, Period> delay) noexcept {
    constexpr double kLimit = 9.2e18;  // just below the largest count
    const std::chrono::duration<double, std::nano> count = delay;
    if (count.count() < -kLimit) return Clock::duration::min();
    if (count.count() < kLimit) {
      return std::chrono::duration_cast<Clock::duration>(delay);
    }
    return Clock::duration::max();
  }

  Clock::time_point when_;
};

}  // namespace weft
