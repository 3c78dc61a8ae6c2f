// spawn.hpp: the parts of a spawn that are worth inlining.
//
// A spawn with its join is about 600 instructions; as calls, each of which
// asks again where it is, these would add dozens.
#pragma once

#include "sched/dispatch.hpp"

#define WEFT_INLINE [[gnu::always_inline]] inline

namespace weft::sched {

inline void Scheduler::prepare_frame(Fiber& frame, std::uint64_t number,
                                     unsigned place) const noexcept {
  frame.word.reserve();
  frame.join.reset();
  // Each place counts for itself: a worker, or all that is outside (0).
  frame.id.store(number * (config_.workers + 1) + place,
                 relaxed);  // published with the frame
}

WEFT_INLINE Fiber* Scheduler::take_frame(Worker& here) noexcept {
  if (asks_to_spawn_ || !admits()) [[unlikely]]
    return nullptr;
  Fiber* const frame = here.frames.take_cached();
  if (frame == nullptr) [[unlikely]]
    return nullptr;
  here.counters.spawned.add();
  prepare_frame(*frame, here.counters.spawned.get(), here.index() + 1);
  return frame;
}

WEFT_INLINE void Scheduler::launch(Fiber& frame, Worker* here) noexcept {
  frame.word.publish(/*look=*/true);
  // A new fiber has no pin.
  if (here != nullptr && &here->scheduler() == this && local_spawns_ &&
      frame.rank == 0) [[likely]] {
    here->push_fresh(frame);
    here->notify_local();
  } else {
    launch_otherwise(frame);
  }
}

}  // namespace weft::sched

#undef WEFT_INLINE
