// tour.cpp: what weft can do, in a few seconds (`./dev run`).
//
// Each stop does something, says what it showed, and checks it: the program
// fails if one of them is wrong.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <weft/weft.hpp>

using namespace std::chrono_literals;
using weft::Clock, weft::Deadline, weft::Errc, weft::Nursery, weft::Status;
namespace this_fiber = weft::this_fiber;

namespace {

// Sanitizers need a hundred times more of everything.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kLess = 100;
#else
constexpr int kLess = 1;
#endif
constexpr int kSpawned = 1'000'000 / kLess;
constexpr int kParked = 100'000 / kLess;
constexpr int kSleepers = 100'000 / kLess;
constexpr int kFib = kLess == 1 ? 30 : 20;

// ---- Output.

bool terminal = false;
int wrong = 0;
int stops = 0;

const char* colour(const char* code) { return terminal ? code : ""; }
const char* bold() { return colour("\033[1m"); }
const char* dim() { return colour("\033[2m"); }
const char* red() { return colour("\033[31m"); }
const char* plain() { return colour("\033[0m"); }

void stop(const char* title, const char* shows) {
  std::printf("\n%s%2d  %s%s  %s%s%s\n", bold(), ++stops, title, plain(), dim(),
              shows, plain());
}

__attribute__((format(printf, 2, 3))) void tell(bool right, const char* format,
                                                ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::printf("    ");
  std::vprintf(format, arguments);
  va_end(arguments);
  if (!right) ++wrong;
  std::printf("%s%s%s\n", red(), right ? "" : "  WRONG", plain());
  std::fflush(stdout);
}

// 1234567 -> "1,234,567"
std::string grouped(double number) {
  std::string digits = std::to_string(static_cast<long long>(number));
  for (auto at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

double since(Clock::time_point start) {  // milliseconds
  return std::chrono::duration<double, std::milli>(Clock::now() - start)
      .count();
}

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

// ---- A primitive of our own: closed until opened.

class Gate {
 public:
  Status pass(Deadline deadline = Deadline::never()) {
    return weft::wait(*this, deadline);
  }
  void open() {
    std::lock_guard hold(lock_);
    open_ = true;
    waiters_.wake_all();
  }
  int waiting() {
    std::lock_guard hold(lock_);
    return waiting_;
  }

  bool try_complete(weft::Waiter&) noexcept {
    std::lock_guard hold(lock_);
    return open_;
  }
  bool publish(weft::Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    waiters_.push_back(waiter);
    ++waiting_;
    if (open_) waiters_.wake_all();
    return true;
  }
  void unpublish(weft::Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    waiters_.remove(waiter);
    --waiting_;
  }

 private:
  weft::SpinLock lock_;
  weft::WaitList waiters_;  // guarded by lock_
  int waiting_ = 0;         // guarded by lock_
  bool open_ = false;       // guarded by lock_
};

// ---- The stops.

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

void many_fibers() {
  stop("spawn", "a million fibers, started and joined");
  spawn_all(kSpawned, kSpawned);
  spawn_all(kSpawned, kSpawned / 1000);
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
}

void exceptions() {
  stop("errors", "an exception crosses fibers and threads with its type");
  Nursery nursery;
  auto task = nursery.spawn([] {
    Nursery inner;
    inner.spawn([] {
      try {
        throw std::out_of_range("from a grandchild");
      } catch (...) {
        this_fiber::yield();  // a catch block may wait: the exception travels
        throw;
      }
    });
  });  // inner is not joined: its failure becomes that of this child
  std::string heard;
  try {
    (void)task.join();
  } catch (const std::out_of_range& error) {
    heard = error.what();
  }
  tell(heard == "from a grandchild", "caught std::out_of_range: %s",
       heard.c_str());
  try {
    (void)nursery.join();
    tell(false, "the nursery lost it");
  } catch (const std::out_of_range&) {
  }
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

// Deeper than any stack.
int recurse(int depth, const char* above) {
  char here[512];
  std::memset(here, *above, sizeof here);
  return depth == 0 ? here[1] : recurse(depth - 1, here) + here[1];
}

int overflow() {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  return weft::run_main([]() -> int {
    Nursery nursery;
    // With a deadline it cannot run in place, on the stack of this fiber.
    auto deep = nursery.spawn({.name = "deep"}, recurse, 1 << 30, "x");
    return deep.join(Deadline::after(1h)).value();
  });
}

void guards() {
  stop("stacks", "an overflow is reported, not silent");
  constexpr std::array kNames{"automatic", "madvise", "mprotect", "canary"};
  const auto runtime = this_fiber::runtime();
  tell(true, "%zu KiB each, guarded by %s",
       static_cast<std::size_t>(runtime.config().stack_size) >> 10,
       kNames[static_cast<std::size_t>(runtime.guard())]);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  char self[4096];
  const auto length = ::readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) return;
  self[length] = '\0';
  const std::string command =
      "exec '" + std::string(self) + "' --overflow 2>&1";
  std::FILE* child = ::popen(command.c_str(), "re");
  if (child == nullptr) return;
  char line[256] = "";
  bool reported = false;
  while (std::fgets(line, sizeof line, child) != nullptr) {
    line[std::strcspn(line, "\n")] = '\0';
    if (std::strstr(line, "stack overflow in fiber") != nullptr) {
      reported = std::strstr(line, "\"deep\"") != nullptr;
      tell(true, "a second process says: %s", line);
    }
  }
  const int end = ::pclose(child);
  tell(reported && end != 0, "and died of it");
#endif
}

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

}  // namespace

int main(int count, char** arguments) {
  if (count > 1 && std::strcmp(arguments[1], "--overflow") == 0) {
    return overflow();
  }
  terminal = ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  const auto start = Clock::now();
  const int status = weft::run_main([] {
    std::printf("%sweft%s: a tour with %u workers\n", bold(), plain(),
                this_fiber::runtime().worker_count());
    many_parked();
    many_fibers();
    fork_join();
    timers();
    exceptions();
    migration();
    guards();
    two_runtimes();
    threads();
    statistics();
  });
  std::printf("\n%s%d stops in %.1f s, %d wrong%s\n", bold(), stops,
              since(start) / 1000, wrong, plain());
  return status != 0 || wrong != 0 ? 1 : 0;
}
