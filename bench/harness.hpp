// harness.hpp: what every benchmark of weft-bench needs: a name in the list, a
// clock, and an outcome that becomes one JSON line per repetition.
//
// A file answers one question: it defines one or more functions that take
// Options and return an Outcome, and a static Register for each of them.
#pragma once

#include <cfenv>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <weft/weft.hpp>

namespace bench {

using Clock = std::chrono::steady_clock;

struct Options {
  unsigned workers = 1;
  std::int64_t n = 0;
};

// What one repetition found.
struct Outcome {
  std::string metric;  // what the value is, with its unit
  double value = 0;
  double cpu_ms = 0;
  std::vector<std::pair<std::string, double>> more = {};  // other fields
};

struct Benchmark {
  const char* name;
  const char* question;  // one line for --list
  std::int64_t usual_n;
  Outcome (*run)(const Options&);
  std::int64_t most_n = 1'000'000'000;
  unsigned usual_workers = 1;
  unsigned fewest_workers = 1;
};

// Static objects of this type make up the list.
struct Register {
  explicit Register(const Benchmark& benchmark);
};

// weft-bench's main(): parses the arguments, runs, prints. Exit status: 0 ok,
// 1 a benchmark could not run, 2 bad arguments, 3 a wrong result.
int main(int argc, char** argv);

// CPU time of this process so far.
double cpu_ms();
// Ends the process with status 3 if a benchmark computed nonsense.
void check(bool ok, const char* what);

inline std::int64_t ns_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(to - from)
      .count();
}
inline double ms_since(Clock::time_point start) {
  return static_cast<double>(ns_between(start, Clock::now())) / 1e6;
}

// `prefix`p50_us as the value, p99 and max beside it.
Outcome percentiles(std::vector<std::int64_t>& ns, const std::string& prefix);

// The wall and CPU milliseconds of body(). Sticky floating-point flags are
// cleared first, as in the peers: this file's own arithmetic sets them.
struct Elapsed {
  double ms = 0;
  double cpu_ms = 0;
};
template <typename F>
Elapsed timed(F&& body) {
  const double cpu = cpu_ms();
  std::feclearexcept(FE_ALL_EXCEPT);
  const auto start = Clock::now();
  std::forward<F>(body)();
  const double ms = ms_since(start);
  return {ms, cpu_ms() - cpu};
}
template <typename F>
Outcome per_op(std::int64_t ops, F&& body) {
  const Elapsed elapsed = timed(std::forward<F>(body));
  return {"ns_per_op", elapsed.ms * 1e6 / static_cast<double>(ops),
          elapsed.cpu_ms};
}
template <typename F>
Outcome total(F&& body) {
  const Elapsed elapsed = timed(std::forward<F>(body));
  return {"ms", elapsed.ms, elapsed.cpu_ms};
}

// Runs body() as the root fiber of a fresh runtime and returns what it does.
template <typename F>
auto in_runtime(unsigned workers, F&& body) {
  auto runtime = weft::Runtime::start({.workers = workers}).value();
  return runtime.run(std::forward<F>(body)).value();
}

// Until done() or the limit; for those who must keep their worker busy.
template <typename F>
bool spin_until(F&& done, std::chrono::nanoseconds limit) {
  const auto end = Clock::now() + limit;
  while (!done()) {
    if (Clock::now() >= end) return false;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  return true;
}

}  // namespace bench
