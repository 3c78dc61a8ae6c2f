// simulator.hpp: virtual workers on one thread, in virtual time.
//
// The thread that started the runtime is the loop of all its workers: it picks
// one fiber at a time, lets it run until it parks, yields, ends or comes to a
// point where it may be stopped, and picks again. Whenever that thread would
// sleep, fibers run instead. When nobody can run, the clock jumps to the next
// deadline. Nothing depends on the system's scheduler or clock, so the same
// choices give the same order.
//
// The workers' own queues take what is made runnable, as ever; after each step
// the simulator empties them into one list, so all can be chosen.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/rng.hpp"
#include "fiber/fiber.hpp"

namespace weft::sched {

using fiber::Fiber;
class Scheduler;
class Worker;

// A fiber that could go on.
struct Candidate {
  Fiber* fiber = nullptr;
  Worker* worker = nullptr;  // where it would
  bool stopped = false;      // at a point, in the middle of its run
  std::uint64_t number = 0;  // in the order in which fibers were first seen
};

// Who decides. On the thread of the simulator.
class Chooser {
 public:
  virtual ~Chooser() = default;
  // The index of the one that goes on; there is at least one.
  [[nodiscard]] virtual std::size_t choose(
      std::span<const Candidate> candidates) noexcept = 0;
  // May the running fiber be stopped at a point?
  [[nodiscard]] virtual bool stops() noexcept = 0;
  // Nobody can go on and no deadline is pending. All fibers are cancelled
  // afterwards, unless this does not return.
  virtual void stuck() noexcept = 0;
};

// The same seed, the same choices. Stops nobody; dies if nobody can go on.
class SeededChooser final : public Chooser {
 public:
  explicit SeededChooser(std::uint64_t seed) noexcept : rng_(seed) {}
  std::size_t choose(std::span<const Candidate> candidates) noexcept override {
    return rng_.below(static_cast<std::uint32_t>(candidates.size()));
  }
  bool stops() noexcept override { return false; }
  void stuck() noexcept override;

 private:
  base::Rng rng_;
};

class Simulator {
 public:
  Simulator(Scheduler& scheduler, Chooser& chooser) noexcept;
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;
  ~Simulator();

  // The one whose thread this is, or nullptr.
  static Simulator* here() noexcept;

  // The thread of the simulator, not a fiber. Runs fibers until done(). False:
  // not by then, in virtual time.
  template <typename Done>
  bool run_until(std::int64_t until, Done&& done) {
    while (!done()) {
      if (now_ >= until) return false;
      if (!step(until)) give_up();
    }
    return true;
  }

  // A fiber of the runtime: others may go on before it does.
  void pass() noexcept;
  // The same, and all others do, until each of them waits or has ended.
  void yield_to_all() noexcept;

  std::int64_t now() const noexcept { return now_; }
  // Changes with every choice: equal runs have equal ones.
  std::uint64_t order_hash() const noexcept { return order_hash_; }
  std::uint64_t steps() const noexcept { return steps_; }

  // Between two runs, with no fiber left: as if nothing had run.
  void restart(Chooser& chooser) noexcept;

 private:
  static constexpr std::int64_t kEpoch = 1'000'000'000;

  bool step(std::int64_t until) noexcept;
  void give_up() noexcept;
  void collect() noexcept;
  void find_candidates(bool patient) noexcept;
  std::uint64_t number_of(const Fiber& fiber);
  bool pass_time(std::int64_t until) noexcept;
  void run(const Candidate& chosen) noexcept;

  Scheduler& scheduler_;
  Chooser* chooser_;
  std::vector<Fiber*> runnable_;  // in the order in which they became so
  std::vector<Fiber*> stopped_;   // one per worker, or nullptr
  std::vector<Fiber*> patient_;   // in runnable_, and behind all others
  std::vector<Candidate> candidates_;
  std::unordered_map<std::uint64_t, std::uint64_t> numbers_;  // by id
  std::int64_t now_ = kEpoch;
  std::uint64_t order_hash_ = 0;
  std::uint64_t steps_ = 0;
  bool gave_up_ = false;
};

}  // namespace weft::sched
