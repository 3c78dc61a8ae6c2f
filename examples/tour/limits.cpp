// limits.cpp: a fork bomb with a budget, and a neighbour that has work to do.
#include <atomic>
#include <functional>
#include <utility>

#include "tour.hpp"

namespace tour {

namespace {

using weft::Budget;

// Starts others like itself, each with half of what there is, for ever.
[[noreturn]] void fork_bomb(std::atomic<int>& fibers) {
  ++fibers;
  Nursery own;
  for (;;) {
    weft::yield_check();
    Budget half = this_fiber::ledger().left;
    half.ops /= 2;
    half.spawn_count /= 2;
    (void)own.try_spawn({.budget = half}, fork_bomb, std::ref(fibers));
  }
}

// Asks another fiber, so many times.
int serve(int requests) {
  Nursery nursery;
  auto [ask, asked] = weft::make_channel<int>(1);
  auto [answer, answered] = weft::make_channel<int>(1);
  nursery.spawn(
      [](weft::Receiver<int> from, weft::Sender<int> to) {
        for (const int request : from) (void)to.send(request + 1);
      },
      std::move(asked), std::move(answer));
  int done = 0;
  for (int i = 0; i < requests; ++i) {
    (void)ask.send(i);
    done += answered.receive().value_or(0) == i + 1 ? 1 : 0;
  }
  ask.close();
  (void)nursery.join();
  return done;
}

}  // namespace

void budgets() {
  constexpr int kRequests = 10'000 / kLess;
  constexpr Budget kGranted{.ops = 1'000'000 / kLess, .spawn_count = 50};
  stop("budgets", "who takes all it can get has what it was granted");
  std::atomic<int> fibers{0};
  Nursery sandbox(this_fiber::runtime(), {.budget = kGranted});
  const auto start = Clock::now();
  auto bomb = sandbox.spawn({.budget = kGranted - Budget{.spawn_count = 1}},
                            fork_bomb, std::ref(fibers));
  const int served = serve(kRequests);
  tell(served == kRequests,
       "beside a fork bomb a neighbour had %s answers in %.1f ms",
       grouped(served).c_str(), since(start));
  const auto standstill = sandbox.join().error();
  tell(
      standstill == weft::Error::out_of(weft::Resource::ops) &&
          fibers <= kGranted.spawn_count,
      "the bomb had %d fibers of %d granted, and %s ops; join() says exhausted",
      fibers.load(), kGranted.spawn_count, grouped(kGranted.ops).c_str());
  sandbox.cancel();
  const auto before = Clock::now();
  const bool given_up = bomb.join().error() == Errc::exhausted;
  tell(given_up && sandbox.join().error() == Errc::exhausted &&
           sandbox.live() == 0,
       "cancelled, it came to no cancel point: given up in %.1f ms",
       since(before));
}

}  // namespace tour
