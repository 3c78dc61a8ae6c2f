// rng.hpp: xoshiro256**, one per worker, seeded by splitmix64.
//
// Small, fast, the same sequence on every machine for the same seed.
// Algorithm: Blackman & Vigna, 2018.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace weft::base {

class Rng {
 public:
  explicit Rng(std::uint64_t seed) noexcept {
    for (auto& word : state_) {
      seed += 0x9e3779b97f4a7c15u;
      auto z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      word = z ^ (z >> 31);
    }
  }
  // The state itself, for known answers and replay.
  explicit Rng(const std::array<std::uint64_t, 4>& state) noexcept
      : state_(state) {}

  std::uint64_t next() noexcept {
    const auto result = std::rotl(state_[1] * 5, 7) * 9;
    const auto t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // 0 <= result < bound; bound > 0. Multiplies instead of dividing.
  std::uint32_t below(std::uint32_t bound) noexcept {
    return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
  }

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace weft::base
