// explore.cpp: how many schedules of a small test can be tried?
#include "harness.hpp"
#include <weft/testing.hpp>

namespace {

using namespace weft::testing;

// Three fibers that add one each: a dozen choices, right in every order.
void three_fibers(Simulation& sim) {
  Atomic<int> sum{0};
  weft::Nursery nursery;
  for (int i = 0; i < 3; ++i) nursery.spawn([&sum] { sum.fetch_add(1); });
  nursery.join().value();
  sim.check(sum.load() == 3, "each adds one");
}

bench::Outcome explore_all(const bench::Options& options, Search search) {
  auto outcome = bench::per_op(options.n, [&] {
    const auto result = explore(
        {.search = search, .schedules = static_cast<std::uint64_t>(options.n)},
        three_fibers);
    bench::check(result && result.distinct > 1, "schedules that differ");
  });
  outcome.more.emplace_back("schedules_per_minute", 60e9 / outcome.value);
  return outcome;
}

const bench::Register kRandom({
    .name = "explore",
    .question = "explored schedules of three fibers, by lot: ns per schedule",
    .usual_n = 50'000,
    .run =
        [](const bench::Options& options) {
          return explore_all(options, Search::random);
        },
});
const bench::Register kPct({
    .name = "explore_pct",
    .question = "the same by priorities that change: ns per schedule",
    .usual_n = 50'000,
    .run =
        [](const bench::Options& options) {
          return explore_all(options, Search::pct);
        },
});

}  // namespace
