// disturbed.hpp: lets a whole suite run while threads lose time between two
// steps and parked fibers are woken for nothing.
#pragma once

#include <cstdlib>
#include <optional>

#include "base/point.hpp"

namespace weft::test {

// Disturbs as long as it lives, if the environment has WEFT_TEST_DISTURB (its
// value is the seed) and the build has points.
class Disturbed {
#if defined(WEFT_FAULTS)
 public:
  Disturbed() {
    if (const char* seed = std::getenv("WEFT_TEST_DISTURB")) {
      disturbance_.emplace(
          static_cast<std::uint32_t>(std::strtoul(seed, nullptr, 10)));
    }
  }
  void end() { disturbance_.reset(); }

 private:
  std::optional<base::Disturbance> disturbance_;
#else
 public:
  void end() {}
#endif
};

}  // namespace weft::test
