// process.hpp: what the kernel says this process holds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

namespace weft::test {

inline std::ptrdiff_t mappings() {
  std::ifstream maps("/proc/self/maps");
  return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
}

inline long resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
  }
  return 0;
}

inline std::ptrdiff_t threads() {
  namespace fs = std::filesystem;
  const fs::directory_iterator all("/proc/self/task");
  return std::distance(begin(all), end(all));
}

// Returns when no more threads than that are left. A join returns before the
// kernel has taken the thread off its list, so this waits for the list; a
// thread that never ends is the watchdog's to find.
inline void await_threads(std::ptrdiff_t at_most) {
  while (threads() > at_most) std::this_thread::yield();
}

}  // namespace weft::test
