// stats.hpp: what one worker counted.
#pragma once

#include <cstdint>

#include "base/atomic.hpp"

namespace weft::sched {

// One writer, any reader; a number for people, never for a decision.
class Counter {
 public:
  void add(std::uint64_t n = 1) noexcept {
    value_.store(value_.load(relaxed) + n, relaxed);  // one writer
  }
  std::uint64_t get() const noexcept { return value_.load(relaxed); }

 private:
  Atomic<std::uint64_t> value_{0};
};

struct Counters {
  Counter dispatched;      // fibers given the worker
  Counter spawned;         // fibers created here
  Counter finished;        // fibers that ended here
  Counter parked;          // waits that left their stack
  Counter woken;           // fibers made runnable here
  Counter yielded;         // yields that let another fiber run
  Counter in_place;        // children run on their joiner's stack
  Counter handed_over;     // joiners run right after their child
  Counter stolen;          // fibers taken from other workers
  Counter steal_failures;  // rounds over the victims that found nothing
  Counter sleeps;          // times the worker went to sleep
  Counter timers;          // deadlines that passed
};

}  // namespace weft::sched
