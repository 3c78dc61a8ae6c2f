// Kernel threads, the floor: one worker pins the whole process to one CPU.
//   pthread_bench <bench> <workers> [n]
//
// The count is scaled down where a kernel thread makes the common one absurd;
// the field "n" says what was run. `switch` is libc's swapcontext().
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "channel.hpp"

namespace {

using peer::fib_seq;

ucontext_t main_context, other_context;
void switch_bench(const Run& run) {
  i64 n = run.count(1'000'000);
  static char stack[64 << 10];
  getcontext(&other_context);
  other_context.uc_stack.ss_sp = stack;
  other_context.uc_stack.ss_size = sizeof stack;
  void (*body)() = [] {
    for (;;) swapcontext(&other_context, &main_context);
  };
  makecontext(&other_context, body, 0);
  peer::per_op(run, n, n, [&] {
    for (i64 i = 0; i < n / 2; ++i) swapcontext(&main_context, &other_context);
  });
}

void yield_bench(const Run& run) {
  i64 n = run.count(1'000'000);
  peer::per_op(run, n, 2 * n, [&] {
    auto body = [n] {
      for (i64 i = 0; i < n; ++i) sched_yield();
    };
    std::thread a(body), b(body);
    a.join();
    b.join();
  });
}

void spawn_join(const Run& run) {
  i64 n = run.count(100'000);
  peer::per_op(run, n, n, [&] {
    std::vector<std::thread> threads;
    threads.reserve(1000);
    for (i64 batch = 0; batch < n / 1000; ++batch) {
      for (int i = 0; i < 1000; ++i) threads.emplace_back([] {});
      for (auto& thread : threads) thread.join();
      threads.clear();
    }
  });
}

void pingpong(const Run& run) {
  i64 n = run.count(100'000);
  peer::per_op(run, n, n, [&] {
    Channel there(0), back(0);
    std::thread echo([&] {
      for (i64 i = 0, v; i < n; ++i) {
        there.pop(v);
        back.push(v);
      }
    });
    for (i64 i = 0, v; i < n; ++i) {
      there.push(i);
      back.pop(v);
    }
    echo.join();
  });
}
void pingpong_sem(const Run& run) {
  i64 n = run.count(200'000);
  peer::per_op(run, n, n, [&] {
    sem_t there, back;
    sem_init(&there, 0, 0);
    sem_init(&back, 0, 0);
    std::thread echo([&] {
      for (i64 i = 0; i < n; ++i) {
        sem_wait(&there);
        sem_post(&back);
      }
    });
    for (i64 i = 0; i < n; ++i) {
      sem_post(&there);
      sem_wait(&back);
    }
    echo.join();
  });
}

void buffered(const Run& run, i64 n, int pairs) {
  peer::per_op(run, n, n, [&] {
    Channel channel(128);
    std::vector<std::thread> producers, consumers;
    std::atomic<i64> sum{0};
    for (int i = 0; i < pairs; ++i) {
      producers.emplace_back([&] {
        for (i64 j = 0; j < n / pairs; ++j) channel.push(1);
      });
      consumers.emplace_back([&] {
        i64 mine = 0;
        for (i64 v; channel.pop(v);) mine += v;
        sum += mine;
      });
    }
    for (auto& thread : producers) thread.join();
    channel.close();
    for (auto& thread : consumers) thread.join();
    peer::check(sum == n, "count");
  });
}

i64 fib(i64 n, i64 cutoff) {
  if (n < cutoff) return fib_seq(n);
  i64 a = 0;
  std::thread child([&a, n, cutoff] { a = fib(n - 1, cutoff); });
  i64 b = fib(n - 2, cutoff);
  child.join();
  return a + b;
}
void fib_bench(const Run& run, i64 cutoff) {
  i64 n = run.count(30), result = 0;
  peer::total(run, n, [&] { result = fib(n, cutoff); });
  peer::check(result == fib_seq(n), "fib");
}
void fib_sequential(const Run& run) {
  i64 n = run.count(30);
  peer::total(run, n, [&] { peer::check(fib_seq(n) > 0, "fib"); });
}

void mutex_bench(const Run& run) {
  i64 n = run.count(1'000'000);
  peer::per_op(run, n, n, [&] {
    std::mutex mutex;
    i64 count = 0;
    std::vector<std::thread> threads;
    for (int k = 0; k < 8; ++k)
      threads.emplace_back([&] {
        for (i64 i = 0; i < n / 8; ++i) {
          std::lock_guard<std::mutex> hold(mutex);
          ++count;
        }
      });
    for (auto& thread : threads) thread.join();
    peer::check(count == n, "count");
  });
}
void mutex_uncontended(const Run& run) {
  i64 n = run.count(20'000'000);
  std::thread([] {}).join();  // make the process multi-threaded
  peer::per_op(run, n, n, [&] {
    std::mutex mutex;
    for (i64 i = 0; i < n; ++i) {
      mutex.lock();
      mutex.unlock();
    }
  });
}

struct Gate {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
  bool open = false;
  i64 up = 0;
};
void* wait_at(void* pointer) {
  auto& gate = *static_cast<Gate*>(pointer);
  pthread_mutex_lock(&gate.mutex);
  ++gate.up;
  while (!gate.open) pthread_cond_wait(&gate.opened, &gate.mutex);
  pthread_mutex_unlock(&gate.mutex);
  return nullptr;
}
void mem(const Run& run) {
  i64 n = run.count(1'000'000), made = 0;
  auto before = peer::Memory::now();
  Gate gate;
  std::vector<pthread_t> threads;
  threads.reserve(static_cast<std::size_t>(n));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 16384);
  double cpu = peer::cpu_ms();
  auto start = peer::Clock::now();
  int error = 0;
  for (; made < n; ++made) {
    pthread_t thread;
    error = pthread_create(&thread, &attributes, wait_at, &gate);
    if (error) break;
    threads.push_back(thread);
  }
  for (bool all = false; !all;) {
    usleep(1000);
    pthread_mutex_lock(&gate.mutex);
    all = gate.up == made;
    pthread_mutex_unlock(&gate.mutex);
  }
  double create = peer::ns_since(start) / 1e6;
  auto parked = peer::Memory::now();
  parked.count_maps();
  start = peer::Clock::now();
  pthread_mutex_lock(&gate.mutex);
  gate.open = true;
  pthread_cond_broadcast(&gate.opened);
  pthread_mutex_unlock(&gate.mutex);
  for (auto thread : threads) pthread_join(thread, nullptr);
  double wake = peer::ns_since(start) / 1e6;
  std::string extra = peer::field("wanted", static_cast<double>(n));
  if (error) extra += peer::field("error", std::strerror(error));
  peer::emit_mem(run, before, parked, made, create, wake, peer::cpu_ms() - cpu,
                 extra);
}

void timers(const Run& run) {
  i64 n = run.count(10'000);
  std::vector<i64> late(static_cast<std::size_t>(n));
  std::vector<std::thread> threads;
  threads.reserve(late.size());
  peer::Sleeps sleeps;
  double cpu = peer::cpu_ms();
  auto start = peer::Clock::now();
  for (auto& mine : late) {
    threads.emplace_back([&mine, delay = sleeps.next()] {
      auto asleep = peer::Clock::now();
      std::this_thread::sleep_for(delay);
      mine =
          std::chrono::nanoseconds(peer::Clock::now() - asleep - delay).count();
    });
  }
  for (auto& thread : threads) thread.join();
  double elapsed = peer::ns_since(start) / 1e6;
  peer::emit_timers(run, late, elapsed, peer::cpu_ms() - cpu);
}

void ring(const Run& run) {
  i64 n = run.count(100'000);
  peer::per_op(run, n, n, [&] {
    constexpr std::size_t kThreads = 1000;
    std::vector<std::unique_ptr<Channel>> channels;
    for (std::size_t i = 0; i < kThreads; ++i)
      channels.push_back(std::make_unique<Channel>(1));
    Channel done(1);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] {
        for (i64 left; channels[i]->pop(left);) {
          if (left == 0) {
            done.push(0);
            return;
          }
          channels[(i + 1) % kThreads]->push(left - 1);
        }
      });
    channels[0]->push(n);
    i64 end = 0;
    done.pop(end);
    for (auto& channel : channels) channel->close();
    for (auto& thread : threads) thread.join();
  });
}

const peer::Table kTable = {
    {"switch", switch_bench},
    {"yield", yield_bench},
    {"spawn_join", spawn_join},
    {"pingpong_unbuf", pingpong},
    {"pingpong_sem", pingpong_sem},
    {"chan_buf_spsc",
     [](const Run& run) { buffered(run, run.count(10'000'000), 1); }},
    {"chan_mpmc",
     [](const Run& run) { buffered(run, run.count(4'000'000), 4); }},
    {"fib30_cut12", [](const Run& run) { fib_bench(run, 12); }},
    {"fib30_cut20", [](const Run& run) { fib_bench(run, 20); }},
    {"fib30_seq", fib_sequential},
    {"mutex", mutex_bench},
    {"mutex_uncontended", mutex_uncontended},
    {"mem", mem},
    {"timers", timers},
    {"ring", ring},
    {"tcp_echo_server", echo_threads},
    {"tcp_echo_epoll_server", echo_epoll},
};

}  // namespace

int main(int argc, char** argv) {
  Run run = peer::parse(argc, argv, "pthread", kTable);
  if (run.workers == 1) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  kTable.at(run.bench)(run);
}
