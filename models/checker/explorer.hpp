// explorer.hpp: runs a program once for every execution that can differ.
//
// Each strand runs until its next operation on an atomic, which it leaves as
// its Pending; the explorer decides what happens and lets it go on.
//
// Two executions are the same if they have the same graph (graph.hpp): the
// order in which unrelated steps were taken makes no difference. So:
//
//   X1  A store waits for nobody: it is taken at once. Where it goes in the
//       modification order is a choice of its own.
//   X2  A load may read what is there now, or wait for a store that is not
//       there yet. Once the first was explored, the strand is passed over: it
//       may read only stores that are added later (`since`). If none comes, the
//       execution is dropped: what it would be was explored already.
//
// X1 and X2 are sleep sets whose entries are single choices. No complete graph
// is built twice.
//
// Waiting: at pause(), or after reading the same stores at the same places
// `repeats` times, a strand waits until one of the words that it read has a
// later store. If it then reads the same all over again, the execution is
// dropped: another one went on without that round.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/model_seam.hpp"
#include "checker/choices.hpp"
#include "checker/graph.hpp"
#include "checker/lifetimes.hpp"
#include "checker/program.hpp"
#include "checker/races.hpp"
#include "checker/strand.hpp"
#include "sched/carrier.hpp"

namespace weft::model {

enum class What : std::uint8_t {
  none,
  load,
  store,
  change,
  compare,
  spin,     // waits for a later store
  sleep,    // waits for a futex_wake()
  barrier,  // waits until all others have passed one
};

struct Pending {
  What what = What::none;
  Access access = {};
  Order failure = std::memory_order_relaxed;
  base::Change change = base::Change::exchange;
  bool weak = false;
  bool skip = false;     // by a mutation
  bool answers = false;  // a heavy barrier of another thread
  std::uint64_t operand = 0;
  std::uint64_t expected = 0;
  // The answer.
  std::uint64_t result = 0;
  bool success = false;
};

// A line of the trace.
struct Step {
  int thread = 0;
  int event = kNoEvent;
  const void* address = nullptr;  // of plain data
  const char* text = nullptr;
  Site site = {};
};

class Explorer final : public base::ModelSeam {
 public:
  Explorer(const Options& options, const std::function<void(Program&)>& build)
      : options_(options), build_(build) {}

  Report explore();

  // What strands call.
  void created(base::ModelWord word) noexcept override;
  std::uint64_t load(base::ModelWord word, Order order,
                     Site site) noexcept override;
  void store(base::ModelWord word, std::uint64_t bits, Order order,
             Site site) noexcept override;
  std::uint64_t change(base::ModelWord word, base::Change what,
                       std::uint64_t operand, Order order,
                       Site site) noexcept override;
  bool compare_exchange(base::ModelWord word, std::uint64_t& expected,
                        std::uint64_t desired, Order success, Order failure,
                        bool weak, Site site) noexcept override;
  void plain(const void* address, bool writes, Site site) noexcept override;
  void pause(Site site) noexcept override;
  void futex_wait(base::ModelWord word, std::uint32_t expected,
                  bool has_deadline) noexcept override;
  void futex_wake(base::ModelWord word, int count) noexcept override;
  bool has_heavy_barriers() const noexcept override {
    return options_.heavy_barriers != 0;
  }
  void heavy_barrier(Site site) noexcept override;
  [[noreturn]] void fail(const char* file, int line,
                         const char* text) noexcept override;
  void progress() noexcept;
  std::byte* begin_life(std::size_t size, std::string name);
  void end_life(void* object, Site site);

 private:
  struct Read {
    int location;
    int store;
    const char* file;
    unsigned line;
    unsigned column;
    bool operator==(const Read&) const = default;
  };
  struct Thread {
    Strand strand;
    sched::Carrier* carrier = nullptr;  // its thread-local, while others run
    Pending pending;
    int since = 0;  // reads only stores from this event on: X2
    bool woken = false;
    bool sleeps_until = false;     // a deadline: never stuck
    int answered = 0;              // heavy barriers, at a place of its choice
    int barrier = kNoEvent;        // the beginning of its own
    int let_others_at = kNoEvent;  // they may go on before they answer
    std::vector<Read> history;     // reads since the last write or pause
    std::vector<Read> cycle;       // what it read before it waited
    int floor_location = -1;       // there it reads what is later than
    int floor_store = kNoEvent;
    std::map<int, std::pair<int, int>> stale;  // by location: store, how often
    std::optional<Pending> late;  // a store that a mutation holds back
  };
  struct Option {
    int store;
    bool spurious;
  };

  // explorer.cpp: on the explorer's stack
  void run();
  void run_threads();
  void run_finally();
  void resume(int id);
  bool take_immediate();
  bool take_read();
  bool can_go_on(const Thread& thread) const;
  bool has_answered(int id, int barrier) const;
  bool is_wanted(int id) const;
  bool barrier_may_end(int caller);
  void answer_for(int id);
  int last_event(int id) const;
  bool too_stale(const Thread& thread, int location, int store) const;
  std::vector<Option>& options_of(int id);
  void perform_store(int id);
  void perform_read(int id, Option option);
  void end(Verdict verdict, std::string what);
  void report_stuck();
  bool limits_reached(double seconds) const {
    return (options_.max_executions != 0 &&
            report_.executions >= options_.max_executions) ||
           (options_.max_seconds > 0 && seconds >= options_.max_seconds);
  }
  std::string trace() const;

  // seam.cpp: on the stack of a strand
  Thread& self() { return threads_[static_cast<std::size_t>(current_)]; }
  std::uint64_t post(Pending pending);
  void catch_up();
  void check_alive(const void* address);
  void check_made(int location);
  std::optional<std::uint64_t> known_value(int location) const;
  std::uint64_t keep(std::uint64_t known, Site site);
  std::string name_of(int thread) const;
  [[noreturn]] void abandon();
  Access access_to(base::ModelWord word, Order order, Site site);
  bool mutates(const Site& site);
  void use(const Site& site, SiteKind kind, Order order, bool on_failure);
  void wait_for_change(std::vector<Read> reads, Site site);
  void wait_if_repeating(Site site);
  void answer_if_chosen(Site site);
  int barrier_word();
  void note(const char* text, Site site);

  const Options& options_;
  const std::function<void(Program&)>& build_;

  Choices choices_;
  Report report_;
  std::unordered_map<std::string, bool> mutated_sites_;
  std::unordered_set<std::string> used_sites_;

  // of one execution
  Program* program_ = nullptr;
  Graph graph_;
  Races races_;
  Lifetimes lifetimes_;
  std::array<Thread, kMaxThreads> threads_;
  std::size_t count_ = 0;  // of threads
  std::map<const void*, std::vector<int>> sleepers_;
  std::vector<Step> steps_;
  std::vector<Option> option_buffer_;
  int current_ = -1;
  int last_ = -1;
  int preemptions_ = 0;
  int spurious_ = 0;
  int barriers_ = 0;
  bool ended_ = false;
  bool dropped_ = false;
};

}  // namespace weft::model
