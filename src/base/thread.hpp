// thread.hpp: an OS thread whose start may be refused.
#pragma once

#include <pthread.h>

namespace weft::base {

// Not std::thread: a refused start is an errno value here, no exception.
class Thread {
 public:
  using Body = void (*)(void*) noexcept;

  Thread() = default;
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
  ~Thread() { join(); }

  // Owner only. 0, or an errno value and nothing was started. The name is cut
  // at 15 characters.
  [[nodiscard]] int start(const char* name, Body body, void* argument) noexcept;
  // Owner only. Waits for the end; does nothing if never started.
  void join() noexcept;

 private:
  static void* enter(void* self) noexcept;

  Body body_ = nullptr;
  void* argument_ = nullptr;
  char name_[16] = {};
  pthread_t handle_{};
  bool started_ = false;
};

// How many CPUs this process may use: affinity mask and cgroup quota, >= 1.
unsigned usable_cpus() noexcept;

}  // namespace weft::base
