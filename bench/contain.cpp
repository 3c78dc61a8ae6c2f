// contain.cpp: what do hostile neighbours cost those who behave?
//
// A request comes every 200 us and is passed through a channel to another fiber
// and back; its latency counts from the moment it was due. Meanwhile a hostile
// program runs in a nursery of its own that has a budget, out of which it is
// recharged once it has run out, but no more often than every 10 ms. Where it
// computes the checks are the compiler's, as in a plugin that knows of none.
// The ratio is the median of rounds, of the worst program.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "check_cost.hpp"

namespace {

using weft::Budget, weft::Deadline, weft::Nursery;
using namespace std::chrono_literals;
namespace this_fiber = weft::this_fiber;

constexpr Budget kMeal{
    .ops = 50'000, .memory = 1u << 20, .spawn_count = 50, .channel_ops = 500};
// Of the nursery: a hundred meals. A round of 500 requests has time for ten.
constexpr Budget kPool{.ops = 5'000'000,
                       .memory = 100u << 20,
                       .spawn_count = 5'000,
                       .channel_ops = 50'000};

void compute_for_ever(Nursery& /*around*/) { bench::checked_spin(); }
void fork_for_ever(Nursery& around) {
  Nursery own;
  while (own.try_spawn({.budget = Budget{.ops = 100}}, bench::checked_spin)) {
  }
  compute_for_ever(around);
}
void allocate_for_ever(Nursery& around) {
  for (;;) (void)around.memory()->allocate(4096);
}
void flood_for_ever(Nursery& around) {
  auto [sender, receiver] = weft::make_channel<int>(64);
  while (sender.try_send(1).error().code() != weft::Errc::exhausted) {
  }
  compute_for_ever(around);
}

// Microseconds, sorted.
std::vector<double> latencies(std::int64_t requests) {
  auto [ask, asked] = weft::make_channel<int>(1);
  auto [answer, answered] = weft::make_channel<int>(1);
  Nursery nursery;
  nursery.spawn(
      [asked = std::move(asked), answer = std::move(answer)]() mutable {
        for (int request : asked) (void)answer.send(int{request});
      });
  std::vector<double> found;
  auto due = weft::Clock::now();
  for (std::int64_t i = 0; i < requests; ++i) {
    due += 200us;
    (void)this_fiber::sleep_until(Deadline(due));
    (void)ask.send(1);
    (void)answered.receive();
    const auto late = weft::Clock::now() - due;
    found.push_back(std::chrono::duration<double, std::micro>(late).count());
  }
  ask.close();
  (void)nursery.join();
  std::sort(found.begin(), found.end());
  return found;
}

double p99(const std::vector<double>& sorted) {
  return sorted[sorted.size() * 99 / 100];
}

double p99_beside(std::int64_t requests, void (*hostile)(Nursery&)) {
  Nursery outer;
  Nursery sandbox(this_fiber::runtime(), {.budget = kPool});
  sandbox.spawn({.budget = kMeal, .on_failure = weft::OnFailure::keep},
                [&] { hostile(sandbox); });
  std::atomic<bool> over{false};
  outer.spawn([&] {
    while (!over) {
      const auto hungry = sandbox.wait_exhausted(Deadline::after(5ms));
      if (!hungry) continue;
      (void)this_fiber::sleep_for(10ms);
      bench::check(sandbox.recharge(hungry->fiber, kMeal).has_value(),
                   "the pool lasts for a round: fewer requests (--n)");
    }
  });
  const auto found = latencies(requests);
  over = true;
  (void)outer.join();
  sandbox.cancel();
  (void)sandbox.join();
  return p99(found);
}

double median(std::vector<double> of) {
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::nth_element(of.begin(), middle, of.end());
  return *middle;
}

struct Hostile {
  const char* name;
  void (*run)(Nursery&);
  std::vector<double> p99 = {}, ratio = {};  // of each round
};

// Whatever else the machine does lasts for longer than a round: each compares
// with its own quiet.
bench::Outcome contain(const bench::Options& options) {
  constexpr std::int64_t kRounds = 21;
  return bench::in_runtime(options.workers, [&options] {
    const double cpu = bench::cpu_ms();
    const auto requests = std::max<std::int64_t>(options.n / kRounds, 1);
    Hostile all[] = {{"loop_p99_us", compute_for_ever},
                     {"forks_p99_us", fork_for_ever},
                     {"memory_p99_us", allocate_for_ever},
                     {"channel_p99_us", flood_for_ever}};
    std::vector<double> quiet;
    for (std::int64_t round = 0; round < kRounds; ++round) {
      quiet.push_back(p99(latencies(requests)));
      for (auto& one : all) {
        one.p99.push_back(p99_beside(requests, one.run));
        one.ratio.push_back(one.p99.back() / quiet.back());
      }
    }
    bench::Outcome outcome{"worst_ratio", 0, bench::cpu_ms() - cpu};
    outcome.more.emplace_back("quiet_p99_us", median(quiet));
    for (const auto& one : all) {
      outcome.value = std::max(outcome.value, median(one.ratio));
      outcome.more.emplace_back(one.name, median(one.p99));
    }
    return outcome;
  });
}

const bench::Register kContain({
    .name = "contain",
    .question = "p99 of a neighbour of hostile programs, against quiet",
    .usual_n = 10'500,
    .run = contain,
    .usual_workers = 2,
});

}  // namespace
