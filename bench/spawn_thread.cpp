// spawn_thread.cpp: what does a fiber cost that a plain thread starts?
#include <algorithm>

#include "harness.hpp"

namespace {

constexpr std::int64_t kBatch = 1000;

bench::Outcome spawn_thread(const bench::Options& options) {
  auto runtime = weft::Runtime::start({.workers = options.workers}).value();
  return bench::per_op(options.n, [&] {
    for (std::int64_t left = options.n; left > 0; left -= kBatch) {
      weft::Nursery nursery(runtime);
      for (std::int64_t i = std::min(left, kBatch); i > 0; --i) {
        nursery.spawn([] {});
      }
      nursery.join().value();
    }
  });
}

const bench::Register kSpawnThread({
    .name = "spawn_thread",
    .question = "a plain thread spawns and joins empty fibers: ns per fiber",
    .usual_n = 1'000'000,
    .run = spawn_thread,
});

}  // namespace
