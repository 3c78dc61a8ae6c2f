// clock.hpp: vector clocks: what happens before what.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace weft::model {

inline constexpr std::size_t kMaxThreads = 8;  // one of them runs finally()

// Of each thread, how many of its steps are known here.
class Clock {
 public:
  std::uint16_t& operator[](std::size_t thread) noexcept {
    return steps_[thread];
  }
  std::uint16_t operator[](std::size_t thread) const noexcept {
    return steps_[thread];
  }
  void join(const Clock& other) noexcept {
    for (std::size_t i = 0; i < kMaxThreads; ++i) {
      steps_[i] = std::max(steps_[i], other.steps_[i]);
    }
  }

 private:
  std::array<std::uint16_t, kMaxThreads> steps_{};
};

}  // namespace weft::model
