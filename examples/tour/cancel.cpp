// cancel.cpp: what a failure, a deadline and a cancel stop, and how soon.
#include <atomic>
#include <chrono>
#include <functional>

#include "tour.hpp"

using namespace std::chrono_literals;

namespace tour {

namespace {

constexpr int kFanOut = 10;

// A tree of fibers: the leaves wait for ever, the others for their children.
Status grow(int depth, std::atomic<int>& leaves, Gate& never) {
  if (depth == 0) {
    ++leaves;
    return never.pass();
  }
  Nursery own;
  for (int i = 0; i < kFanOut; ++i) {
    own.spawn({.stack_size = weft::StackSize::small}, grow, depth - 1,
              std::ref(leaves), std::ref(never));
  }
  return own.join();
}

void stop_a_tree(int depth, int leaves_expected) {
  std::atomic<int> leaves{0};
  Gate never;
  Nursery nursery;
  nursery.spawn(grow, depth, std::ref(leaves), std::ref(never));
  while (never.waiting() < leaves_expected) this_fiber::yield();
  const auto before = Clock::now();
  nursery.spawn([]() -> Status { return weft::Error::user(7); });
  const Status end = nursery.join();
  tell(end.error() == weft::Error::user(7) && never.waiting() == 0,
       "one child failed: %s parked fibers of a tree ended in %.1f ms",
       grouped(leaves).c_str(), since(before));
}

// Asks three at once: one fails, one never answers.
void first_answer() {
  Gate never;
  const auto fails = []() -> weft::Result<int> { return Errc::denied; };
  const auto waits = [&]() -> weft::Result<int> {
    WEFT_TRY(never.pass());
    return 1;
  };
  const auto before = Clock::now();
  const auto winner = weft::any(fails, waits, [] { return 2; });
  tell(winner && winner->index == 2 && never.waiting() == 0,
       "any() of three took the first success and ended the rest in %.3f ms",
       since(before));
}

}  // namespace

void cancellation() {
  stop("cancellation", "a scope is stopped as a whole, and cleans up");
  stop_a_tree(kLess == 1 ? 4 : 2, kLess == 1 ? 10'000 : 100);

  Gate never;
  {
    weft::CancelScope scope(Deadline::after(2ms));
    const bool ended = never.pass().error() == Errc::timed_out;
    bool cleaned = false;
    {
      const weft::Shield shield;
      cleaned = this_fiber::sleep_for(100us).has_value();
    }
    tell(ended && cleaned && scope.timed_out(),
         "a deadline of 2 ms ended a wait that takes none; a shield let the "
         "clean-up wait");
  }
  tell(this_fiber::checkpoint().has_value(), "behind the scope life goes on");
  first_answer();
}

}  // namespace tour
