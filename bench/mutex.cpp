// mutex.cpp: what does a lock cost: alone, contended, held over a yield, and
// with a herd of fibers that wait for it?
#include <mutex>

#include "harness.hpp"

namespace {

constexpr std::int64_t kFibers = 8;

// Each fiber locks, counts and unlocks its share; `held` runs under the lock.
template <typename Lock, typename Held>
bench::Outcome contend(const bench::Options& options, std::int64_t fibers,
                       Held held) {
  return bench::in_runtime(options.workers, [&] {
    std::int64_t count = 0;
    Lock lock;
    const auto each = options.n / fibers;
    auto outcome = bench::per_op(each * fibers, [&] {
      weft::Nursery nursery;
      for (std::int64_t i = 0; i < fibers; ++i) {
        nursery.spawn([&] {
          for (std::int64_t j = 0; j < each; ++j) {
            const std::lock_guard hold(lock);
            ++count;
            held();
          }
        });
      }
      nursery.join().value();
    });
    bench::check(count == each * fibers, "the lock excludes");
    return outcome;
  });
}

template <typename Lock>
bench::Outcome contended(const bench::Options& options) {
  return contend<Lock>(options, kFibers, [] {});
}

template <typename Lock>
bench::Outcome handed_over(const bench::Options& options) {
  return contend<Lock>(options, kFibers, [] { weft::this_fiber::yield(); });
}

template <typename Lock>
bench::Outcome uncontended(const bench::Options& options) {
  return bench::in_runtime(options.workers, [&options] {
    Lock lock;
    return bench::per_op(options.n, [&] {
      for (std::int64_t i = 0; i < options.n; ++i) {
        lock.lock();
        lock.unlock();
      }
    });
  });
}

// All but one wait before the first unlocks.
bench::Outcome herd(const bench::Options& options) {
  return bench::in_runtime(options.workers, [&options] {
    weft::Mutex lock;
    std::int64_t count = 0;
    weft::Nursery nursery;
    lock.lock();
    for (std::int64_t i = 0; i < options.n; ++i) {
      nursery.spawn([&] {
        const std::lock_guard hold(lock);
        ++count;
      });
    }
    for (std::int64_t i = 0; i < 2 * options.n; ++i) weft::this_fiber::yield();
    auto outcome = bench::per_op(options.n, [&] {
      lock.unlock();
      nursery.join().value();
    });
    bench::check(count == options.n, "the lock excludes");
    return outcome;
  });
}

const bench::Register kMutex({
    .name = "mutex",
    .question = "8 fibers lock, count, unlock: ns per lock",
    .usual_n = 1'000'000,
    .run = contended<weft::Mutex>,
});
const bench::Register kHandOff({
    .name = "mutex_handoff",
    .question = "the same, yielding while it is held: ns per lock",
    .usual_n = 1'000'000,
    .run = handed_over<weft::Mutex>,
});
const bench::Register kUncontended({
    .name = "mutex_uncontended",
    .question = "one fiber locks and unlocks: ns per pair",
    .usual_n = 20'000'000,
    .run = uncontended<weft::Mutex>,
});
const bench::Register kFair({
    .name = "fair_mutex",
    .question = "8 fibers lock, count, unlock a FairMutex: ns per lock",
    .usual_n = 1'000'000,
    .run = contended<weft::FairMutex>,
});
const bench::Register kFairUncontended({
    .name = "fair_mutex_uncontended",
    .question = "one fiber locks and unlocks a FairMutex: ns per pair",
    .usual_n = 20'000'000,
    .run = uncontended<weft::FairMutex>,
});
const bench::Register kHerd({
    .name = "mutex_herd",
    .question = "n fibers wait for one mutex, then each has it: ns per fiber",
    .usual_n = 10'000,
    .run = herd,
});

}  // namespace
