// simulator.hpp: virtual workers on one thread, in virtual time.
//
// The thread that started the runtime is the loop of all its workers: it picks
// one fiber at a time, lets it run until it parks, yields, ends or comes to a
// place where it may be stopped (interleave.hpp), and picks again. Whenever
// that thread would sleep, fibers run instead. When nobody can run, the clock
// jumps to the next deadline; when all who can do nothing but yield, it moves
// on bit by bit, so that polling comes to an end. Nothing depends on the
// system's scheduler, its clock or an address, so the same choices give the
// same order.
//
// The workers' own queues take what is made runnable, as ever; before each step
// the simulator empties them, so all can be chosen. As many fibers as there are
// workers can be in the middle of their run.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/rng.hpp"
#include "fiber/fiber.hpp"
#include "sched/footprint.hpp"
#include "sched/foreign_locks.hpp"
#include "sched/interleave.hpp"
#include "stack/overflow.hpp"
#include <weft/detail/fault.hpp>

namespace weft::sched {

using testing::Fault;
class Scheduler;
class Worker;

// Whether a wait that nobody ended would be over if somebody looked.
struct Recheck {
  bool (*ready)(void* what) noexcept = nullptr;  // may take what it finds
  void* what = nullptr;
  [[nodiscard]] bool is_over() const noexcept {
    return ready != nullptr && ready(what);
  }
};

// A fiber that could go on.
struct Candidate {
  Fiber* fiber = nullptr;
  std::uint64_t number = 0;  // of the fiber, in the order of the spawns, from 1
  Op op = Op::begin;         // what it was about to do, or waited for
  const void* object = nullptr;
  std::uint64_t yielded = 0;  // not since: the step that ended with its yield
  bool stopped = false;       // in the middle of its run
};

// Those who could go on; at least one.
class Candidates {
 public:
  [[nodiscard]] std::size_t size() const noexcept {
    return fixed_.size() + (any_free_ ? ready_.size() : 0);
  }
  [[nodiscard]] Candidate operator[](std::size_t index) const noexcept;

 private:
  friend class Simulator;
  const class Simulator* simulator_ = nullptr;
  std::vector<Fiber*> fixed_;  // stopped, or pinned to a worker that is free
  std::size_t stopped_ = 0;    // of those
  std::vector<Fiber*> ready_;  // for any worker
  bool any_free_ = true;
};

// Who decides. On the thread of the simulator.
class Chooser {
 public:
  virtual ~Chooser() = default;
  // The index of the one that goes on, of at least two.
  [[nodiscard]] virtual std::size_t choose(const Candidates& all) noexcept = 0;
  // May the running fiber be stopped where it is?
  [[nodiscard]] virtual bool stops() noexcept = 0;
  // Does it happen to this fiber now? nullptr: to nobody in particular.
  [[nodiscard]] virtual bool injects(Fault /*fault*/,
                                     const Fiber* /*to*/) noexcept {
    return false;
  }
  // This one goes on now; and then: what its step touched. 0: time passed.
  virtual void goes_on(const Candidate& /*chosen*/) noexcept {}
  virtual void went(std::uint64_t /*number*/,
                    const Footprint& /*touched*/) noexcept {}
  // Nobody can go on and no deadline is pending. Whoever waits for the
  // simulator must not wait any longer, or this does not return.
  virtual void stuck() noexcept = 0;
};

// The same seed, the same choices. Dies if nobody can go on.
class SeededChooser final : public Chooser {
 public:
  SeededChooser(std::uint64_t seed, const Scheduler& scheduler) noexcept
      : seed_(seed), rng_(seed), scheduler_(scheduler) {}
  std::size_t choose(const Candidates& all) noexcept override {
    return rng_.below(static_cast<std::uint32_t>(all.size()));
  }
  bool stops() noexcept override { return rng_.below(2) == 0; }
  void stuck() noexcept override;

 private:
  const std::uint64_t seed_;
  base::Rng rng_;
  const Scheduler& scheduler_;
};

class Simulator {
 public:
  Simulator(Scheduler& scheduler, Chooser& chooser);
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;
  ~Simulator() { detach(); }

  // The one whose thread this is, or nullptr.
  static Simulator* here() noexcept;
  // Its thread is an ordinary one again; its fibers stay as they are.
  void detach() noexcept;
  // How many std mutexes its thread held when it began to run fibers.
  std::size_t outer_locks() const noexcept { return outer_locks_; }

  // The thread of the simulator, not a fiber. Runs fibers until done(). False:
  // not by then, in virtual time.
  template <typename Done>
  bool run_until(std::int64_t until, Done&& done) {
    outer_locks_ = count_foreign_locks();
    while (!done()) {
      if (now_ >= until) return false;
      if (!step(until)) chooser_->stuck();
    }
    return true;
  }

  // ---- Fibers of the runtime, or its thread.

  void interleave(Carrier& here, Op op, const void* object) noexcept;
  void yield(Carrier& here) noexcept;
  // The step that runs conflicts with every other.
  void touch_all() noexcept { footprint_.add_all(); }
  // What the current fiber is about to wait for, until it says something else.
  void note(Op op, const void* object, Recheck recheck = {}) noexcept;
  // What reports call the object until it goes; else it has a number.
  void call(const void* object, std::string what);
  void forget(const void* object) noexcept { called_.erase(object); }
  [[nodiscard]] const std::string* what_is(const void* object) const noexcept;
  // Does it happen to this fiber now?
  [[nodiscard]] bool injects(Fault fault, const Fiber& to) noexcept {
    return chooser_->injects(fault, &to);
  }

  // ---- Fibers of the runtime.

  // Goes on when every other fiber waits or has ended, before time passes.
  void yield_to_all() noexcept;
  // Does not go on.
  [[noreturn]] void stop_for_good() noexcept;

  // ---- Its thread.

  std::int64_t now() const noexcept { return now_; }
  // Changes with every choice: equal runs have equal ones.
  std::uint64_t order_hash() const noexcept { return order_hash_; }
  // A lot, drawn for the fiber that runs: equal runs draw equal ones.
  std::uint64_t draw() noexcept {
    return base::Rng(order_hash_ ^ ++lots_).next();
  }
  std::uint64_t steps() const noexcept { return steps_; }
  // In the order of the spawns since the last restart, from 1.
  [[nodiscard]] std::uint64_t number_of(const Fiber& fiber) const noexcept;
  // With no fiber left: how many a Task still holds.
  [[nodiscard]] std::size_t held() const noexcept;
  // Calls visit(candidate, recheck) for each fiber that waits.
  template <typename Visit>
  void for_each_waiting(Visit&& visit) noexcept {
    for (std::size_t i = 0; i < records_.size(); ++i) {
      const auto [fiber, recheck] = waiting(i);
      if (fiber != nullptr) visit(describe(*fiber, false), recheck);
    }
  }
  // Between two runs, with no fiber left: as if nothing had run.
  void restart(Chooser& chooser) noexcept;

 private:
  friend class Candidates;
  static constexpr std::int64_t kEpoch = 1'000'000'000;
  static constexpr std::uint64_t kPollsToATick = 64;

  struct Record {  // of a fiber, by number
    Fiber* fiber = nullptr;
    Op op = Op::begin;
    const void* object = nullptr;
    Recheck recheck;
    Footprint next;  // of what it is about to do
    std::uint64_t yielded = 0;
    bool patient = false;
  };

  bool step(std::int64_t until) noexcept;
  std::size_t collect() noexcept;
  void poll_timers() noexcept;
  bool find_candidates() noexcept;
  bool tick(std::int64_t until) noexcept;
  bool pass_time(std::int64_t until) noexcept;
  std::int64_t next_deadline() const noexcept;
  void run(std::size_t index) noexcept;
  Worker& worker_for(const Candidate& chosen) noexcept;
  Record& record_of(Fiber& fiber) noexcept;
  Footprint::Name name_of(const void* object);
  void touch(Footprint& by, Op op, const void* object);
  [[nodiscard]] bool is_crowded() const noexcept;
  struct Waiting {
    Fiber* fiber;  // nullptr: it does not wait
    Recheck recheck;
  };
  Waiting waiting(std::size_t index) const noexcept;
  [[nodiscard]] bool is_in_use(std::size_t index) const noexcept;
  Candidate describe(Fiber& fiber, bool stopped) const noexcept;

  Scheduler& scheduler_;
  Chooser* chooser_;
  stack::SignalStack signal_stack_;
  Carrier* thread_;              // nullptr: detached
  std::vector<Fiber*> stopped_;  // one per worker, or nullptr
  std::vector<Fiber*> pinned_;   // could go on, on their workers
  std::vector<Fiber*> patient_;  // could go on, behind all others
  std::vector<Fiber*> arrived_;  // since the last look
  Candidates candidates_;
  Footprint footprint_;  // of the step that runs
  std::unordered_map<const void*, std::uint64_t> names_;  // of objects
  std::unordered_map<const void*, std::string> called_;   // by the user
  std::vector<Record> records_;
  std::uint64_t first_number_ = 0;
  std::int64_t now_ = kEpoch;
  std::uint64_t order_hash_ = 0;
  std::uint64_t lots_ = 0;  // how many were drawn
  std::uint64_t steps_ = 0;
  std::uint64_t polls_ = 0;  // steps since one did something else than yield
  std::uint64_t ticks_ = 0;  // and how often time passed meanwhile
  std::size_t outer_locks_ = 0;
};

}  // namespace weft::sched
