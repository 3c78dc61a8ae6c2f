#include "sim/search.hpp"

#include <algorithm>
#include <map>

#include "base/rng.hpp"

namespace weft::sim {

std::size_t Choice::free() const noexcept {
  if (kind != Kind::fiber) return count;
  if (first_was_stopped) return 1;
  const auto yielded = [](const Option& option) { return option.yielded != 0; };
  const auto fair = std::ranges::find_if(options, yielded) - options.begin();
  return std::max<std::size_t>(1, static_cast<std::size_t>(fair));
}

namespace {

constexpr std::uint32_t kFaultOneIn = 8;

class RandomSearch final : public Search {
 public:
  explicit RandomSearch(std::uint64_t seed) : rng_(seed) {}
  bool begin() override { return true; }
  std::size_t choose(const Choice& choice) override {
    if (choice.kind == Choice::Kind::fault) {
      return rng_.below(kFaultOneIn) == 0 ? 1 : 0;
    }
    return rng_.below(static_cast<std::uint32_t>(choice.count));
  }

 private:
  base::Rng rng_;
};

// Burckhardt et al., "A randomized scheduler with probabilistic guarantees of
// finding bugs", 2010. The highest priority runs; at depth - 1 random choices
// the one that would run falls behind all others, and so does who yields.
class PctSearch final : public Search {
 public:
  PctSearch(std::uint64_t seed, unsigned depth) : rng_(seed), depth_(depth) {}
  bool begin() override {
    fibers_.clear();
    changes_.clear();
    at_ = 0;
    lowest_ = 0;
    for (std::uint64_t i = 1; i < depth_ && i <= length_; ++i) {
      changes_.push_back(rng_.below(static_cast<std::uint32_t>(length_)));
    }
    std::sort(changes_.begin(), changes_.end());
    return true;
  }
  std::size_t choose(const Choice& choice) override {
    if (choice.kind == Choice::Kind::fault) {
      return rng_.below(kFaultOneIn) == 0 ? 1 : 0;
    }
    if (choice.kind == Choice::Kind::number) {
      return rng_.below(static_cast<std::uint32_t>(choice.count));
    }
    std::size_t best = highest(choice);
    while (!changes_.empty() && changes_.front() <= at_) {
      changes_.erase(changes_.begin());
      fibers_[choice.options[best].number].priority = --lowest_;
      best = highest(choice);
    }
    ++at_;
    return best;
  }
  void end() override { length_ = std::max(length_, at_); }

 private:
  struct Known {
    std::int64_t priority = 0;
    std::uint64_t yielded = 0;  // as of when it was lowered for it
  };

  std::int64_t priority_of(const Option& option) {
    const auto [found, added] = fibers_.try_emplace(option.number);
    Known& fiber = found->second;
    if (added) fiber.priority = 1 + static_cast<std::int64_t>(rng_.next() >> 2);
    if (option.yielded > fiber.yielded) {
      fiber.yielded = option.yielded;
      fiber.priority = --lowest_;
    }
    return fiber.priority;
  }
  std::size_t highest(const Choice& choice) {
    std::size_t best = 0;
    auto most = priority_of(choice.options[0]);
    for (std::size_t i = 1; i < choice.count; ++i) {
      const auto priority = priority_of(choice.options[i]);
      if (priority <= most) continue;
      most = priority;
      best = i;
    }
    return best;
  }

  base::Rng rng_;
  const unsigned depth_;
  std::uint64_t length_ = 16;  // choices of the longest schedule so far
  std::uint64_t at_ = 0;
  std::int64_t lowest_ = 0;
  std::map<std::uint64_t, Known> fibers_;
  std::vector<std::uint64_t> changes_;
};

}  // namespace

std::unique_ptr<Search> make_search(const testing::ExploreOptions& options) {
  switch (options.search) {
    case testing::Search::random:
      break;
    case testing::Search::pct:
      return std::make_unique<PctSearch>(options.seed, options.depth);
    case testing::Search::exhaustive:
      return make_exhaustive_search(options.depth);
  }
  return std::make_unique<RandomSearch>(options.seed);
}

}  // namespace weft::sim
