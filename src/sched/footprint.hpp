// footprint.hpp: what one step of a simulated fiber touched.
//
// Two steps of different fibers that do not conflict lead to the same state in
// either order; a search need not try both. That counts on fibers that share
// nothing but what they lock, a testing::Atomic, or what is next to a point().
//
// Things have names that are the same in every run with the same beginning, not
// addresses: a fiber its number, an object that of its first use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weft::sched {

class Footprint {
 public:
  struct Name {
    std::uint64_t value = 0;
    friend bool operator==(Name, Name) = default;
  };
  static Name of_fiber(std::uint64_t number) noexcept {
    return {number * 2 + 1};
  }
  static Name of_object(std::uint64_t index) noexcept { return {index * 2}; }

  // Conflicts with everything.
  static Footprint of_all() {
    Footprint all;
    all.everything_ = true;
    return all;
  }

  void clear() noexcept {
    everything_ = false;
    touched_.clear();
  }
  void add_all() noexcept { everything_ = true; }
  void read(Name name) { touched_.push_back({name, false}); }
  void write(Name name) { touched_.push_back({name, true}); }

  [[nodiscard]] bool conflicts_with(const Footprint& other) const noexcept {
    if (everything_ || other.everything_) return true;
    return std::ranges::any_of(touched_, [&other](const Touched& mine) {
      return std::ranges::any_of(other.touched_, [&](const Touched& its) {
        return its.name == mine.name && (its.writes || mine.writes);
      });
    });
  }

 private:
  struct Touched {
    Name name;
    bool writes;
  };
  bool everything_ = false;
  std::vector<Touched> touched_;
};

}  // namespace weft::sched
