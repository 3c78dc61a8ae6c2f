// mutex_watch.cpp: notices a std::mutex that a fiber holds while it waits.
//
// Not a part of the library but beside it: a program that links
// weft_mutex_watch has the functions that lock and unlock a pthread_mutex_t
// from here, which count what each thread holds and then do what they always
// did.
// weft asks when a fiber leaves its worker, in builds with debug checks.

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <cstddef>

#include "base/check.hpp"

namespace {

struct Held {
  const void* mutex;
  const void* site;  // return address of the call that locked it
};

// Beyond that many at once a thread is not watched.
constexpr std::size_t kMost = 32;

struct Watched {
  Held held[kMost];
  std::size_t count;
};
thread_local constinit Watched watched{};

template <typename Function>
Function* next(const char* name) noexcept {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// `error` is what the call that locks answered, and this as well.
int note(const void* mutex, int error, const void* site) noexcept {
  if (error == 0 && watched.count < kMost) {
    watched.held[watched.count++] = {mutex, site};
  }
  return error;
}

void forget(const void* mutex) noexcept {
  Held* const end = watched.held + watched.count;
  Held* const found = std::find_if(
      watched.held, end, [mutex](const Held& it) { return it.mutex == mutex; });
  if (found == end) return;
  std::copy(found + 1, end, found);
  --watched.count;
}

}  // namespace

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static auto* const real =
      next<decltype(pthread_mutex_lock)>("pthread_mutex_lock");
  return note(mutex, real(mutex), __builtin_return_address(0));
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  static auto* const real =
      next<decltype(pthread_mutex_trylock)>("pthread_mutex_trylock");
  return note(mutex, real(mutex), __builtin_return_address(0));
}

int pthread_mutex_timedlock(pthread_mutex_t* mutex,
                            const timespec* until) noexcept {
  static auto* const real =
      next<decltype(pthread_mutex_timedlock)>("pthread_mutex_timedlock");
  return note(mutex, real(mutex, until), __builtin_return_address(0));
}

int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                            const timespec* until) noexcept {
  static auto* const real =
      next<decltype(pthread_mutex_clocklock)>("pthread_mutex_clocklock");
  return note(mutex, real(mutex, clock, until), __builtin_return_address(0));
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  static auto* const real =
      next<decltype(pthread_mutex_unlock)>("pthread_mutex_unlock");
  forget(mutex);
  return real(mutex);
}

// How many the thread holds that begins to run fibers.
std::size_t weft_count_foreign_locks() { return watched.count; }

// Called by weft when a fiber is about to leave its worker. `outer`: so many
// are not its own.
void weft_check_foreign_locks(std::size_t outer) {
  if (watched.count <= outer) return;
  const Held& last = watched.held[watched.count - 1];
  WEFT_CHECK(false,
             "STD-MUTEX-HELD: a fiber waits or yields while its thread holds "
             "a std mutex, %p, locked at %p. Others of that thread may want "
             "it, and another thread must not unlock it: unlock before, or use "
             "weft::Mutex",
             last.mutex, last.site);
}

}  // extern "C"
