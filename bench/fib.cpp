// fib.cpp: how fine may the pieces of a recursive computation be?
#include <array>
#include <cstdint>
#include <numeric>

#include "harness.hpp"

namespace {

[[gnu::noinline]] std::int64_t sequential(std::int64_t n) {
  return n < 2 ? n : sequential(n - 1) + sequential(n - 2);
}

// One child per call for the larger half; 1.35 million spawns for fib(30)
// without cutoff.
std::int64_t fib(std::int64_t n, std::int64_t cutoff) {
  if (n < cutoff) return sequential(n);
  weft::Nursery nursery;
  auto a = nursery.spawn(fib, n - 1, cutoff);
  const std::int64_t b = fib(n - 2, cutoff);
  return *a.join() + b;
}

bench::Outcome run(const bench::Options& options, std::int64_t cutoff) {
  std::int64_t result = 0;
  auto outcome = bench::in_runtime(options.workers, [&] {
    return bench::total([&] { result = fib(options.n, cutoff); });
  });
  bench::check(result == sequential(options.n), "fib");
  return outcome;
}

// A tree of ten children each: 1.1 million fibers for a million leaves.
std::int64_t tree(std::int64_t first, std::int64_t size) {
  if (size == 1) return first;
  std::array<std::int64_t, 10> sums{};
  const auto part = size / static_cast<std::int64_t>(sums.size());
  weft::Nursery nursery;
  for (auto& sum : sums) {
    nursery.spawn([&sum, first, part] { sum = tree(first, part); });
    first += part;
  }
  nursery.join().value();
  return std::accumulate(sums.begin(), sums.end(), std::int64_t{0});
}

bench::Outcome skynet(const bench::Options& options) {
  std::int64_t sum = 0;
  auto outcome = bench::in_runtime(options.workers, [&] {
    return bench::total([&] { sum = tree(0, options.n); });
  });
  bench::check(sum == options.n * (options.n - 1) / 2, "the sum of all");
  return outcome;
}

const bench::Register kFine({
    .name = "fib30",
    .question = "fib(30), a fiber for each call: ms",
    .usual_n = 30,
    .run = [](const bench::Options& options) { return run(options, 2); },
    .most_n = 40,
});
const bench::Register kCoarse({
    .name = "fib30_cut12",
    .question = "fib(30), sequential below 12: ms",
    .usual_n = 30,
    .run = [](const bench::Options& options) { return run(options, 12); },
    .most_n = 45,
});
const bench::Register kTree({
    .name = "skynet_join",
    .question = "a million fibers in a tree, sums by joins: ms",
    .usual_n = 1'000'000,
    .run = skynet,
});

}  // namespace
