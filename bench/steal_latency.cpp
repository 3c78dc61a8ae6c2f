// steal_latency.cpp: how soon does another worker take a fiber from a busy one?
//
// The spawner never gives its worker up, so the child starts only when
// somebody steals it. Once with the others still searching, once after they got
// time to fall asleep: then the kernel's wake-up is part of it.
#include <atomic>

#include "harness.hpp"

namespace {

using namespace std::chrono_literals;

struct Measured {
  std::vector<std::int64_t> waited;
  double not_stolen = 0;
};

Measured measure(std::int64_t rounds, bench::Clock::duration gap) {
  Measured result;
  for (std::int64_t i = 0; i < rounds; ++i) {
    bench::spin_until([] { return false; }, gap);
    std::atomic<bool> started = false;
    bench::Clock::time_point start;
    weft::Nursery nursery;
    const auto pushed = bench::Clock::now();
    nursery.spawn([&] {
      start = bench::Clock::now();
      started = true;
    });
    if (bench::spin_until([&] { return started.load(); }, 100ms)) {
      result.waited.push_back(bench::ns_between(pushed, start));
    } else {
      ++result.not_stolen;
    }
    nursery.join().value();
  }
  return result;
}

bench::Outcome steal_latency(const bench::Options& options) {
  Measured searching;
  Measured asleep;
  const double cpu = bench::cpu_ms();
  bench::in_runtime(options.workers, [&] {
    searching = measure(options.n, 5us);
    asleep = measure(options.n, 200us);
  });
  bench::Outcome outcome = bench::percentiles(searching.waited, "");
  outcome.cpu_ms = bench::cpu_ms() - cpu;
  const bench::Outcome woken = bench::percentiles(asleep.waited, "asleep_");
  outcome.more.emplace_back("asleep_p50_us", woken.value);
  outcome.more.insert(outcome.more.end(), woken.more.begin(), woken.more.end());
  outcome.more.emplace_back("not_stolen",
                            searching.not_stolen + asleep.not_stolen);
  return outcome;
}

const bench::Register kStealLatency({
    .name = "steal_latency",
    .question = "from a busy worker's push to the start on another: us",
    .usual_n = 2000,
    .run = steal_latency,
    .usual_workers = 2,
    .fewest_workers = 2,
});

}  // namespace
