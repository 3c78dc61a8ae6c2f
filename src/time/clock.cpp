#include "time/clock.hpp"

#include <time.h>

#include <algorithm>

namespace weft {

static_assert(time::nanoseconds(Deadline::never()) == time::kNever);

namespace {
thread_local const std::int64_t* virtual_now = nullptr;
}

void time::set_virtual_now(const std::int64_t* now) noexcept {
  virtual_now = now;
}

std::int64_t time::now() noexcept {
  if (virtual_now != nullptr) [[unlikely]]
    return *virtual_now;
  constexpr std::int64_t kSecond = 1'000'000'000;
  timespec at{};
  ::clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * kSecond + at.tv_nsec;
}

Clock::time_point Clock::now() noexcept {
  return time_point(duration(time::now()));
}

Deadline Deadline::after(Clock::duration delay) noexcept {
  const auto now = Clock::now();  // not negative: only the far end overflows
  if (delay > never().when() - now) return never();
  return Deadline(now + delay);
}

bool Deadline::expired() const noexcept {
  return when_ != never().when() && when_ <= Clock::now();
}

Clock::duration Deadline::remaining() const noexcept {
  if (*this == never()) return Clock::duration::max();
  const auto now = Clock::now();
  return when_ <= now ? Clock::duration::zero() : when_ - now;
}

}  // namespace weft
