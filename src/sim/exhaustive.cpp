// exhaustive.cpp: all schedules, depth first.
//
// With a bound on what is not free (preemptions, turns out of order) a node of
// the tree has as many branches as its budget allows. Without one, sleep sets
// (Godefroid, "Partial-Order Methods for the Verification of Concurrent
// Systems", 1996) leave out what only swaps steps that do not conflict: once a
// branch is done, its fiber sleeps in the branches next to it, until a step
// conflicts with the one it would make. The two do not go together: the one
// schedule that stands for many may not be within the bound.

#include <algorithm>
#include <utility>

#include "sim/search.hpp"

namespace weft::sim {

namespace {

// A fiber whose next step has been tried from here.
struct Sleeper {
  std::uint64_t number;
  sched::Footprint step;
};
using Sleepers = std::vector<Sleeper>;

bool sleeps(const Sleepers& all, std::uint64_t number) {
  return std::ranges::find(all, number, &Sleeper::number) != all.end();
}

class ExhaustiveSearch final : public Search {
 public:
  explicit ExhaustiveSearch(unsigned bound) : bound_(bound) {}

  bool begin() override {
    if (began_ && !advance()) {
      complete_ = true;
      return false;
    }
    began_ = true;
    at_ = 0;
    spent_ = 0;
    asleep_.clear();
    stepping_ = kNobody;
    return true;
  }

  std::size_t choose(const Choice& choice) override {
    const auto free = choice.free();
    const auto open = spent_ < bound_ ? choice.count : free;
    if (at_ == path_.size()) add_node(choice, open);
    Node& node = path_[at_];
    if (node.expected != open) diverged_ = true;
    const auto rank = std::min(node.rank, choice.count - 1);
    if (rank >= free) ++spent_;
    if (reduces() && choice.kind == Choice::Kind::fiber) {
      asleep_ = node.asleep;
      stepping_ = at_;
    }
    ++at_;
    return rank;
  }

  void went(std::uint64_t number, const sched::Footprint& touched) override {
    if (!reduces()) return;
    std::erase_if(asleep_, [&](const Sleeper& sleeper) {
      return sleeper.number == number || sleeper.step.conflicts_with(touched);
    });
    if (stepping_ != kNobody) path_[stepping_].step = {number, touched};
    stepping_ = kNobody;
  }

  void end() override {
    if (at_ != path_.size()) diverged_ = true;
  }
  bool complete() const override { return complete_; }
  bool diverged() const override { return diverged_; }

 private:
  static constexpr std::size_t kNobody = SIZE_MAX;  // makes a step

  struct Node {
    std::size_t rank;
    std::size_t expected;                // ranks, when it comes again
    std::size_t open;                    // of those, to try
    std::vector<std::uint64_t> numbers;  // of the fibers; empty: no fibers
    Sleepers asleep;                     // here: not to be tried
    Sleeper step;                        // of the branch that is open now
  };

  bool reduces() const { return bound_ == testing::kNoBound; }

  void add_node(const Choice& choice, std::size_t open) {
    Node node{0, open, open, {}, {}, {}};
    if (reduces() && choice.kind == Choice::Kind::fiber) {
      for (const auto& option : choice.options) {
        node.numbers.push_back(option.number);
      }
      node.asleep = asleep_;
      // If all sleep, this schedule has been seen already, but must end.
      if (!find_awake(node)) {
        node.rank = 0;
        node.open = 1;
      }
    }
    path_.push_back(std::move(node));
  }

  // The next branch from its rank on.
  static bool find_awake(Node& node) {
    while (node.rank < node.open && !node.numbers.empty() &&
           sleeps(node.asleep, node.numbers[node.rank])) {
      ++node.rank;
    }
    return node.rank < node.open;
  }

  bool advance() {
    for (; !path_.empty(); path_.pop_back()) {
      Node& node = path_.back();
      if (!node.numbers.empty()) node.asleep.push_back(node.step);
      ++node.rank;
      if (find_awake(node)) return true;
    }
    return false;
  }

  const unsigned bound_;
  std::vector<Node> path_;
  std::size_t at_ = 0;
  unsigned spent_ = 0;
  Sleepers asleep_;                 // at the step that comes next
  std::size_t stepping_ = kNobody;  // the node whose branch makes it
  bool began_ = false;
  bool complete_ = false;
  bool diverged_ = false;
};

}  // namespace

std::unique_ptr<Search> make_exhaustive_search(unsigned bound) {
  return std::make_unique<ExhaustiveSearch>(bound);
}

}  // namespace weft::sim
