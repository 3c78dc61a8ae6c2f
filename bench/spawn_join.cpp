// spawn_join.cpp: what does it cost to start a fiber and wait for its end?
#include <algorithm>

#include "harness.hpp"

namespace {

constexpr std::int64_t kBatch = 1000;

bench::Outcome spawn_join(const bench::Options& options) {
  return bench::in_runtime(options.workers, [&options] {
    return bench::per_op(options.n, [&options] {
      for (std::int64_t left = options.n; left > 0; left -= kBatch) {
        weft::Nursery nursery;
        for (std::int64_t i = std::min(left, kBatch); i > 0; --i) {
          nursery.spawn([] {});
        }
        nursery.join().value();
      }
    });
  });
}

const bench::Register kSpawnJoin({
    .name = "spawn_join",
    .question = "a fiber spawns and joins empty fibers: ns per fiber",
    .usual_n = 1'000'000,
    .run = spawn_join,
});

}  // namespace
