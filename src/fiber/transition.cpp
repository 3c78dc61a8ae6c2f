#include "fiber/transition.hpp"

#include "base/check.hpp"

namespace weft::fiber {

namespace {

struct Step {
  Logical from;
  Logical to;
  Actor by;
};

constexpr Step kLegal[] = {
    {Logical::init, Logical::runnable, Actor::spawner},
    {Logical::runnable, Logical::running, Actor::worker},
    {Logical::running, Logical::runnable, Actor::worker},  // yield
    {Logical::running, Logical::parking, Actor::owner},    // enter a wait
    {Logical::parking, Logical::running, Actor::owner},    // not needed
    {Logical::parking, Logical::running, Actor::worker},   // commit refused
    {Logical::parking, Logical::parked, Actor::worker},    // commit
    {Logical::parked, Logical::waking, Actor::waker},      // claim won
    {Logical::waking, Logical::runnable, Actor::waker},    // enqueue
    {Logical::parked, Logical::runnable, Actor::waker},    // both, fused
    {Logical::running, Logical::done, Actor::worker},
    {Logical::running, Logical::cancelled, Actor::worker},
};

// Diagnostic counters: relaxed, never used for a decision.
std::array<Tally<std::uint64_t>, kLogicalStates * kLogicalStates> taken;

std::size_t cell(Logical from, Logical to) noexcept {
  return static_cast<std::size_t>(from) * kLogicalStates +
         static_cast<std::size_t>(to);
}

}  // namespace

bool is_legal(Logical from, Logical to, Actor by) noexcept {
  for (const auto& step : kLegal) {
    if (step.from == from && step.to == to && step.by == by) return true;
  }
  return false;
}

const char* to_string(Logical state) noexcept {
  constexpr const char* kNames[] = {"init",    "runnable", "running",
                                    "parking", "parked",   "waking",
                                    "done",    "cancelled"};
  return kNames[static_cast<std::size_t>(state)];
}

std::uint64_t transitions_taken(Logical from, Logical to) noexcept {
  return taken[cell(from, to)].load(relaxed);
}

void check_transition(Logical from, Logical to, Actor by) noexcept {
  WEFT_CHECK(is_legal(from, to, by), "illegal transition %s -> %s by actor %d",
             to_string(from), to_string(to), static_cast<int>(by));
  taken[cell(from, to)].fetch_add(1, relaxed);
}

}  // namespace weft::fiber
