// program.hpp: what a model is made of, and what checking it gives.
//
//   const Report report = model::explore({}, [](model::Program& p) {
//     auto& flag = p.make<Atomic<bool>>("flag", false);
//     p.thread("setter", [&] { flag.store(true, release); });
//     p.thread("waiter", [&] { while (!flag.load(acquire)) pause(); });
//   });
//
// The function is called once for each execution. It builds the objects, which
// live until the execution ends, and names the threads; these run after it
// returned. All objects that threads share must come from make().
//
// A model must be the same each time but for what the threads read: no clocks,
// no random numbers. An execution that the checker gives up is left where it
// stands: its threads run no destructors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/model_seam.hpp"
#include "checker/mutation.hpp"

namespace weft::model {

class Program {
 public:
  using Body = std::function<void()>;

  template <typename T, typename... Arguments>
  T& make(std::string name, Arguments&&... arguments) {
    auto object = std::make_shared<T>(std::forward<Arguments>(arguments)...);
    names_.push_back({object.get(), sizeof(T), std::move(name)});
    objects_.push_back(object);
    return *object;
  }
  void thread(std::string name, Body body) {
    threads_.push_back({std::move(name), std::move(body)});
  }
  // Runs after all threads, and has seen what they did.
  void finally(Body body) { finally_ = std::move(body); }

 private:
  friend class Explorer;
  friend class Printer;
  struct Thread {
    std::string name;
    Body body;
  };
  struct Name {
    const void* address;
    std::size_t size;
    std::string text;
  };

  std::vector<Thread> threads_;
  Body finally_;
  std::vector<Name> names_;
  std::vector<std::shared_ptr<void>> objects_;
};

// Where a program used an atomic.
enum class SiteKind : std::uint8_t { load, store, change };
struct UsedSite {
  base::Site site;
  SiteKind kind = SiteKind::load;
  std::memory_order order = std::memory_order_seq_cst;
  bool on_failure = false;  // the second order of a compare-exchange
};

struct Options {
  int max_steps = 1000;              // of one execution
  std::uint64_t max_executions = 0;  // 0: no limit
  double max_seconds = 0;            // 0: no limit
  // How often a thread may be left though it could go on; 0: no limit. With a
  // limit the search is no proof.
  int preemptions = 0;
  int spurious_failures = 1;  // of compare_exchange_weak, in one execution
  // How often in a row a thread may read the same store of a location that has
  // a later one; 0: no limit. For loops that look, write and look again, which
  // could else go on for ever. With a limit the search is no proof.
  int stale_reads = 0;
  bool deadlines = true;  // false: the deadline of a sleep never comes
  // So many calls of heavy_barrier() interrupt each thread, wherever it is; 0:
  // light stores are seq_cst, as where the kernel refuses membarrier.
  int heavy_barriers = 0;
  // So many times the same reads in a row are a loop that waits.
  int repeats = 3;
  const Mutation* mutation = nullptr;
  bool collect_sites = false;
  std::string replay = {};  // run this execution only, and print it
};

enum class Verdict : std::uint8_t {
  holds,
  failed,      // expect(), WEFT_ASSERT or WEFT_CHECK
  race,        // two uses of plain data, unordered
  deadlock,    // or a lost wake-up: nobody can go on
  leak,        // an object that a thread made and nobody ended
  too_long,    // more than max_steps
  incomplete,  // nothing found within max_executions or max_seconds
};
const char* to_string(Verdict verdict) noexcept;

struct Report {
  Verdict verdict = Verdict::holds;
  std::uint64_t executions = 0;  // complete ones
  std::uint64_t dropped = 0;     // found to be the same as others, on the way
  std::uint64_t steps = 0;       // of the longest execution
  std::uint64_t threads = 0;
  double seconds = 0;
  std::string what;             // what went wrong
  std::string trace;            // how, step by step
  std::string replay;           // for Options::replay
  bool fits = true;             // Options::replay is a path of this program
  std::uint64_t mutated = 0;    // how often the mutation was applied
  std::vector<UsedSite> sites;  // if asked for

  explicit operator bool() const noexcept { return verdict == Verdict::holds; }
};

// Runs every execution, until one fails.
Report explore(const Options& options,
               const std::function<void(Program&)>& build);

// In a model thread or in finally(). Ends the execution if it does not hold.
void expect(bool holds, const char* what,
            base::Site site = base::Site::current());
// In a model thread: what comes now is no repetition of what came before.
void progress();

namespace detail {
std::byte* begin_life(std::size_t size, std::string name);
void end_life(void* object, base::Site site);
}  // namespace detail

// In a model thread: an object that threads hand to each other and that one of
// them ends. Any use that nothing orders before the end fails the execution,
// and so does an object that is left.
template <typename T, typename... Arguments>
T& create(std::string name, Arguments&&... arguments) {
  return *::new (static_cast<void*>(detail::begin_life(
      sizeof(T), std::move(name)))) T(std::forward<Arguments>(arguments)...);
}
template <typename T>
void destroy(T& object, base::Site site = base::Site::current()) {
  object.~T();
  detail::end_life(&object, site);
}

}  // namespace weft::model
