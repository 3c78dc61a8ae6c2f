// park.hpp: the raw park, for those who keep their own condition.
//
//   waker                          fiber
//   flag.store(1, release);        while (flag.load(acquire) == 0)
//   unpark(who);                     (void)park_if(flag, 0);
//
// A park may return for nothing; a wake is never lost: an unpark that finds the
// fiber awake leaves a token, and the next park returns at once.
#pragma once

#include <cstdint>

#include "base/atomic.hpp"
#include "sched/carrier.hpp"
#include <weft/result.hpp>

namespace weft::waiting {

// Stays valid until the runtime ends: a reused frame has another id.
struct ParkHandle {
  fiber::Fiber* frame = nullptr;
  std::uint64_t id = 0;
};

// Any fiber or thread: its own handle.
ParkHandle park_handle() noexcept;

// Any fiber or thread. Waits while flag == expected, until unpark(); may return
// earlier, for nothing. Errors: cancelled, timed_out (a scope's).
Status park_if(const Atomic<std::uint32_t>& flag,
               std::uint32_t expected) noexcept;

// Any thread. Does nothing if that fiber has ended.
void unpark(ParkHandle handle) noexcept;

}  // namespace weft::waiting
