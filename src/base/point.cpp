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

// The state of a place: what it does, and for which Hold, so that who was let
// go does not stay for the next one.
enum : std::uint32_t { kIdle, kArmed, kHeld, kStates };

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
  auto armed = place.state.load(acquire);  // [held]
  if (armed % kStates != kArmed) return;
  const auto held = armed - kArmed + kHeld;
  if (!place.state.compare_exchange_strong(armed, held, acq_rel)) {  // [held]
    return;
  }
  futex_wake(place.state, INT32_MAX);
  while (place.state.load(acquire) == held) {  // [held]
    futex_wait(place.state, held);
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
  if (place.state.load(acquire) % kStates == kArmed) stay(place);  // [held]
  if (draws(4)) yield_cpu();
}

bool is_watched(Point point) noexcept {
  const auto state = place_of(point).state.load(acquire);  // [held]
  return state % kStates == kArmed;
}

bool stray_wake() noexcept {
  if (!draws(8)) return false;
  strays.fetch_add(1, relaxed);  // a count
  return true;
}

Hold::Hold(Point point, unsigned passed) noexcept : point_(point) {
  Place& place = place_of(point);
  const auto idle = place.state.load(acquire);  // [held]
  WEFT_CHECK(idle % kStates == kIdle, "a second Hold of point %u",
             static_cast<unsigned>(point));
  place.passed.store(passed, relaxed);        // before [held]
  place.state.store(idle + kArmed, release);  // [held]
}

void Hold::await() noexcept {
  auto& state = place_of(point_).state;
  auto now = state.load(acquire);  // [held]
  while (now % kStates == kArmed) {
    futex_wait(state, now);
    now = state.load(acquire);  // [held]
  }
  WEFT_CHECK(now % kStates == kHeld, "nobody is held");
}

void Hold::let_go() noexcept {
  if (std::exchange(released_, true)) return;  // another may be here
  auto& state = place_of(point_).state;
  auto now =
      state.load(relaxed);  // only its own thread, or who is held, writes
  while (!state.compare_exchange_weak(now, now - now % kStates + kStates,
                                      acq_rel)) {  // [held]
  }
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
