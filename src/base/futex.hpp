// futex.hpp: how an OS thread sleeps on one word.
#pragma once

#include <cstdint>

#include "base/atomic.hpp"

namespace weft::base {

// Any thread. Sleeps while word == expected, at most until the deadline
// (nanoseconds of CLOCK_MONOTONIC; kForever: no limit). May return spuriously.
inline constexpr std::int64_t kForever = INT64_MAX;
void futex_wait(Atomic<std::uint32_t>& word, std::uint32_t expected,
                std::int64_t until = kForever) noexcept;

// Any thread.
void futex_wake(Atomic<std::uint32_t>& word, int count = 1) noexcept;

}  // namespace weft::base
