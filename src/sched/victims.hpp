// victims.hpp: whom to steal from next, and how long to pause in between.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/rng.hpp"
#include <weft/config.hpp>

namespace weft::sched {

// Owner only. Same seed, same sequence.
class Victims {
 public:
  Victims(Victim strategy, std::uint64_t seed) noexcept
      : strategy_(strategy), rng_(seed) {}

  // How many to try per round.
  static constexpr unsigned attempts(unsigned workers) noexcept {
    return std::min(workers - 1, 4u);
  }

  // Any worker but `self`; workers >= 2. load(i): how much worker i has.
  template <typename Load>
  unsigned next(unsigned self, unsigned workers, Load&& load) noexcept {
    switch (strategy_) {
      case Victim::random:
        break;
      case Victim::round_robin:
        last_ = (last_ + 1) % workers;
        if (last_ == self) last_ = (last_ + 1) % workers;
        return last_;
      case Victim::least_loaded:
        return most_loaded_of_two(self, workers, load);
    }
    return other(self, workers);
  }

 private:
  unsigned other(unsigned self, unsigned workers) noexcept {
    const auto pick = rng_.below(workers - 1);
    return pick < self ? pick : pick + 1;
  }
  // "Least loaded" balances towards the thief: it takes from the fuller of
  // two victims, so that the loads draw near without looking at everybody.
  template <typename Load>
  unsigned most_loaded_of_two(unsigned self, unsigned workers,
                              Load&& load) noexcept {
    const auto a = other(self, workers);
    const auto b = other(self, workers);
    return load(a) >= load(b) ? a : b;
  }

  const Victim strategy_;
  base::Rng rng_;
  unsigned last_ = 0;
};

// Nanoseconds to pause after the round-th search that found nothing: 1 us,
// doubled each time, at most 1 ms.
constexpr std::int64_t search_pause(unsigned round) noexcept {
  return std::int64_t{1000} << std::min(round, 10u) > 1'000'000
             ? 1'000'000
             : std::int64_t{1000} << std::min(round, 10u);
}

}  // namespace weft::sched
