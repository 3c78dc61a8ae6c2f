// spawn_to_run.cpp: how soon does an idle runtime start what a thread spawns?
#include <time.h>

#include "harness.hpp"

namespace {

void doze(long ns) {
  const timespec pause{0, ns};
  nanosleep(&pause, nullptr);
}

bench::Outcome spawn_to_run(const bench::Options& options) {
  auto runtime = weft::Runtime::start({.workers = options.workers}).value();
  std::vector<std::int64_t> waited;
  const double cpu = bench::cpu_ms();
  for (std::int64_t i = 0; i < options.n; ++i) {
    doze(2'000'000);  // the workers fall asleep
    bench::Clock::time_point start;
    weft::Nursery nursery(runtime);
    const auto pushed = bench::Clock::now();
    nursery.spawn([&start] { start = bench::Clock::now(); });
    nursery.join().value();
    waited.push_back(bench::ns_between(pushed, start));
  }
  bench::Outcome outcome = bench::percentiles(waited, "");
  outcome.cpu_ms = bench::cpu_ms() - cpu;
  return outcome;
}

const bench::Register kSpawnToRun({
    .name = "spawn_to_run",
    .question = "from spawn on an idle runtime to the first instruction: us",
    .usual_n = 500,
    .run = spawn_to_run,
    .usual_workers = 2,
});

}  // namespace
