// lots.hpp: an order in which nobody has an advantage.
//
// The order is drawn as it is needed (Fisher and Yates): whoever of some is met
// first is each of them with the same probability, whatever the others are. To
// begin anywhere and go on in a circle would favour who comes after a gap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace weft::sync {

// The next lot of a sequence that one word remembers: splitmix64.
inline std::uint64_t next_lot(std::uint64_t& sequence) noexcept {
  auto z = sequence += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// Calls meets(i) for each i < count, by lot, until it answers true. Answers
// that one; count: there was none. draw() is a lot; order: room for count.
template <typename Draw, typename Meets>
std::size_t first_by_lot(std::uint16_t* order, std::size_t count, Draw&& draw,
                         Meets&& meets) {
  const auto drawn = [&](std::size_t among) -> std::size_t {
    return among < 2 ? 0 : ((draw() >> 32) * among) >> 32;
  };
  if (count == 0) return 0;
  const auto first = drawn(count);
  if (meets(first)) return first;
  for (std::size_t i = 0; i < count; ++i) {
    order[i] = static_cast<std::uint16_t>(i);
  }
  std::swap(order[0], order[first]);
  for (std::size_t i = 1; i < count; ++i) {
    std::swap(order[i], order[i + drawn(count - i)]);
    if (meets(order[i])) return order[i];
  }
  return count;
}

}  // namespace weft::sync
