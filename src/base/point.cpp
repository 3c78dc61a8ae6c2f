// Edges
//   [held]  Hold -> the thread that comes; the held thread -> await();
//           let_go() -> the held thread.

#include "base/point.hpp"

#if defined(WEFT_FAULTS)

#include <utility>

#include "base/atomic.hpp"
#include "base/check.hpp"
#include "base/futex.hpp"

namespace weft::base {

namespace {

enum : std::uint32_t { kIdle, kArmed, kHeld };

struct Place {
  Atomic<std::uint32_t> state{kIdle};
  Atomic<std::uint32_t> passed{0};  // how many still to let through
};
constinit Place places[kPoints];
constinit Atomic<bool> disturbed{false};
constinit Atomic<std::uint32_t> lots{0};  // drawn by all threads
constinit Atomic<std::uint32_t> strays{0};

Place& place_of(Point point) noexcept {
  return places[static_cast<unsigned>(point)];
}

void stay(Place& place) noexcept {
  for (auto left = place.passed.load(relaxed); left != 0;) {  // a count
    if (place.passed.compare_exchange_weak(left, left - 1, relaxed)) return;
  }
  std::uint32_t armed = kArmed;
  if (!place.state.compare_exchange_strong(armed, kHeld, acq_rel)) {  // [held]
    return;
  }
  futex_wake(place.state, INT32_MAX);
  while (place.state.load(acquire) == kHeld) {  // [held]
    futex_wait(place.state, kHeld);
  }
}

// One of so many calls, in no pattern.
bool draws(std::uint32_t one_in) noexcept {
  if (!disturbed.load(relaxed)) return false;     // tests only
  const auto drawn = lots.fetch_add(1, relaxed);  // no order
  return (drawn * 0x9e3779b1u >> 16) % one_in == 0;
}

}  // namespace

void pass(Point point) noexcept {
  Place& place = place_of(point);
  if (place.state.load(acquire) == kArmed) stay(place);  // [held]
  if (draws(4)) yield_cpu();
}

bool stray_wake() noexcept {
  if (!draws(8)) return false;
  strays.fetch_add(1, relaxed);  // a count
  return true;
}

Hold::Hold(Point point, unsigned passed) noexcept : point_(point) {
  Place& place = place_of(point);
  place.passed.store(passed, relaxed);                     // before [held]
  const auto was = place.state.exchange(kArmed, acq_rel);  // [held]
  WEFT_CHECK(was == kIdle, "a second Hold of point %u",
             static_cast<unsigned>(point));
}

void Hold::await() noexcept {
  auto& state = place_of(point_).state;
  while (state.load(acquire) == kArmed) futex_wait(state, kArmed);  // [held]
  WEFT_CHECK(state.load(acquire) == kHeld, "nobody is held");       // [held]
}

void Hold::let_go() noexcept {
  if (std::exchange(released_, true)) return;  // another may be here
  auto& state = place_of(point_).state;
  state.store(kIdle, release);  // [held]
  futex_wake(state, INT32_MAX);
}

Disturbance::Disturbance(std::uint32_t seed) noexcept
    : disturbed_before_(disturbed.exchange(true, relaxed)),  // tests only
      strays_before_(strays.load(relaxed)) {                 // a count
  lots.store(seed, relaxed);                                 // no order
}

Disturbance::~Disturbance() {
  disturbed.store(disturbed_before_, relaxed);  // tests only
}

std::uint32_t Disturbance::stray_wakes() const noexcept {
  return strays.load(relaxed) - strays_before_;  // a count
}

}  // namespace weft::base

#endif
