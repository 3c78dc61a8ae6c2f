// check_cost.hpp: what one turn of a loop costs a fiber, with a budget or none.
#pragma once

#include <cstdint>
#include <optional>

#include "harness.hpp"

namespace bench {

inline const weft::Budget kEnough{.ops = 4'000'000'000};

// ns per turn of body(n), in a fiber with that budget.
template <typename F>
double ns_each(const Options& options, std::optional<weft::Budget> budget,
               F&& body) {
  double ns = 0;
  weft::Nursery nursery;
  nursery.spawn({.budget = budget}, [&] {
    body(options.n / 10);  // warms up
    const auto start = Clock::now();
    body(options.n);
    ns = ms_since(start) * 1e6 / static_cast<double>(options.n);
  });
  nursery.join().value();
  return ns;
}

// One loop, compiled with checks by the compiler and without: a multiplication
// a turn, in one block.
#define WEFT_BENCH_LOOP(name)                              \
  std::uint64_t name(std::int64_t turns) {                 \
    std::uint64_t x = 1;                                   \
    for (std::int64_t i = 0; i < turns; ++i) {             \
      x = x * 6364136223846793005u + 1442695040888963407u; \
    }                                                      \
    return x;                                              \
  }

std::uint64_t checked_loop(std::int64_t turns);
std::uint64_t plain_loop(std::int64_t turns);
[[noreturn]] void checked_spin();

}  // namespace bench
