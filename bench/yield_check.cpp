// yield_check.cpp: what do checks by hand cost, where nothing is metered and
// where it is?
#include "check_cost.hpp"

namespace {

using bench::kEnough;
using bench::ns_each;

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

const bench::Register kChecks({
    .name = "yield_check",
    .question = "a loop of checks, and one of LoopCheck turns: ns each",
    .usual_n = 100'000'000,
    .run = checks,
});

}  // namespace
