// exploration.cpp: many schedules of one small program, in virtual time.
#include <chrono>
#include <cstdio>
#include <string>

#include "tour.hpp"
#include <weft/testing.hpp>

using namespace std::chrono_literals;

namespace tour {

namespace {

using namespace weft::testing;

// Opens for whoever waits now: a signal that comes too early is gone.
class Doorbell {
 public:
  Status wait() { return weft::wait(*this); }
  void ring() {
    std::lock_guard hold(lock_);
    waiters_.wake_all(weft::WakeReason::signal);
  }

  bool try_complete(weft::Waiter& waiter) noexcept {
    return waiter.reason() == weft::WakeReason::signal;
  }
  bool publish(weft::Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    waiters_.push_back(waiter);
    return true;
  }
  void unpublish(weft::Waiter& waiter) noexcept {
    std::lock_guard hold(lock_);
    waiters_.remove(waiter);
  }

 private:
  weft::SpinLock lock_;
  weft::WaitList waiters_;  // guarded by lock_
};

// Three fibers, a dozen choices.
void count_to_three(Simulation& sim) {
  Atomic<int> count{0};
  Nursery nursery;
  for (int i = 0; i < 3; ++i) {
    nursery.spawn([&] { count.fetch_add(1); });
  }
  (void)nursery.join();
  sim.check(count.load() == 3, "each counts once");
}

}  // namespace

void exploration() {
  stop("exploration",
       "a test over many schedules finds what is rare, and again");
  const auto found = explore({.print = false}, [](Simulation&) {
    Doorbell bell;
    Nursery nursery;
    nursery.spawn([&] { (void)bell.wait(); });
    nursery.spawn([&] { bell.ring(); });
    (void)nursery.join();
  });
  tell(found.verdict == Verdict::deadlock,
       "a doorbell nobody heard: %s in schedule %llu, WEFT_REPLAY=%s",
       to_string(found.verdict),
       static_cast<unsigned long long>(found.schedules), found.replay.c_str());

  constexpr std::uint64_t kSchedules = 20'000 / kLess;
  const auto start = std::chrono::steady_clock::now();
  const auto passed = explore({.schedules = kSchedules}, count_to_three);
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - start;
  tell(passed && passed.schedules == kSchedules,
       "%s schedules of three fibers that are right: %s a minute",
       grouped(kSchedules).c_str(),
       grouped(60 * kSchedules / took.count()).c_str());
  const auto all = explore(
      {.search = Search::exhaustive, .schedules = 100'000, .depth = kNoBound},
      count_to_three);
  tell(all && all.complete, "all of them that differ: %s",
       grouped(static_cast<double>(all.schedules)).c_str());

  const auto slept = explore({.schedules = 10}, [](Simulation& sim) {
    const auto before = sim.now();
    (void)this_fiber::sleep_for(24h);
    sim.check(sim.now() - before == 24h, "time is virtual");
  });
  tell(static_cast<bool>(slept), "ten nights slept in no time");
}

}  // namespace tour
