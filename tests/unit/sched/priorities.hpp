// priorities.hpp: options of spawns that differ by nothing but the priority.
#pragma once

#include <weft/nursery.hpp>

namespace weft::test {

inline constexpr SpawnOptions kLow{.priority = Priority::low};
inline constexpr SpawnOptions kNormal{.priority = Priority::normal};
inline constexpr SpawnOptions kHigh{.priority = Priority::high};

}  // namespace weft::test
