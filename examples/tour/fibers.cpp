// fibers.cpp: how many, how fast, how late, and where.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "tour.hpp"

using namespace std::chrono_literals;

namespace tour {

namespace {

constexpr int kSpawned = 1'000'000 / kLess;
constexpr int kParked = 100'000 / kLess;
constexpr int kSleepers = 100'000 / kLess;
constexpr int kFib = kLess == 1 ? 30 : 20;

// A field of /proc/self/status, in bytes.
double process_bytes(const char* field) {
  double kilobytes = 0;
  if (std::FILE* file = std::fopen("/proc/self/status", "re")) {
    char line[256];
    while (std::fgets(line, sizeof line, file) != nullptr) {
      if (std::strncmp(line, field, std::strlen(field)) == 0) {
        kilobytes = std::atof(line + std::strlen(field) + 1);
      }
    }
    std::fclose(file);
  }
  return kilobytes * 1024;
}

// Spawns `count` fibers and joins them, in batches.
void spawn_all(int count, int batch) {
  std::atomic<int> ran{0};
  bool joined = true;
  const auto start = Clock::now();
  for (int done = 0; done < count; done += batch) {
    Nursery nursery;
    for (int i = 0; i < batch; ++i) {
      nursery.spawn([&ran] { ran.fetch_add(1, std::memory_order_relaxed); });
    }
    joined = joined && nursery.join();
  }
  const double took = since(start);
  tell(joined && ran == count, "%s fibers, %s at a time: %.0f ms, %.0f ns each",
       grouped(count).c_str(), grouped(batch).c_str(), took,
       took * 1e6 / count);
}

long fib(int n) {
  if (n < 2) return n;
  Nursery nursery;
  auto left = nursery.spawn(fib, n - 1);
  const long right = fib(n - 2);
  return *left.join() + right;
}

std::uint64_t total(std::uint64_t weft::WorkerStats::*count) {
  std::uint64_t sum = 0;
  for (const auto& worker : this_fiber::runtime().stats().workers) {
    sum += worker.*count;
  }
  return sum;
}

}  // namespace

void many_parked() {
  stop("park", "many wait at once; each keeps its own stack");
  Gate gate;
  const double resident = process_bytes("VmRSS");
  const double tables = process_bytes("VmPTE");
  Nursery nursery;
  for (int i = 0; i < kParked; ++i) nursery.spawn([&] { return gate.pass(); });
  while (gate.waiting() != kParked) this_fiber::yield();
  const double fiber = (process_bytes("VmRSS") - resident) / kParked;
  const double table = (process_bytes("VmPTE") - tables) / kParked;
  const auto start = Clock::now();
  gate.open();
  const bool joined = nursery.join().has_value();
  const double took = since(start);
  tell(joined,
       "%s fibers parked: %s bytes each in memory, %s more in page tables",
       grouped(kParked).c_str(), grouped(fiber).c_str(),
       grouped(table).c_str());
  tell(true, "all woken and ended in %.0f ms", took);
}

void many_fibers() {
  stop("spawn", "a million fibers, started and joined");
  spawn_all(kSpawned, kSpawned);
  spawn_all(kSpawned, kSpawned / 1000);
}

void fork_join() {
  stop("fork and join", "a child that nobody took runs inside join()");
  const auto spawned = total(&weft::WorkerStats::spawned);
  const auto in_place = total(&weft::WorkerStats::in_place);
  const auto start = Clock::now();
  const long result = fib(kFib);
  const double took = since(start);
  const auto children =
      static_cast<double>(total(&weft::WorkerStats::spawned) - spawned);
  const auto calls =
      static_cast<double>(total(&weft::WorkerStats::in_place) - in_place);
  tell(result == (kFib == 30 ? 832040 : 6765),
       "fib(%d) = %ld: %s fibers in %.0f ms, %.0f ns each; %.1f %% in place",
       kFib, result, grouped(children).c_str(), took, took * 1e6 / children,
       100 * calls / children);
}

void timers() {
  stop("timers", "a sleep costs a fiber, not a thread");
  std::vector<double> late(kSleepers);  // microseconds
  const auto start = Clock::now();
  Nursery nursery;
  for (int i = 0; i < kSleepers; ++i) {
    nursery.spawn([&late, i]() -> Status {
      const auto due =
          Clock::now() + 100ms + std::chrono::microseconds(i % 1000 * 200);
      WEFT_TRY(this_fiber::sleep_until(Deadline(due)));
      late[static_cast<std::size_t>(i)] =
          std::chrono::duration<double, std::micro>(Clock::now() - due).count();
      return weft::ok();
    });
  }
  const bool joined = nursery.join().has_value();
  const double took = since(start);
  std::sort(late.begin(), late.end());
  tell(joined && late.front() >= 0,
       "%s sleeps of 100 to 300 ms in %.0f ms; median %.0f us late, none early",
       grouped(kSleepers).c_str(), took, late[late.size() / 2]);

  Gate never;
  tell(never.pass(Deadline::after(1ms)).error() == Errc::timed_out,
       "every wait takes a deadline: timed_out");
  auto task = nursery.spawn([] {});
  tell(task.join().error() == Errc::closed, "a joined nursery takes no more");
  Nursery second;
  auto sleeper = second.spawn([] { return this_fiber::sleep_for(1h); });
  sleeper.cancel();
  tell(sleeper.join().error() == Errc::cancelled,
       "cancel() ended a sleep of an hour");
  second.join().value();
}

void migration() {
  stop("migration", "a fiber is not bound to a thread, unless it says so");
  constexpr int kFibers = 1000;
  std::atomic<int> moved{0};
  std::atomic<int> pinned_moved{0};
  Gate gate;
  Nursery nursery;
  for (int i = 0; i < kFibers; ++i) {
    nursery.spawn([&]() -> Status {
      const auto before = ::gettid();
      WEFT_TRY(gate.pass());
      if (::gettid() != before) ++moved;
      return weft::ok();
    });
    nursery.spawn([&]() -> Status {
      this_fiber::Pin pin;
      const auto before = ::gettid();
      WEFT_TRY(gate.pass());
      if (::gettid() != before) ++pinned_moved;
      return weft::ok();
    });
  }
  while (gate.waiting() != 2 * kFibers) this_fiber::yield();
  std::thread([&gate] { gate.open(); }).join();
  const bool joined = nursery.join().has_value();
  tell(joined && pinned_moved == 0,
       "%d of %d went on at another worker; of the pinned ones %d",
       moved.load(), kFibers, pinned_moved.load());
}

}  // namespace tour
