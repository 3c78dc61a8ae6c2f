// runtime.hpp: the workers and everything they own; the one root of authority.
//
//   int main() {
//     return weft::run_main([](weft::Nursery& nursery) { … });
//   }
//
// No global: a Runtime is a value, several live side by side, and code inside a
// fiber reaches its own through the fiber (this_fiber::runtime()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/capability.hpp"
#include "weft/config.hpp"
#include "weft/detail/body.hpp"
#include "weft/nursery.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

struct WorkerStats {
  std::uint64_t dispatched = 0;      // fibers given the worker
  std::uint64_t spawned = 0;         // fibers created there
  std::uint64_t finished = 0;        // fibers that ended there
  std::uint64_t parked = 0;          // waits that left their stack
  std::uint64_t woken = 0;           // fibers made runnable by its end or clock
  std::uint64_t yielded = 0;         // yields that let another fiber run
  std::uint64_t in_place = 0;        // children run on their joiner's stack
  std::uint64_t handed_over = 0;     // joiners run right after their child
  std::uint64_t stolen = 0;          // fibers taken from other workers
  std::uint64_t steal_failures = 0;  // rounds over the victims, for nothing
  std::uint64_t sleeps = 0;          // times it went to sleep
  std::uint64_t timers = 0;          // deadlines that passed
};

struct Stats {
  std::vector<WorkerStats> workers;
  std::size_t fibers_live = 0;
  std::size_t stacks_mapped = 0;
  std::size_t stacks_in_use = 0;  // with fibers or kept at hand by workers
  std::size_t stack_bytes = 0;    // address space, most of it never touched
  Audit audit;                    // of capabilities
};

namespace detail {
class Explorer;
class RuntimeState;
}  // namespace detail

// A runtime somebody else owns. Copyable; dangles if the owner goes first.
class RuntimeRef {
 public:
  unsigned worker_count() const noexcept;
  const Config& config() const noexcept;
  Stats stats() const;
  bool running() const noexcept;  // false: stopped, spawns are refused
  Guard guard() const noexcept;   // the kind of stack guard in force

 private:
  friend class Runtime;
  friend class Nursery;
  friend class detail::Explorer;
  friend RuntimeRef this_fiber::runtime() noexcept;
  explicit RuntimeRef(void* scheduler) noexcept : scheduler_(scheduler) {}
  void* scheduler_;
};

class Runtime {
 public:
  //   Errors: invalid (config; the reason goes to stderr), exhausted, system
  //           (threads, memory).
  static Result<Runtime> start(const Config& config = {});

  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) noexcept;
  // As shutdown() with Config::shutdown_timeout, then waits for fibers that
  // ignore the cancel. Misuse from one of its own fibers.
  ~Runtime();

  // Runs body() or body(Nursery&) as a root fiber and waits for it and for all
  // it started. The way in for a plain thread, in profile sovereign, too: who
  // has the runtime has its authority.
  //
  //   Suspends:  until the whole tree has ended.
  //   Errors:    the body's; closed (runtime stopped); exhausted. Rethrows an
  //              exception.
  //   Callers:   any fiber or thread.
  template <typename F>
  auto run(F&& body) -> Result<typename detail::BodyOf<F>::type> {
    Nursery nursery(Nursery::ForRoot::yes, ref());
    auto task = nursery.spawn(std::forward<F>(body));
    // The root's failure is its task's. What it left behind, by destructors
    // that ran after its body, is the nursery's alone.
    const Status left = nursery.template join<detail::Panics>();
    auto result = task.join();
    if (result && !left) return left.error();
    return result;
  }

  // All capabilities of this runtime. The first caller gets them.
  //   Errors:   denied (somebody has them), exhausted (memory).
  //   Callers:  any fiber or thread.
  Result<Capabilities> authority() noexcept;

  // Waits until all fibers have ended, at most until the deadline, then
  // cancels what is left and waits for that. Immediate: stops admission and
  // cancels first.
  //
  //   Suspends:  until no fiber is left. Later calls return at once.
  //   Errors:    shutdown_now: timed_out (fibers ignored the cancel and still
  //              run; call again).
  //   Callers:   the owner, not a fiber of this runtime.
  Status shutdown(Deadline graceful_until);
  Status shutdown_now(Deadline deadline = Deadline::never());

  operator RuntimeRef() const noexcept { return ref(); }  // NOLINT: implicit
  RuntimeRef ref() const noexcept;

 private:
  friend class detail::Explorer;
  explicit Runtime(std::unique_ptr<detail::RuntimeState> state) noexcept;
  // A simulation that ends with fibers in the middle of their run: everything
  // stays as it is, for good.
  void abandon() noexcept;
  std::unique_ptr<detail::RuntimeState> state_;
};

// Starts a runtime, runs the body in it, stops it.
//   Errors: the body's; those of Config::from_env() and Runtime::start().
template <typename F>
auto run(const Config& config, F&& body)
    -> Result<typename detail::BodyOf<F>::type> {
  auto runtime = Runtime::start(config);
  if (!runtime) return runtime.error();
  return runtime->run(std::forward<F>(body));
}
template <typename F>
requires(!std::is_same_v<std::remove_cvref_t<F>, Config>) auto run(F&& body)
    -> Result<typename detail::BodyOf<F>::type> {
  auto config = Config::from_env();
  if (!config) return config.error();
  return run(*config, std::forward<F>(body));
}

namespace detail {
// Prints "weft: <error>" and answers 1.
int report_error(Error error) noexcept;
int report_exception(std::exception_ptr exception) noexcept;
}  // namespace detail

// run() for main(): prints an error or exception and returns 1; otherwise the
// body's int, or 0.
template <typename F>
int run_main(F&& body) {
  using T = typename detail::BodyOf<F>::type;
  const auto finish = [](Result<T>&& result) -> int {
    if (!result) return detail::report_error(result.error());
    if constexpr (std::is_convertible_v<T, int>) {
      return static_cast<int>(*result);
    } else {
      return 0;
    }
  };
  const auto config = Config::from_env();
  if (!config) return 1;  // it has said why
#if defined(__cpp_exceptions)
  try {
    return finish(run(*config, std::forward<F>(body)));
  } catch (...) {
    return detail::report_exception(std::current_exception());
  }
#else
  return finish(run(*config, std::forward<F>(body)));
#endif
}

}  // namespace weft
