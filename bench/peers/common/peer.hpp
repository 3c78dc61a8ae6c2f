// peer.hpp: what the C++ peers share: arguments, clocks, memory probes and the
// one JSON line that a repetition prints.
//
// A peer is run as `NAME_bench <bench> <workers> [n]`; n = 0 or nothing means
// the usual count. Exit codes: 0 ok, 2 bad arguments, 3 a wrong result.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace peer {

using i64 = long long;
using Clock = std::chrono::steady_clock;

struct Run {
  std::string peer;
  std::string bench;
  int workers = 1;
  i64 asked = 0;

  i64 count(i64 usual) const { return asked ? asked : usual; }
};
using Table = std::map<std::string, void (*)(const Run&)>;

inline double cpu_ms() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
         (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
}
inline double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}
inline void check(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "check failed: %s\n", what);
  std::_Exit(3);
}

// `,"name":1.500`: one more field for the line.
inline std::string field(const char* name, double value) {
  char text[96];
  std::snprintf(text, sizeof text, ",\"%s\":%.3f", name, value);
  return text;
}
inline std::string field(const char* name, const char* value) {
  return std::string(",\"") + name + "\":\"" + value + "\"";
}
inline void emit(const Run& run, const char* metric, double value, i64 n,
                 double cpu, const std::string& extra = "") {
  std::printf(
      "{\"peer\":\"%s\",\"bench\":\"%s\",\"workers\":%d,\"metric\":\"%s\","
      "\"value\":%.3f,\"n\":%lld,\"cpu_ms\":%.1f%s}\n",
      run.peer.c_str(), run.bench.c_str(), run.workers, metric, value, n, cpu,
      extra.c_str());
  std::fflush(stdout);
}
// Floating-point flags that this file's arithmetic left set are cleared before
// timing: a context switch that reloads them would pay for the difference.
inline void clear_flags() { std::feclearexcept(FE_ALL_EXCEPT); }
template <typename F>
void per_op(const Run& run, i64 n, i64 ops, F body) {
  double cpu = cpu_ms();
  clear_flags();
  auto start = Clock::now();
  body();
  double ns = ns_since(start);
  emit(run, "ns_per_op", ns / static_cast<double>(ops), n, cpu_ms() - cpu);
}
template <typename F>
void total(const Run& run, i64 n, F body) {
  double cpu = cpu_ms();
  clear_flags();
  auto start = Clock::now();
  body();
  double ns = ns_since(start);
  emit(run, "ms", ns / 1e6, n, cpu_ms() - cpu);
}

// What the process holds, in bytes; page tables are not part of RSS.
struct Memory {
  double rss = 0;
  double page_tables = 0;
  double available = 0;  // of the machine: disturbed by other processes
  double maps = 0;
  double guards = 0;  // mappings without any access

  static double status_line(const char* file, const char* key) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
      if (line.rfind(key, 0) == 0)
        return std::atof(line.c_str() + std::strlen(key)) * 1024;
    return 0;
  }
  static Memory now() {
    Memory memory;
    i64 size = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> size >> resident;
    memory.rss = static_cast<double>(resident) * sysconf(_SC_PAGESIZE);
    memory.page_tables = status_line("/proc/self/status", "VmPTE:");
    memory.available = status_line("/proc/meminfo", "MemAvailable:");
    return memory;
  }
  void count_maps() {
    std::ifstream in("/proc/self/maps");
    for (std::string line; std::getline(in, line); ++maps)
      guards += line.find("---p") != std::string::npos;
  }
};
// The fields of `mem` that every peer reports the same way.
inline void emit_mem(const Run& run, const Memory& before, const Memory& parked,
                     i64 made, double create_ms, double wake_ms, double cpu,
                     const std::string& extra = "") {
  double fibers = static_cast<double>(made);
  double rss = (parked.rss - before.rss) / fibers;
  double tables = (parked.page_tables - before.page_tables) / fibers;
  emit(run, "bytes_per_fiber", rss, made, cpu,
       field("page_table_bytes_per_fiber", tables) +
           field("total_bytes_per_fiber", rss + tables) +
           field("create_ms", create_ms) + field("wake_all_ms", wake_ms) +
           field("avail_bytes_per_fiber",
                 (before.available - parked.available) / fibers) +
           field("maps", parked.maps) + field("guard_maps", parked.guards) +
           extra);
}

// Uniform sleeps of 1..100 ms for `timers`.
class Sleeps {
 public:
  std::chrono::microseconds next() {
    return std::chrono::microseconds(1000 + rng_() % 99001);
  }

 private:
  std::mt19937 rng_{std::random_device{}()};
};
// late: nanoseconds after the wanted time, one per sleeper.
inline void emit_timers(const Run& run, std::vector<i64>& late,
                        double elapsed_ms, double cpu) {
  std::sort(late.begin(), late.end());
  std::size_t n = late.size();
  emit(run, "late_p50_us", late[n / 2] / 1e3, static_cast<i64>(n), cpu,
       field("late_p99_us", late[n * 99 / 100] / 1e3) +
           field("late_max_us", late[n - 1] / 1e3) +
           field("elapsed_ms", elapsed_ms));
}

inline i64 __attribute__((noinline)) fib_seq(i64 n) {
  return n < 2 ? n : fib_seq(n - 1) + fib_seq(n - 2);
}

inline Run parse(int argc, char** argv, const char* peer, const Table& table) {
  auto bad = [&](const std::string& why) {
    std::fprintf(stderr,
                 "%s\nusage: %s <bench> <workers> [n]\nbenches:", why.c_str(),
                 argv[0]);
    for (auto& [name, body] : table) std::fprintf(stderr, " %s", name.c_str());
    std::fprintf(stderr, "\n");
    std::exit(2);
  };
  if (argc < 3 || argc > 4) bad("two or three arguments wanted");
  Run run{peer, argv[1], std::atoi(argv[2]),
          argc > 3 ? std::atoll(argv[3]) : 0};
  if (!table.count(run.bench)) bad("unknown bench '" + run.bench + "'");
  if (run.workers < 1 || run.workers > 1024) bad("workers: 1 to 1024");
  if (run.asked < 0) bad("n must not be negative");
  return run;
}

}  // namespace peer
