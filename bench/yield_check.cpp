// yield_check.cpp: what do checks cost, by hand and by the compiler, where
// nothing is metered and where it is?
#include <optional>

#include "checked_loop.hpp"
#include "harness.hpp"

namespace bench {

[[gnu::noinline]] WEFT_BENCH_LOOP(plain_loop)

}  // namespace bench

namespace {

// ns per turn of body(n), in a fiber with that budget.
template <typename F>
double ns_each(const bench::Options& options,
               std::optional<weft::Budget> budget, F&& body) {
  double ns = 0;
  weft::Nursery nursery;
  nursery.spawn({.budget = budget}, [&] {
    body(options.n / 10);  // warms up
    const auto start = bench::Clock::now();
    body(options.n);
    ns = bench::ms_since(start) * 1e6 / static_cast<double>(options.n);
  });
  nursery.join().value();
  return ns;
}

const weft::Budget kEnough{.ops = 4'000'000'000};

bench::Outcome checks(const bench::Options& options) {
  return bench::in_runtime(options.workers, [&options] {
    const auto by_hand = [](std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) weft::yield_check();
    };
    const auto in_batches = [](std::int64_t n) {
      std::int64_t i = 0;
      for (weft::LoopCheck check; i < n; check.turn()) {
        asm volatile("" : "+r"(i));
        ++i;
      }
    };
    const double cpu = bench::cpu_ms();
    const double unmetered = ns_each(options, {}, by_hand);
    return bench::Outcome{
        .metric = "unmetered_ns_per_check",
        .value = unmetered,
        .cpu_ms = bench::cpu_ms() - cpu,
        .more = {{"metered_ns_per_check", ns_each(options, kEnough, by_hand)},
                 {"unmetered_ns_per_turn", ns_each(options, {}, in_batches)},
                 {"metered_ns_per_turn",
                  ns_each(options, kEnough, in_batches)}},
    };
  });
}

bench::Outcome hook(const bench::Options& options) {
  return bench::in_runtime(options.workers, [&options] {
    const auto keep = [](std::uint64_t result) {
      bench::check(result != 0, "the loop ends with another number");
    };
    const auto plain = [&](std::int64_t n) { keep(bench::plain_loop(n)); };
    const auto checked = [&](std::int64_t n) { keep(bench::checked_loop(n)); };
    const double cpu = bench::cpu_ms();
    const double unmetered = ns_each(options, {}, checked);
    return bench::Outcome{
        .metric = "unmetered_ns_per_turn",
        .value = unmetered,
        .cpu_ms = bench::cpu_ms() - cpu,
        .more = {{"metered_ns_per_turn", ns_each(options, kEnough, checked)},
                 {"without_checks_ns_per_turn", ns_each(options, {}, plain)}},
    };
  });
}

const bench::Register kChecks({
    .name = "yield_check",
    .question = "a loop of checks, and one of LoopCheck turns: ns each",
    .usual_n = 100'000'000,
    .run = checks,
});
const bench::Register kHook({
    .name = "yield_hook",
    .question = "a loop with checks by the compiler: ns per turn",
    .usual_n = 100'000'000,
    .run = hook,
});

}  // namespace
