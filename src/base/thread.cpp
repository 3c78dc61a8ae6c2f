#include "base/thread.hpp"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/fault.hpp"

namespace weft::base {

int Thread::start(const char* name, Body body, void* argument) noexcept {
  body_ = body;
  argument_ = argument;
  std::snprintf(name_, sizeof name_, "%s", name);
  const int error =
      refused(FaultPoint::thread_start)
          ? EAGAIN
          : ::pthread_create(&handle_, nullptr, &Thread::enter, this);
  started_ = error == 0;
  return error;
}

void Thread::join() noexcept {
  if (!started_) return;
  ::pthread_join(handle_, nullptr);
  started_ = false;
}

void* Thread::enter(void* self) noexcept {
  auto& thread = *static_cast<Thread*>(self);
  ::pthread_setname_np(::pthread_self(), thread.name_);
  thread.body_(thread.argument_);
  return nullptr;
}

namespace {

// CPUs that the cgroup's quota pays for, or 0 if there is none.
unsigned quota_cpus() noexcept {
  unsigned cpus = 0;
  if (std::FILE* file = std::fopen("/sys/fs/cgroup/cpu.max", "re")) {
    long long quota = 0;
    long long period = 0;
    if (std::fscanf(file, "%lld %lld", &quota, &period) == 2 && quota > 0 &&
        period > 0) {
      cpus = static_cast<unsigned>((quota + period - 1) / period);
    }
    std::fclose(file);
  }
  return cpus;
}

}  // namespace

unsigned usable_cpus() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  unsigned cpus = 1;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    cpus = static_cast<unsigned>(CPU_COUNT(&set));
  }
  if (const auto quota = quota_cpus(); quota != 0) cpus = std::min(cpus, quota);
  return std::max(cpus, 1u);
}

}  // namespace weft::base
