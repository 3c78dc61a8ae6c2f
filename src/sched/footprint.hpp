// footprint.hpp: what one step of a simulated fiber touched.
//
// Two steps of different fibers that do not conflict lead to the same state in
// either order; a search need not try both. That counts on fibers that share
// nothing but what they lock, a testing::Atomic, or what is next to a point().
#pragma once

#include <algorithm>
#include <vector>

#include "sched/interleave.hpp"

namespace weft::sched {

class Footprint {
 public:
  // Conflicts with everything.
  static Footprint of_all() {
    Footprint all;
    all.everything_ = true;
    return all;
  }

  // A step of this fiber begins.
  void begin(const Fiber& by) {
    everything_ = false;
    touched_.clear();
    touched_.push_back({&by, false});
  }
  void add_all() noexcept { everything_ = true; }
  void add(Op op, const void* object) {
    switch (op) {
      case Op::lock:
      case Op::access:
      case Op::join_all:
      case Op::join:  // and below: at any moment of the other fiber
      case Op::look:
        touched_.push_back({object, true});
        break;
      case Op::read:
      case Op::park:
        touched_.push_back({object, false});
        break;
      case Op::end: {  // children leave in any order
        const auto& self = *static_cast<const Fiber*>(object);
        touched_.push_back({&self, true});
        touched_.push_back({self.family, false});
        break;
      }
      case Op::begin:
      case Op::wait:  // its waitable locks before it looks
        break;
      default:
        everything_ = true;
    }
  }

  [[nodiscard]] bool conflicts_with(const Footprint& other) const noexcept {
    if (everything_ || other.everything_) return true;
    return std::ranges::any_of(touched_, [&other](const Touched& mine) {
      return std::ranges::any_of(other.touched_, [&](const Touched& its) {
        return its.object == mine.object && (its.writes || mine.writes);
      });
    });
  }

 private:
  struct Touched {
    const void* object;
    bool writes;
  };
  bool everything_ = false;
  std::vector<Touched> touched_;
};

}  // namespace weft::sched
