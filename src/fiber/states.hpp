// states.hpp: the states of a fiber, and the answers of its control word.
#pragma once

#include <cstdint>

namespace weft::fiber {

enum class State : std::uint8_t {
  free = 0,      // in a pool
  reserved = 1,  // the spawner writes the frame
  fresh = 2,     // queued, never ran, has no stack
  queued = 3,    // runnable; first the claimer's, then the queue's
  running = 4,   // on worker `owner`
  parking = 5,   // on worker `owner`; about to leave its stack, or just left
  parked = 6,    // nobody's
  hosting = 7,   // nobody's: its stack is lent to its guest
  done = 8,      // the handle's
};

// What ended a wait.
enum class Who : std::uint16_t {
  none = 0,
  open = 1,
  withdrawn = 2,
  deadline = 3,
  cancelled = 4,
  first_source = 5,  // first_source + i: source i
};
constexpr Who source(unsigned index) noexcept {
  return static_cast<Who>(5u + index);
}

enum class Started : std::uint8_t { run, run_cancelled };
enum class Begun : std::uint8_t { go_on, had_token, cancelled };
enum class Committed : std::uint8_t { parked, resume_now };
enum class Claimed : std::uint8_t { lost, won, won_and_owns };
enum class Unparked : std::uint8_t { nothing, owns };

}  // namespace weft::fiber
