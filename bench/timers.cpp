// timers.cpp: how late does a sleeping fiber wake up?
#include <random>

#include "harness.hpp"

namespace {

bench::Outcome timers(const bench::Options& options) {
  std::vector<std::int64_t> late(static_cast<std::size_t>(options.n));
  bench::Elapsed elapsed;
  bench::in_runtime(options.workers, [&late, &elapsed] {
    std::mt19937 rng(std::random_device{}());
    elapsed = bench::timed([&] {
      weft::Nursery nursery;
      for (std::int64_t& mine : late) {
        const std::chrono::microseconds delay(1000 + rng() % 99001);
        nursery.spawn([&mine, delay] {
          const auto asleep = bench::Clock::now();
          weft::this_fiber::sleep_for(delay).value();
          mine = bench::ns_between(asleep + delay, bench::Clock::now());
        });
      }
      nursery.join().value();
    });
  });
  bench::Outcome outcome = bench::percentiles(late, "late_");
  bench::check(late.front() >= 0, "a fiber woke up early");
  outcome.cpu_ms = elapsed.cpu_ms;
  outcome.more.emplace_back("elapsed_ms", elapsed.ms);
  return outcome;
}

const bench::Register kTimers({
    .name = "timers",
    .question = "100000 fibers sleep 1 to 100 ms: how late they wake, us",
    .usual_n = 100'000,
    .run = timers,
    .most_n = 100'000'000,
});

}  // namespace
