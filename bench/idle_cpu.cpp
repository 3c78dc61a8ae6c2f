// idle_cpu.cpp: what does a runtime cost that has nothing to do?
#include <sys/resource.h>
#include <time.h>

#include "harness.hpp"

namespace {

void doze(std::int64_t ms) {
  const timespec pause{ms / 1000, ms % 1000 * 1'000'000};
  nanosleep(&pause, nullptr);
}

double wakeups() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_nvcsw);
}

bench::Outcome idle_cpu(const bench::Options& options) {
  auto runtime = weft::Runtime::start({.workers = options.workers}).value();
  runtime.run([] {}).value();
  doze(50);  // whatever the workers try before they sleep
  const double woken = wakeups();
  const auto elapsed = bench::timed([&options] { doze(options.n); });
  return {"cpu_ms",
          elapsed.cpu_ms,
          elapsed.cpu_ms,
          {{"wakeups", wakeups() - woken}, {"elapsed_ms", elapsed.ms}}};
}

const bench::Register kIdleCpu({
    .name = "idle_cpu",
    .question = "CPU an idle runtime uses in n = 1000 ms: ms",
    .usual_n = 1000,
    .run = idle_cpu,
    .most_n = 600'000,
    .usual_workers = 2,
});

}  // namespace
