// mem.cpp: what does a parked fiber hold?
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <mutex>
#include <string>

#include "harness.hpp"

namespace {

using namespace std::chrono_literals;

// Opens once, for all who wait and who come later.
class Gate {
 public:
  weft::Status pass() { return weft::wait(*this); }
  void open() {
    std::lock_guard hold(lock_);
    open_ = true;
    waiters_.wake_all();
  }

  // concept Waitable
  bool try_complete(weft::Waiter& /*waiter*/) noexcept {
    std::lock_guard hold(lock_);
    return open_;
  }
  bool publish(weft::Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    waiters_.push_back(waiter);
    if (open_) waiters_.wake_all();  // it was opened meanwhile
    return true;
  }
  void unpublish(weft::Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    waiters_.remove(waiter);
  }

 private:
  weft::SpinLock lock_;
  weft::WaitList waiters_;  // guarded by lock_
  bool open_ = false;       // guarded by lock_
};
static_assert(weft::Waitable<Gate>);

// Bytes of this process. RSS leaves the page tables out.
struct Memory {
  double rss = 0;
  double page_tables = 0;

  static Memory now() {
    Memory memory;
    double size = 0;
    double resident = 0;
    std::ifstream("/proc/self/statm") >> size >> resident;
    memory.rss = resident * static_cast<double>(sysconf(_SC_PAGESIZE));
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmPTE:")) {
        memory.page_tables = std::stod(line.substr(6)) * 1024;
      }
    }
    return memory;
  }
};

bench::Outcome mem(const bench::Options& options) {
  const std::int64_t n = options.n;
  return bench::in_runtime(options.workers, [n] {
    const Memory before = Memory::now();
    const double cpu = bench::cpu_ms();
    Gate gate;
    Gate all_up;
    std::atomic<std::int64_t> up = 0;
    weft::Nursery nursery;
    auto start = bench::Clock::now();
    for (std::int64_t i = 0; i < n; ++i) {
      nursery.spawn({.stack_size = weft::StackSize(64 << 10)},
                    [&gate, &all_up, &up, n] {
                      if (++up == n) all_up.open();
                      gate.pass().value();
                    });
    }
    all_up.pass().value();
    const double create = bench::ms_since(start);
    weft::this_fiber::sleep_for(20ms).value();  // let the last ones park
    const Memory parked = Memory::now();
    start = bench::Clock::now();
    gate.open();
    nursery.join().value();
    const double wake = bench::ms_since(start);
    const auto fibers = static_cast<double>(n);
    const double rss = (parked.rss - before.rss) / fibers;
    const double tables = (parked.page_tables - before.page_tables) / fibers;
    return bench::Outcome{"bytes_per_fiber",
                          rss,
                          bench::cpu_ms() - cpu,
                          {{"page_table_bytes_per_fiber", tables},
                           {"total_bytes_per_fiber", rss + tables},
                           {"create_ms", create},
                           {"wake_all_ms", wake}}};
  });
}

const bench::Register kMem({
    .name = "mem",
    .question = "a million fibers parked on a gate: bytes each",
    .usual_n = 1'000'000,
    .run = mem,
    .most_n = 100'000'000,
});

}  // namespace
