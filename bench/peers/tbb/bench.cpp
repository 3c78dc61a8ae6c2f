// oneTBB peer: fork-join only, as a task library has no fibers to park.
//   tbb_bench <bench> <workers> [n]
#include <oneapi/tbb.h>

#include "../common/peer.hpp"

namespace {

using peer::fib_seq;
using peer::i64;
using peer::Run;

i64 fib(i64 n, i64 cutoff) {
  if (n < cutoff) return fib_seq(n);
  i64 a = 0;
  tbb::task_group group;
  group.run([&a, n, cutoff] { a = fib(n - 1, cutoff); });
  i64 b = fib(n - 2, cutoff);
  group.wait();
  return a + b;
}
void fib_bench(const Run& run, i64 cutoff) {
  i64 n = run.count(30), result = 0;
  peer::total(run, n, [&] { result = fib(n, cutoff); });
  peer::check(result == fib_seq(n), "fib");
}

i64 skynet(i64 number, i64 size) {  // no channels: sums go by reference
  if (size == 1) return number;
  i64 sums[10];
  tbb::task_group group;
  for (int i = 0; i < 10; ++i)
    group.run([&sums, i, number, size] {
      sums[i] = skynet(number + i * (size / 10), size / 10);
    });
  group.wait();
  i64 sum = 0;
  for (i64 part : sums) sum += part;
  return sum;
}
void skynet_bench(const Run& run) {
  i64 n = run.count(1'000'000), sum = 0;
  peer::total(run, n, [&] { sum = skynet(0, n); });
  peer::check(sum == n * (n - 1) / 2, "sum");
}

void spawn_join(const Run& run) {
  i64 n = run.count(1'000'000);
  peer::per_op(run, n, n, [&] {
    for (i64 batch = 0; batch < n / 1000; ++batch) {
      tbb::task_group group;
      for (int i = 0; i < 1000; ++i) group.run([] {});
      group.wait();
    }
  });
}

const peer::Table kTable = {
    {"spawn_join", spawn_join},
    {"skynet_join", skynet_bench},
    {"fib30", [](const Run& run) { fib_bench(run, 2); }},
    {"fib30_cut12", [](const Run& run) { fib_bench(run, 12); }},
};

}  // namespace

int main(int argc, char** argv) {
  Run run = peer::parse(argc, argv, "tbb", kTable);
  tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                            static_cast<std::size_t>(run.workers));
  tbb::parallel_for(0, 1000, [](int) {});  // start the workers before timing
  kTable.at(run.bench)(run);
}
