// speedup.cpp: how much faster do more workers compute?
#include "harness.hpp"

namespace {

// Half a millisecond of work that no optimizer shortens.
[[gnu::noinline]] std::uint64_t compute(std::uint64_t seed) {
  for (int i = 0; i < 400'000; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
  }
  return seed;
}

bench::Elapsed batch(unsigned workers, std::int64_t n) {
  std::vector<std::uint64_t> results(static_cast<std::size_t>(n));
  return bench::in_runtime(workers, [&results] {
    return bench::timed([&results] {
      weft::Nursery nursery;
      for (std::uint64_t& mine : results) {
        nursery.spawn([&mine] { mine = compute(1); });
      }
      nursery.join().value();
    });
  });
}

// Efficiency: the time of one worker / (workers x the time of all of them).
bench::Outcome speedup(const bench::Options& options) {
  bench::Outcome outcome{"efficiency"};
  double one = 0;
  double all = 0;
  for (unsigned workers = 1; workers <= options.workers; ++workers) {
    const bench::Elapsed elapsed = batch(workers, options.n);
    if (workers == 1) one = elapsed.ms;
    all = elapsed.ms;
    outcome.cpu_ms += elapsed.cpu_ms;
    outcome.more.emplace_back("ms_" + std::to_string(workers), elapsed.ms);
  }
  outcome.value = one / (all * options.workers);
  outcome.more.emplace_back("speedup", one / all);
  return outcome;
}

const bench::Register kSpeedup({
    .name = "speedup",
    .question = "a CPU-bound batch on 1 to --workers workers: efficiency",
    .usual_n = 400,
    .run = speedup,
    .most_n = 1'000'000,
    .usual_workers = 2,
});

}  // namespace
