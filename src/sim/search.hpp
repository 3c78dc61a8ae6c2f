// search.hpp: which schedule comes next. A schedule is a list of choices, each
// the rank of what was chosen; all zeros is the schedule without preemptions,
// faults and unfair turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sched/footprint.hpp"
#include <weft/testing.hpp>

namespace weft::sim {

// A fiber that could go on.
struct Option {
  std::uint64_t number = 0;
  std::uint64_t yielded = 0;  // the step that it ended with a yield; 0: it did
                              // not
};

struct Choice {
  enum class Kind : std::uint8_t { fiber, number, fault };
  Kind kind = Kind::fiber;
  std::size_t count = 0;  // at least two
  // Of fibers: who ran last and was stopped, then those who did not yield by
  // number, then those who did by turns.
  std::span<const Option> options = {};
  bool first_was_stopped = false;  // to choose another is a preemption

  // How many of the first ones cost nothing: no preemption, no unfair turn.
  [[nodiscard]] std::size_t free() const noexcept;
};

class Search {
 public:
  virtual ~Search() = default;
  // Before each schedule; false: there is none left.
  [[nodiscard]] virtual bool begin() = 0;
  // Answers a rank below choice.count.
  [[nodiscard]] virtual std::size_t choose(const Choice& choice) = 0;
  // A fiber has made a step, chosen or not. 0: time passed.
  virtual void went(std::uint64_t /*number*/,
                    const sched::Footprint& /*touched*/) {}
  // After each schedule.
  virtual void end() {}
  // Nothing is left to try.
  [[nodiscard]] virtual bool complete() const { return false; }
  // The same choices led to other ones than before.
  [[nodiscard]] virtual bool diverged() const { return false; }
};

// Every schedule with at most so many preemptions and unfair turns; without a
// bound only those that differ in the order of what conflicts.
std::unique_ptr<Search> make_exhaustive_search(unsigned bound);
std::unique_ptr<Search> make_search(const testing::ExploreOptions& options);

// Runs one schedule. What is behind its end is 0.
class Script final : public Search {
 public:
  explicit Script(std::vector<std::uint32_t> ranks)
      : ranks_(std::move(ranks)) {}
  bool begin() override {
    at_ = 0;
    return true;
  }
  std::size_t choose(const Choice& choice) override {
    const std::size_t wanted = at_ < ranks_.size() ? ranks_[at_] : 0;
    ++at_;
    if (wanted < choice.count) return wanted;
    diverged_ = true;
    return 0;
  }
  void end() override {
    for (std::size_t i = at_; i < ranks_.size(); ++i) {
      if (ranks_[i] != 0) diverged_ = true;  // it was longer
    }
  }
  bool diverged() const override { return diverged_; }

 private:
  const std::vector<std::uint32_t> ranks_;
  std::size_t at_ = 0;
  bool diverged_ = false;
};

// A schedule as text, with all that its choices depend on: "w2f4n1:0x3.1.2".
struct Schedule {
  unsigned workers = 0;
  unsigned faults = 0;  // a bit for each Fault
  unsigned max_faults = 0;
  std::vector<std::uint32_t> ranks;

  [[nodiscard]] std::string text() const;
  // False: not such a text.
  [[nodiscard]] static bool parse(const std::string& text, Schedule& schedule);
};

}  // namespace weft::sim
