// explorer.hpp: one schedule after the other, on one runtime as long as they
// pass. A schedule that failed stays as it is, with its runtime: its fibers may
// wait for each other, hold locks, be anywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sched/narrator.hpp"
#include "sched/simulator.hpp"
#include "sim/search.hpp"
#include <weft/testing.hpp>

namespace weft::detail {

using testing::ExploreOptions;
using testing::Fault;
using testing::Simulation;
using testing::Verdict;

// One fiber's turn in a trace.
struct Turn {
  std::uint64_t number = 0;
  std::string name;
  std::string what;
};

struct Trial {
  Verdict verdict = Verdict::passed;
  std::string what;
  std::string reason;  // which check(), exception, or line of a test
  std::vector<std::string> waiting;
  std::vector<Turn> turns;  // if traced
  std::vector<std::uint32_t> ranks;
  std::uint64_t hash = 0;
  bool diverged = false;  // from what the search knew of it

  // The same kind of failure, for the same reason.
  bool same_as(const Trial& other) const {
    return verdict == other.verdict && reason == other.reason;
  }
};

class Explorer final : public sched::Chooser {
 public:
  using Body = std::function<void(Simulation&)>;

  Explorer(const ExploreOptions& options, const Body& body);
  ~Explorer() override;
  Explorer(const Explorer&) = delete;
  Explorer& operator=(const Explorer&) = delete;

  // The thread of the explorer. One schedule.
  [[nodiscard]] Trial run(sim::Search& search, bool traced = false);
  [[nodiscard]] Trial run_again(const std::vector<std::uint32_t>& ranks,
                                bool traced = false);
  // The same failure with fewer choices that are not 0, if that can be.
  [[nodiscard]] Trial minimized(Trial failed);
  [[nodiscard]] std::string text_of(const std::vector<std::uint32_t>& ranks);

  // Faults that were asked for and could not happen anywhere, a bit for each.
  [[nodiscard]] unsigned untried() const noexcept { return untried_; }

  // ---- For Simulation, on its fibers.

  std::uint64_t choose_number(std::uint64_t below);
  void fail_check(const char* what);
  void fail_next(Fault fault, std::uint64_t after) {
    pending_.push_back({fault, after});
  }
  sched::Simulator& simulator();
  void check_thread();

  // ---- Chooser

  std::size_t choose(const sched::Candidates& all) noexcept override;
  bool stops() noexcept override { return true; }
  bool injects(Fault fault, const sched::Fiber* to) noexcept override;
  void goes_on(const sched::Candidate& chosen) noexcept override;
  void went(std::uint64_t number,
            const sched::Footprint& touched) noexcept override {
    search_->went(number, touched);
  }
  void stuck() noexcept override;

 private:
  struct World;
  struct Pending {
    Fault fault;
    std::uint64_t after;
  };

  sched::Scheduler& scheduler();
  void make_world();
  void abandon_world() noexcept;
  void run_body();
  void fail(Verdict verdict, std::string what, std::string reason = {});
  void check_end();
  [[nodiscard]] bool failed() const {
    return trial_.verdict != Verdict::passed;
  }
  Trial with_less(Trial failed);
  Trial fewest(Trial failed);
  std::size_t pick(const sim::Choice& choice);
  bool is_spared(Fault fault, const sched::Fiber* to);
  void trace_fault(Fault fault, const sched::Fiber* to);

  const ExploreOptions& options_;
  const Body& body_;
  const unsigned workers_;
  unsigned fault_mask_ = 0;
  unsigned untried_ = 0;  // of those, had no chance so far
  sim::Search* search_ = nullptr;
  Trial trial_;
  bool traced_ = false;
  unsigned faults_ = 0;  // injected so far
  std::vector<Pending> pending_;
  std::uint64_t last_ = 0;  // the fiber that ran last
  // Reused from choice to choice.
  std::vector<sched::Candidate> sorted_;
  std::vector<std::size_t> order_;
  std::vector<sim::Option> options_of_choice_;
  std::optional<sched::Narrator> narrator_;
  std::unique_ptr<World> world_;  // goes first: it may run fibers
};

}  // namespace weft::detail
