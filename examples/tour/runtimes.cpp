// runtimes.cpp: several runtimes, plain threads, and what the workers counted.
#include <array>
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "tour.hpp"

namespace tour {

void two_runtimes() {
  stop("two runtimes", "runtimes are values; a fiber may wait for another's");
  constexpr int kCalls = 1000;
  auto other = weft::Runtime::start({.name = "other", .workers = 1});
  if (!other) return tell(false, "no second runtime");
  const auto start = Clock::now();
  int sum = 0;
  for (int i = 0; i < kCalls; ++i) sum += other->run([i] { return i; }).value();
  const double took = since(start);
  tell(sum == kCalls * (kCalls - 1) / 2, "%d calls into it, %.1f us each",
       kCalls, took * 1e3 / kCalls);
}

void threads() {
  stop("threads", "plain threads spawn, wait and wake like fibers");
  constexpr int kThreads = 4;
  constexpr int kEach = 25'000 / kLess;
  Gate go;
  std::atomic<int> ran{0};
  Nursery nursery(this_fiber::runtime());
  std::vector<std::thread> crowd;
  for (int i = 0; i < kThreads; ++i) {
    crowd.emplace_back([&] {
      if (!go.pass()) return;  // a thread blocks; a fiber opens
      for (int k = 0; k < kEach; ++k) nursery.spawn([&ran] { ++ran; });
    });
  }
  const auto start = Clock::now();
  go.open();
  for (auto& thread : crowd) thread.join();
  const bool joined = nursery.join().has_value();
  const double took = since(start);
  tell(joined && ran == kThreads * kEach,
       "%d threads spawned %s fibers in %.0f ms: %.0f ns each", kThreads,
       grouped(ran.load()).c_str(), took, took * 1e6 / ran.load());
}

void statistics() {
  stop("statistics", "what the workers counted on this tour");
  const auto stats = this_fiber::runtime().stats();
  using Stats = weft::WorkerStats;
  struct Row {
    const char* name;
    std::uint64_t Stats::*count;
  };
  constexpr std::array kRows{
      Row{"dispatched", &Stats::dispatched}, Row{"spawned", &Stats::spawned},
      Row{"finished", &Stats::finished},     Row{"parked", &Stats::parked},
      Row{"woken", &Stats::woken},           Row{"yielded", &Stats::yielded},
      Row{"in place", &Stats::in_place},     Row{"stolen", &Stats::stolen},
      Row{"timers", &Stats::timers},         Row{"sleeps", &Stats::sleeps}};
  std::printf("    %-12s", "worker");
  for (std::size_t i = 0; i < stats.workers.size() && i < 6; ++i) {
    std::printf("%12zu", i);
  }
  for (const auto& row : kRows) {
    std::printf("\n    %-12s", row.name);
    for (std::size_t i = 0; i < stats.workers.size() && i < 6; ++i) {
      const auto count = static_cast<double>(stats.workers[i].*row.count);
      std::printf("%12s", grouped(count).c_str());
    }
  }
  std::printf("\n");
  tell(stats.fibers_live == 1,
       "%s stacks were made; this fiber is the only one left",
       grouped(static_cast<double>(stats.stacks_mapped)).c_str());
}

}  // namespace tour
