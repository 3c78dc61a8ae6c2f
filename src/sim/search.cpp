#include "sim/search.hpp"

#include <algorithm>
#include <charconv>

namespace weft::sim {

namespace {

class RandomSearch final : public Search {
 public:
  explicit RandomSearch(std::uint64_t seed) : rng_(seed) {}
  bool begin() override { return true; }
  std::size_t choose(const Choice& choice) override {
    return rng_.below(static_cast<std::uint32_t>(choice.ids.size()));
  }
  void end(std::uint64_t /*unused*/) override {}

 private:
  base::Rng rng_;
};

// Burckhardt et al., "A randomized scheduler with probabilistic guarantees of
// finding bugs", 2010. The highest priority runs; at depth - 1 random choices
// the one that runs falls behind all others.
class PctSearch final : public Search {
 public:
  PctSearch(std::uint64_t seed, unsigned depth) : rng_(seed), depth_(depth) {}
  bool begin() override {
    priorities_.clear();
    changes_.clear();
    at_ = 0;
    lowest_ = 0;
    for (unsigned i = 1; i < depth_; ++i) {
      changes_.push_back(rng_.below(static_cast<std::uint32_t>(length_)));
    }
    std::sort(changes_.begin(), changes_.end());
    return true;
  }
  std::size_t choose(const Choice& choice) override {
    std::size_t best = highest(choice);
    while (!changes_.empty() && changes_.front() <= at_) {
      changes_.erase(changes_.begin());
      priorities_[choice.ids[best]] = --lowest_;
      best = highest(choice);
    }
    ++at_;
    return best;
  }
  void end(std::uint64_t choices) override {
    length_ = std::max<std::uint64_t>(length_, choices);
  }

 private:
  std::int64_t priority_of(std::uint64_t id) {
    const auto [found, added] = priorities_.try_emplace(id);
    if (added) found->second = 1 + static_cast<std::int64_t>(rng_.next() >> 2);
    return found->second;
  }
  std::size_t highest(const Choice& choice) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < choice.ids.size(); ++i) {
      if (priority_of(choice.ids[i]) > priority_of(choice.ids[best])) best = i;
    }
    return best;
  }

  base::Rng rng_;
  const unsigned depth_;
  std::uint64_t length_ = 16;  // choices of the longest schedule so far
  std::uint64_t at_ = 0;
  std::int64_t lowest_ = 0;
  std::map<std::uint64_t, std::int64_t> priorities_;
  std::vector<std::uint64_t> changes_;
};

// Depth first. Who ran last goes on first, so the first schedule has no
// preemption, and a bound on them cuts whole branches.
class ExhaustiveSearch final : public Search {
 public:
  explicit ExhaustiveSearch(unsigned preemptions) : most_(preemptions) {}

  bool begin() override {
    if (began_ && !advance()) {
      complete_ = true;
      return false;
    }
    began_ = true;
    at_ = 0;
    preemptions_ = 0;
    return true;
  }
  std::size_t choose(const Choice& choice) override {
    const auto count = static_cast<std::uint32_t>(choice.ids.size());
    const bool bound = choice.last != Choice::kNone && preemptions_ >= most_;
    if (at_ == path_.size()) path_.push_back({0, bound ? 1 : count});
    const auto rank = path_[at_++].chosen;
    if (choice.last == Choice::kNone) return rank;
    if (rank == 0) return choice.last;
    ++preemptions_;
    return rank <= choice.last ? rank - 1 : rank;
  }
  void end(std::uint64_t /*unused*/) override {}
  bool complete() const override { return complete_; }

 private:
  struct Node {
    std::uint32_t chosen;  // 0: who ran last, then the others in order
    std::uint32_t count;
  };
  bool advance() {
    path_.resize(at_);  // what the last schedule came to
    while (!path_.empty() && path_.back().chosen + 1 == path_.back().count) {
      path_.pop_back();
    }
    if (path_.empty()) return false;
    ++path_.back().chosen;
    return true;
  }

  const unsigned most_;
  std::vector<Node> path_;
  std::size_t at_ = 0;
  unsigned preemptions_ = 0;
  bool began_ = false;
  bool complete_ = false;
};

}  // namespace

std::unique_ptr<Search> make_search(const testing::ExploreOptions& options) {
  switch (options.search) {
    case testing::Search::random:
      break;
    case testing::Search::pct:
      return std::make_unique<PctSearch>(options.seed, options.depth);
    case testing::Search::exhaustive:
      return std::make_unique<ExhaustiveSearch>(options.depth);
  }
  return std::make_unique<RandomSearch>(options.seed);
}

std::string to_text(const std::vector<std::uint32_t>& choices) {
  auto last = choices.size();
  while (last > 0 && choices[last - 1] == 0) --last;  // what is missing is 0
  std::string text;
  for (std::size_t i = 0; i < last; ++i) {
    text += (i == 0 ? "" : ".") + std::to_string(choices[i]);
  }
  return text.empty() ? "0" : text;
}

bool from_text(const std::string& text, std::vector<std::uint32_t>& choices) {
  choices.clear();
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    std::uint32_t number = 0;
    const auto [rest, error] = std::from_chars(at, end, number);
    if (error != std::errc{} || (rest != end && *rest != '.')) return false;
    choices.push_back(number);
    at = rest == end ? end : rest + 1;
    if (rest != end && at == end) return false;  // ends with a dot
  }
  return !choices.empty();
}

}  // namespace weft::sim
