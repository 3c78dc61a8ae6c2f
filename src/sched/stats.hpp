// stats.hpp: what one worker counted.
//
// Edges
//   [ended]  EndCounter::add() -> get(): what was counted before that end, by
//            this fiber and by those that made it.
#pragma once

#include <cstdint>

#include "base/atomic.hpp"

namespace weft::sched {

// One writer, any reader. By itself a number for people, not for a decision.
class Counter {
 public:
  // Two of these are in each switch: as calls they would be 15 instructions.
  [[gnu::always_inline]] void add(std::uint64_t n = 1) noexcept {
    value_.store(value_.load(relaxed) + n, relaxed);  // one writer
  }
  std::uint64_t get() const noexcept { return value_.load(relaxed); }

 private:
  Atomic<std::uint64_t> value_{0};
};

// The same, but who sees an end sees every spawn that came before it: a sum of
// old spawns and new ends would miss a fiber that lives.
class EndCounter {
 public:
  void add(std::uint64_t n = 1) noexcept {
    const auto old = value_.load(relaxed);  // one writer
    value_.store(old + n, release);         // [ended]
  }
  std::uint64_t get() const noexcept {
    return value_.load(acquire);  // [ended]
  }

 private:
  Atomic<std::uint64_t> value_{0};
};

struct Counters {
  Counter dispatched;      // fibers given the worker
  Counter spawned;         // fibers created here
  EndCounter finished;     // fibers that ended here
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
