// minimize.cpp: from a schedule that fails to one whose choices all matter.

#include <algorithm>
#include <utility>

#include "sim/explorer.hpp"

namespace weft::detail {

Trial Explorer::minimized(Trial failed) {
  return fewest(with_less(std::move(failed)));
}

// All, halves, quarters ... single choices become 0, as long as it still fails.
Trial Explorer::with_less(Trial failed) {
  constexpr int kTries = 200;
  int tries = 0;
  for (auto part = failed.ranks.size(); part != 0; part /= 2) {
    for (std::size_t from = 0; from < failed.ranks.size(); from += part) {
      const auto first =
          failed.ranks.begin() + static_cast<std::ptrdiff_t>(from);
      const auto size = std::min(part, failed.ranks.size() - from);
      if (std::all_of(first, first + static_cast<std::ptrdiff_t>(size),
                      [](auto rank) { return rank == 0; })) {
        continue;
      }
      if (++tries > kTries) return failed;
      auto fewer = failed.ranks;
      std::fill_n(fewer.begin() + static_cast<std::ptrdiff_t>(from), size, 0u);
      auto trial = run_again(fewer);
      if (trial.same_as(failed)) failed = std::move(trial);
    }
  }
  return failed;
}

// One choice that is not 0, then two ..., each wherever it can be: what no
// single step from the schedule that was found may lead to.
Trial Explorer::fewest(Trial failed) {
  constexpr int kTries = 1'000;
  struct Base {
    std::vector<std::uint32_t> ranks;  // the last one is not 0
    std::size_t length;                // with the zeros behind it
  };
  const auto is_zero = [](auto rank) { return rank == 0; };
  const auto zeros = std::ranges::count_if(failed.ranks, is_zero);
  auto needed = failed.ranks.size() - static_cast<std::size_t>(zeros);
  if (needed < 2) return failed;
  int tries = 0;
  std::vector<Base> bases{{{}, run_again({}).ranks.size()}};
  while (--needed != 0) {
    std::vector<Base> next;
    for (const Base& base : bases) {
      for (auto at = base.ranks.size(); at < base.length; ++at) {
        for (std::uint32_t rank = 1;; ++rank) {
          if (++tries > kTries) return failed;
          auto ranks = base.ranks;
          ranks.resize(at);
          ranks.push_back(rank);
          auto trial = run_again(ranks);
          if (trial.diverged) break;  // there are no more ranks
          if (trial.same_as(failed)) return trial;
          next.push_back({std::move(ranks), trial.ranks.size()});
        }
      }
    }
    bases = std::move(next);
  }
  return failed;
}

}  // namespace weft::detail
