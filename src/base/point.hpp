// point.hpp: named places between two steps of a protocol, for tests.
//
// Where an interleaving decides, debug and model builds call pass(). A test may
// hold a thread there and do the other side's steps meanwhile, or disturb all
// of them. In all other builds nothing is left of it.
//
//   Hold hold(Point::parking);    // the next thread that comes there
//   ... let a fiber park ...
//   hold.await();                 // it is there, and stays
//   ... wake the fiber ...
//   hold.let_go();
#pragma once

#include <cstdint>

#include "base/fault.hpp"

namespace weft::base {

enum class Point : std::uint8_t {
  parking,    // a fiber has left its stack; its park is not committed
  ended,      // a fiber has ended; its joiner has not heard of it
  joining,    // a joiner found its child running, and is about to register
  pushed,     // a fiber from outside is in a queue; no sleeper is told
  tired,      // a worker has found nothing, and not yet said that it sleeps
  announced,  // a worker said that it sleeps, and has not looked again
  dozing,     // it has looked, and is about to sleep
  expired,    // a timer is off its heap; its wait is not claimed
  spinning,   // who would have to wait gives the other side a moment first
  filling,    // a value is in its slot, which does not say so yet
  closing,    // a close has told some of those who wait, and not all
  dropping,   // a send found the buffer full; the oldest value is still there
};
inline constexpr unsigned kPoints = 12;

#if defined(WEFT_FAULTS)

// Any thread that holds no lock. `expired` is the exception: who is held there
// holds the lock of a heap of timers.
void pass(Point point) noexcept;
// Is anybody to be held there? Who may not stay asks, and goes another way.
bool is_watched(Point point) noexcept;
// Whether to wake a fiber that parks for nothing: a Disturbance may say so.
bool stray_wake() noexcept;

// Keeps the first thread that comes to its point after `passed` others. One
// per point at a time.
class Hold {
 public:
  explicit Hold(Point point, unsigned passed = 0) noexcept;
  ~Hold() { let_go(); }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  // Not the thread that is to be held. Until one is. Dies if it was let go.
  void await() noexcept;
  // One thread, before the destructor. From here on nobody is held.
  void let_go() noexcept;

 private:
  const Point point_;
  bool released_ = false;
};

// As long as it lives, threads lose some time at every point, and fibers that
// park are woken for nothing now and then. One inside the other is like one.
class Disturbance {
 public:
  explicit Disturbance(std::uint32_t seed) noexcept;
  ~Disturbance();
  Disturbance(const Disturbance&) = delete;
  Disturbance& operator=(const Disturbance&) = delete;

  // Any thread. How many it has woken for nothing.
  std::uint32_t stray_wakes() const noexcept;

 private:
  const bool disturbed_before_;
  const std::uint32_t strays_before_;
};

#else

constexpr void pass(Point /*unused*/) noexcept {}
constexpr bool is_watched(Point /*unused*/) noexcept { return false; }
constexpr bool stray_wake() noexcept { return false; }
static_assert(!stray_wake());  // at compile time

#endif

}  // namespace weft::base
