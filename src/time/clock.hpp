// clock.hpp: time as the runtime counts it: nanoseconds in one integer.
#pragma once

#include <cstdint>

#include <weft/time.hpp>

namespace weft::time {

// The deadline of who waits for ever; the same number as Deadline::never() and
// base::kForever.
inline constexpr std::int64_t kNever = INT64_MAX;

// Any thread. Nanoseconds of CLOCK_MONOTONIC, or of the thread's virtual clock.
[[nodiscard]] std::int64_t now() noexcept;
// The thread of a simulator: its clock, until nullptr.
void set_virtual_now(const std::int64_t* now) noexcept;

[[nodiscard]] constexpr std::int64_t nanoseconds(Deadline deadline) noexcept {
  return deadline.when().time_since_epoch().count();
}

[[nodiscard]] constexpr Deadline deadline(std::int64_t when) noexcept {
  return Deadline(Clock::time_point(Clock::duration(when)));
}

}  // namespace weft::time
