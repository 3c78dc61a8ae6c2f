// fault.hpp: calls that the system can be made to refuse, for tests.
//
// Where memory or a thread is asked for, debug and model builds ask refused()
// first. In all other builds that is a constant, and nothing is left of it.
//
//   const Refusal no_more(FaultPoint::thread_start, 2);  // the third and later
#pragma once

#include <cstdint>

#if defined(WEFT_DEBUG_CHECKS) || defined(WEFT_MODEL)
#define WEFT_FAULTS 1
#endif

namespace weft::base {

enum class FaultPoint : std::uint8_t {
  thread_start,    // pthread_create of a worker
  queue_array,     // operator new of a bounded queue
  stack_map,       // mmap of a slab of stacks
  guard_madvise,   // madvise that makes a guard
  guard_mprotect,  // mprotect that makes a guard
  frame_map,       // mmap of a slab of frames
  timer_array,     // operator new of a heap of timers
  channel,         // operator new of a channel, and of its late values
};
inline constexpr unsigned kFaultPoints = 8;

#if defined(WEFT_FAULTS)

// Any thread. True: behave as if the call had failed.
bool refused(FaultPoint point) noexcept;

// As long as it lives, calls at its point are refused: the first `passed` are
// let through, then `count` fail, then all work again. One per point at a time.
class Refusal {
 public:
  static constexpr unsigned kAll = UINT32_MAX;

  explicit Refusal(FaultPoint point, unsigned passed = 0,
                   unsigned count = kAll) noexcept;
  ~Refusal();
  Refusal(const Refusal&) = delete;
  Refusal& operator=(const Refusal&) = delete;

  // Any thread. How many calls it has refused.
  unsigned refusals() const noexcept;

 private:
  const FaultPoint point_;
};

#else

constexpr bool refused(FaultPoint /*unused*/) noexcept { return false; }
static_assert(!refused(FaultPoint::thread_start));  // at compile time

#endif

}  // namespace weft::base
