// Boost.Fiber peer: round_robin on the main thread for one worker, else
// work_stealing; knobs in fibers.hpp.
//   boost_bench <bench> <workers> [n]
#include <boost/context/fiber.hpp>
#include <thread>

#include "fibers.hpp"

namespace {

using peer::fib_seq;

// Two contexts without any scheduler, by Boost.Context. Sticky floating-point
// flags that differ would cost it some 60 ns in each ldmxcsr: none are set.
void switch_bench(const Run& run) {
  i64 n = run.count(10'000'000);
  namespace context = boost::context;
  peer::clear_flags();
  context::fiber other([](context::fiber&& back) -> context::fiber {
    for (;;) back = std::move(back).resume();
  });
  other = std::move(other).resume();
  peer::per_op(run, n, n, [&] {
    for (i64 i = 0; i < n / 2; ++i) other = std::move(other).resume();
  });
}

void yield_bench(const Run& run) {
  i64 n = run.count(2'000'000);
  peer::per_op(run, n, 2 * n, [&] {
    auto body = [n] {
      for (i64 i = 0; i < n; ++i) boost::this_fiber::yield();
    };
    auto a = go(body), b = go(body);
    a.join();
    b.join();
  });
}

void spawn_join(const Run& run) {
  i64 n = run.count(1'000'000);
  peer::per_op(run, n, n, [&] {
    std::vector<bf::fiber> fibers;
    fibers.reserve(1000);
    for (i64 batch = 0; batch < n / 1000; ++batch) {
      for (int i = 0; i < 1000; ++i) fibers.push_back(go([] {}));
      for (auto& fiber : fibers) fiber.join();
      fibers.clear();
    }
  });
}

i64 fib(i64 n, i64 cutoff) {
  if (n < cutoff) return fib_seq(n);
  i64 a = 0;
  auto child = go([&a, n, cutoff] { a = fib(n - 1, cutoff); });
  i64 b = fib(n - 2, cutoff);
  child.join();
  return a + b;
}
void fib_bench(const Run& run, i64 cutoff) {
  i64 n = run.count(30), result = 0;
  peer::total(run, n, [&] { result = fib(n, cutoff); });
  peer::check(result == fib_seq(n), "fib");
}

void mutex_bench(const Run& run, bool yield_inside) {
  i64 n = run.count(1'000'000);
  peer::per_op(run, n, n, [&] {
    bf::mutex mutex;
    i64 count = 0;
    std::vector<bf::fiber> fibers;
    for (int k = 0; k < 8; ++k)
      fibers.push_back(go([&] {
        for (i64 i = 0; i < n / 8; ++i) {
          mutex.lock();
          ++count;
          if (yield_inside) boost::this_fiber::yield();
          mutex.unlock();
        }
      }));
    for (auto& fiber : fibers) fiber.join();
    peer::check(count == n, "count");
  });
}
void mutex_uncontended(const Run& run) {
  i64 n = run.count(20'000'000);
  peer::per_op(run, n, n, [&] {
    bf::mutex mutex;
    for (i64 i = 0; i < n; ++i) {
      mutex.lock();
      mutex.unlock();
    }
  });
}

void mem(const Run& run) {
  i64 n = run.count(1'000'000), made = 0, up = 0;
  auto before = peer::Memory::now();
  bf::mutex mutex;
  bf::condition_variable opened;
  bool open = false;
  std::vector<bf::fiber> fibers;
  fibers.reserve(static_cast<std::size_t>(n));
  double cpu = peer::cpu_ms();
  auto start = peer::Clock::now();
  std::string error;
  try {
    for (; made < n; ++made) {
      fibers.push_back(go([&] {
        std::unique_lock<bf::mutex> hold(mutex);
        ++up;
        opened.wait(hold, [&] { return open; });
      }));
      if (made % 1000 == 999) boost::this_fiber::yield();
    }
  } catch (std::exception& e) {
    error = e.what();
  }
  for (bool all = false; !all;) {
    boost::this_fiber::yield();
    std::unique_lock<bf::mutex> hold(mutex);
    all = up == made;
  }
  double create = peer::ns_since(start) / 1e6;
  auto parked = peer::Memory::now();
  parked.count_maps();
  start = peer::Clock::now();
  {
    std::unique_lock<bf::mutex> hold(mutex);
    open = true;
  }
  opened.notify_all();
  for (auto& fiber : fibers) fiber.join();
  double wake = peer::ns_since(start) / 1e6;
  std::string extra = peer::field("wanted", static_cast<double>(n));
  if (!error.empty()) extra += peer::field("error", error.c_str());
  peer::emit_mem(run, before, parked, made, create, wake, peer::cpu_ms() - cpu,
                 extra);
}

void timers(const Run& run) {
  i64 n = run.count(100'000);
  std::vector<i64> late(static_cast<std::size_t>(n));
  std::vector<bf::fiber> fibers;
  fibers.reserve(late.size());
  peer::Sleeps sleeps;
  double cpu = peer::cpu_ms();
  auto start = peer::Clock::now();
  for (auto& mine : late) {
    fibers.push_back(go([&mine, delay = sleeps.next()] {
      auto asleep = peer::Clock::now();
      boost::this_fiber::sleep_for(delay);
      mine =
          std::chrono::nanoseconds(peer::Clock::now() - asleep - delay).count();
    }));
  }
  for (auto& fiber : fibers) fiber.join();
  double elapsed = peer::ns_since(start) / 1e6;
  peer::emit_timers(run, late, elapsed, peer::cpu_ms() - cpu);
}

const peer::Table kTable = {
    {"switch", switch_bench},
    {"yield", yield_bench},
    {"spawn_join", spawn_join},
    {"fib30", [](const Run& run) { fib_bench(run, 2); }},
    {"fib30_cut12", [](const Run& run) { fib_bench(run, 12); }},
    {"mutex", [](const Run& run) { mutex_bench(run, false); }},
    {"mutex_handoff", [](const Run& run) { mutex_bench(run, true); }},
    {"mutex_uncontended", mutex_uncontended},
    {"mem", mem},
    {"timers", timers},
    {"pingpong_unbuf", pingpong},
    {"chan_buf_spsc", spsc},
    {"chan_mpmc", mpmc},
    {"skynet", skynet_bench},
    {"ring", ring},
    {"sieve", sieve},
};

std::string read_knobs(int workers) {
  std::string peer = workers == 1 ? "boost-rr" : "boost-ws";
  auto env = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  knobs.suspend = env("BF_SUSPEND") == "1";
  if (workers > 1 && knobs.suspend) peer += "-susp";
  auto stack = env("BF_STACK"), size = env("BF_STACK_SIZE");
  if (!size.empty()) {
    knobs.size = std::strtoull(size.c_str(), nullptr, 10);
    knobs.stack = Stack::fixed;
    peer += "-" + std::to_string(knobs.size / 1024) + "k";
  }
  if (stack == "pooled") knobs.stack = Stack::pooled, peer += "-pooled";
  if (stack == "protected") knobs.stack = Stack::guarded, peer += "-protected";
  if (env("BF_LAUNCH") == "dispatch") {
    knobs.launch = bf::launch::dispatch;
    peer += "-dispatch";
  }
  // glibc's malloc told not to return memory
  if (!env("MALLOC_TRIM_THRESHOLD_").empty()) peer += "-mtune";
  return peer;
}

}  // namespace

int main(int argc, char** argv) {
  Run run = peer::parse(argc, argv, "boost", kTable);
  run.peer = read_knobs(run.workers);
  bf::mutex mutex;
  bf::condition_variable never;
  std::vector<std::thread> threads;  // end with the process
  auto workers = static_cast<std::uint32_t>(run.workers);
  if (workers == 1) {
    bf::use_scheduling_algorithm<bf::algo::round_robin>();
  } else {
    for (std::uint32_t i = 1; i < workers; ++i)
      threads.emplace_back([&] {
        bf::use_scheduling_algorithm<bf::algo::work_stealing>(workers,
                                                              knobs.suspend);
        std::unique_lock<bf::mutex> hold(mutex);
        never.wait(hold, [] { return false; });
      });
    bf::use_scheduling_algorithm<bf::algo::work_stealing>(workers,
                                                          knobs.suspend);
  }
  bf::fiber([&] {
    kTable.at(run.bench)(run);
    std::_Exit(0);
  }).join();
}
