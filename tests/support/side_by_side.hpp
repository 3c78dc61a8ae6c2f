// side_by_side.hpp: threads that really run at the same time.
//
// Left alone, a new thread often shares its creator's CPU for a whole test, and
// nothing ever collides. Here each body gets a CPU of its own, as far as there
// are some.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace weft::test {

// Pins the calling thread to the CPU number `which` of `usable`.
inline void use_cpu(const cpu_set_t& usable, std::size_t which) {
  const auto count = static_cast<std::size_t>(CPU_COUNT(&usable));
  std::size_t seen = 0;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &usable) || seen++ != which % count) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ::pthread_setaffinity_np(::pthread_self(), sizeof one, &one);
  }
}

// Runs the bodies, each on a thread of its own, and waits for all.
inline void side_by_side(const std::vector<std::function<void()>>& bodies) {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  const bool pin = ::sched_getaffinity(0, sizeof usable, &usable) == 0;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    threads.emplace_back([&, i] {
      if (pin) use_cpu(usable, i);
      bodies[i]();
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace weft::test
