// search.hpp: which schedule comes next. A schedule is a list of choices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include <weft/testing.hpp>

namespace weft::sim {

// What could be chosen: fibers by their ids. The one that ran last is marked,
// if it could go on: to choose another is a preemption.
struct Choice {
  static constexpr std::size_t kNone = SIZE_MAX;
  std::span<const std::uint64_t> ids;
  std::size_t last = kNone;
};

class Search {
 public:
  virtual ~Search() = default;
  // Before each schedule; false: there is none left.
  [[nodiscard]] virtual bool begin() = 0;
  // Answers an index of ids; there are at least two.
  [[nodiscard]] virtual std::size_t choose(const Choice& choice) = 0;
  // After each schedule: how many choices it had.
  virtual void end(std::uint64_t choices) = 0;
  // Nothing is left to try.
  [[nodiscard]] virtual bool complete() const { return false; }
};

std::unique_ptr<Search> make_search(const testing::ExploreOptions& options);

// The choices of one schedule as text: "0.2.1". What is behind its end, and
// what does not fit, is 0.
class Script final : public Search {
 public:
  explicit Script(std::vector<std::uint32_t> choices)
      : choices_(std::move(choices)) {}
  bool begin() override {
    at_ = 0;
    return true;
  }
  std::size_t choose(const Choice& choice) override {
    const auto wanted = at_ < choices_.size() ? choices_[at_] : 0;
    ++at_;
    return wanted < choice.ids.size() ? wanted : 0;
  }
  void end(std::uint64_t /*unused*/) override {}

 private:
  std::vector<std::uint32_t> choices_;
  std::size_t at_ = 0;
};

std::string to_text(const std::vector<std::uint32_t>& choices);
// False: not such a text.
[[nodiscard]] bool from_text(const std::string& text,
                             std::vector<std::uint32_t>& choices);

}  // namespace weft::sim
