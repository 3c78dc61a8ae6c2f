// locks.cpp: a herd at a mutex, a line at another, a thread and a fiber.
#include <chrono>
#include <cstdint>
#include <thread>

#include "tour.hpp"

namespace tour {

namespace {

// All of them want a lock that is held.
int pass_through(int herd) {
  weft::Mutex mutex;
  int count = 0;  // guarded by mutex
  mutex.lock();
  Nursery nursery;
  for (int i = 0; i < herd; ++i) {
    nursery.spawn([&] {
      std::lock_guard hold(mutex);
      ++count;
    });
  }
  this_fiber::yield();
  mutex.unlock();
  (void)nursery.join();
  return count;
}

}  // namespace

void locks() {
  constexpr int kHerd = 10'000 / kLess;
  stop("locks", "fibers wait, workers do not");
  {
    const auto start = Clock::now();
    const int passed = pass_through(kHerd);
    tell(passed == kHerd, "%s fibers through one mutex in %.1f ms",
         grouped(kHerd).c_str(), since(start));
  }
  {
    weft::Mutex mutex;
    std::int64_t count = 0;
    constexpr int kEach = 100'000 / kLess;
    const auto start = Clock::now();
    Nursery nursery;
    for (int i = 0; i < 8; ++i) {
      nursery.spawn([&] {
        for (int j = 0; j < kEach; ++j) {
          std::lock_guard hold(mutex);
          ++count;
        }
      });
    }
    (void)nursery.join();
    tell(count == 8 * kEach, "8 fibers count to %s under a mutex: %.1f ns each",
         grouped(8 * kEach).c_str(), since(start) * 1e6 / (8 * kEach));
  }
  {
    weft::Future<int> answer;
    std::thread thread([&] { answer.set(42); });
    const auto came = answer.wait();
    thread.join();
    tell(came && *came == 42, "a thread answers a fiber: %d", came.value_or(0));
  }
  {
    weft::Mutex mutex;
    std::lock_guard hold(mutex);
    Nursery nursery;
    auto gave_up = nursery.spawn([&] {
      return !mutex.acquire(Deadline::after(std::chrono::milliseconds(1)));
    });
    tell(gave_up.join().value(),
         "who waits with a deadline gives up, and nothing is lost");
    nursery.join().value();
  }
}

}  // namespace tour
