// interleave.hpp: where a fiber does something that others can notice.
//
// Each such call of the library says so first: a simulated fiber may be stopped
// there while others go on (see simulator.hpp), and what it says is what the
// report of a failed schedule shows. On real workers it is one test of a
// pointer.
#pragma once

#include <cstdint>

#include "sched/carrier.hpp"

namespace weft::sched {

// What the fiber is about to do, and below it, to what.
enum class Op : std::uint8_t {
  begin,  // its body
  spawn,
  yield,
  checkpoint,
  sleep,
  lock,      // a SpinLock, or what is held over waits
  unlock,    // the latter
  signal,    // those who wait on an object
  wait,      // on a waitable
  send,      // to a channel
  receive,   // from one
  close,     // one
  select,    // among several things
  park,      // while a flag has a value
  unpark,    // a fiber
  join,      // a fiber
  join_all,  // the children of a nursery
  cancel,    // a fiber
  look,      // at the state of a fiber
  read,      // a testing::Atomic
  access,    // the same, not only to read
  point,     // what testing::point() stands for
  end,       // itself
};

void interleave_simulated(Carrier& here, Op op, const void* object) noexcept;

// Any fiber or thread, before it does so. Suspends in a simulation only, and
// not while a spin lock is held.
inline void interleave(Carrier& here, Op op, const void* object) noexcept {
  if (here.simulator != nullptr) [[unlikely]]
    interleave_simulated(here, op, object);
}
inline void interleave(Op op, const void* object) noexcept {
  if (Carrier* const here = carrier_or_null()) interleave(*here, op, object);
}

}  // namespace weft::sched
