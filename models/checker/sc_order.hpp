// sc_order.hpp: the partial order of seq_cst events, kept without cycles.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>

namespace weft::model {

inline constexpr std::size_t kMaxSc = 256;
using ScSet = std::bitset<kMaxSc>;

class ScOrder {
 public:
  void clear() noexcept { size_ = 0; }
  std::size_t size() const noexcept { return size_; }

  // Would an event between these sets close a cycle?
  bool allows(const ScSet& before, const ScSet& after) const noexcept {
    if (after.none()) return true;
    return (before & reached_from(after)).none();
  }
  // Adds the next event.
  void add(const ScSet& before, const ScSet& after) noexcept {
    const auto self = size_++;
    reach_[self] = reached_from(after);
    const auto gained = reach_[self] | ScSet{}.set(self);
    for (std::size_t i = 0; i < self; ++i) {
      if (before[i] || (reach_[i] & before).any()) reach_[i] |= gained;
    }
  }

 private:
  ScSet reached_from(const ScSet& events) const noexcept {
    auto all = events;
    for (std::size_t i = 0; i < size_; ++i) {
      if (events[i]) all |= reach_[i];
    }
    return all;
  }

  std::array<ScSet, kMaxSc> reach_{};  // of each event, those after it
  std::size_t size_ = 0;
};

}  // namespace weft::model
