// detail/fault.hpp: what explore() can make go wrong.
#pragma once

#include <cstdint>

namespace weft::testing {

// Where it may happen, the search decides whether it does.
enum class Fault : std::uint8_t {
  cancel_at_checkpoint,  // a fiber is cancelled when it comes to a cancel point
  spurious_wake,         // a fiber that waits is woken for nothing
  allocation_failure,    // no memory for a stack or a timer
  spawn_refused,         // no memory for a fiber
  time_passes,           // a deadline comes while fibers could still run
};
inline constexpr unsigned kFaults = 5;
const char* to_string(Fault fault) noexcept;

}  // namespace weft::testing
