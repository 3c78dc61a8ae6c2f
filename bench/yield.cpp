// yield.cpp: what does it cost to let the other fiber run?
#include "harness.hpp"

namespace {

bench::Outcome yield(const bench::Options& options) {
  return bench::in_runtime(options.workers, [&options] {
    return bench::per_op(2 * options.n, [&options] {
      const auto body = [n = options.n] {
        for (std::int64_t i = 0; i < n; ++i) weft::this_fiber::yield();
      };
      weft::Nursery nursery;
      nursery.spawn(body);
      nursery.spawn(body);
      nursery.join().value();
    });
  });
}

const bench::Register kYield({
    .name = "yield",
    .question = "two fibers yield to each other: ns per switch",
    .usual_n = 2'000'000,
    .run = yield,
});

}  // namespace
