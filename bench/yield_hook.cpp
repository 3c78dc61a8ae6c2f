// yield_hook.cpp: what do checks by the compiler cost, where nothing is metered
// and where it is? A program of its own: where such checks are linked, channels
// ask the library each time.
#include "check_cost.hpp"

namespace bench {

[[gnu::noinline]] WEFT_BENCH_LOOP(plain_loop)

}  // namespace bench

namespace {

using bench::kEnough;
using bench::ns_each;

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

const bench::Register kHook({
    .name = "yield_hook",
    .question = "a loop with checks by the compiler: ns per turn",
    .usual_n = 100'000'000,
    .run = hook,
});

}  // namespace
