// steal_storm_test.cpp: fibers that yield, park and pin while workers steal.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/rng.hpp"
#include "fiber/transition.hpp"
#include "stress/baton.hpp"
#include "stress/keepers.hpp"
#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include "unit/sched/hold_worker.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using base::Rng;
using test::Baton;
using test::scaled;
using test::thread_now;

class StealStormTest : public test::WorkersTest {};

// What one half of a pair tells the other in a round.
constexpr std::uint64_t word_of(std::uint64_t half, std::uint64_t round) {
  return (half * 1'000'003 + round) * 0x9e3779b97f4a7c15u;
}

// Two fibers that meet in some rounds, each leaving a word for the other.
struct Half {
  Baton baton;
  // One per parity: the other half is at most one meeting ahead.
  std::array<std::uint64_t, 2> left{};
};

struct Pair {
  std::array<Half, 2> half;
};

void meet(Pair& pair, std::uint64_t id, std::uint64_t meeting,
          std::uint64_t& sum) {
  const auto side = id % 2;
  auto& mine = pair.half[side];
  auto& other = pair.half[1 - side];
  other.left[meeting % 2] = word_of(id, meeting);
  other.baton.give();
  ASSERT_TRUE(mine.baton.take());
  ASSERT_EQ(mine.left[meeting % 2], word_of(id ^ 1, meeting));
  sum += mine.left[meeting % 2];
}

// Whether the two meet is the pair's choice, all else each one's own.
std::uint64_t live_through(Pair& pair, std::uint64_t id, int rounds) {
  Rng shared(id / 2);
  Rng own(~id);
  std::uint64_t sum = 0;
  std::uint64_t meeting = 0;
  for (int i = 0; i < rounds; ++i) {
    std::optional<this_fiber::Pin> pin;
    if (own.below(4) == 0) pin.emplace();
    const pid_t before = thread_now();
    const auto yields = own.below(3);
    for (std::uint32_t y = 0; y < yields; ++y) this_fiber::yield();
    if (shared.below(2) == 0) meet(pair, id, meeting++, sum);
    if (own.below(4) == 0) this_fiber::yield();
    if (pin) {
      EXPECT_EQ(thread_now(), before);
    }
  }
  return sum;
}

// The same sum, without fibers.
std::uint64_t expected_of(std::uint64_t id, int rounds) {
  Rng shared(id / 2);
  std::uint64_t sum = 0;
  std::uint64_t meeting = 0;
  for (int i = 0; i < rounds; ++i) {
    if (shared.below(2) == 0) sum += word_of(id ^ 1, meeting++);
  }
  return sum;
}

constexpr std::uint64_t kPairs = 64;

// All fibers at once, inside the current one.
void storm(int rounds) {
  std::vector<Pair> pairs(kPairs);
  std::vector<std::uint64_t> sums(2 * kPairs);
  {
    Nursery nursery;
    for (std::uint64_t id = 0; id < sums.size(); ++id) {
      nursery.spawn([&pairs, &sums, id, rounds] {
        sums[id] = live_through(pairs[id / 2], id, rounds);
      });
    }
    EXPECT_TRUE(nursery.join());
  }
  for (std::uint64_t id = 0; id < sums.size(); ++id) {
    EXPECT_EQ(sums[id], expected_of(id, rounds)) << "fiber " << id;
  }
}

// R-RUNQ-11 R-CTRL-03
TEST_P(StealStormTest, FibersKeepTheirValuesAndTheirPins) {
  in_fiber([] { storm(scaled(2'000)); });
}

// R-RUNQ-11: the spawner holds its worker, so each child runs elsewhere.
TEST_P(StealStormTest, ChildrenOfAHeldWorkerRunOnOthers) {
  const int rounds = scaled(100);
  constexpr int kChildren = 200;
  in_fiber([&] {
    for (int round = 0; round < rounds; ++round) {
      std::atomic<int> ended{0};
      const pid_t held = thread_now();
      Nursery nursery;
      for (int i = 0; i < kChildren; ++i) {
        nursery.spawn([&ended, held, i] {
          EXPECT_NE(thread_now(), held);
          if (i % 2 == 0) this_fiber::yield();
          EXPECT_NE(thread_now(), held);
          ++ended;
        });
      }
      test::hold_worker_until([&] { return ended == kChildren; });
      EXPECT_EQ(thread_now(), held);
      EXPECT_TRUE(nursery.join());
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Workers, StealStormTest,
                         ::testing::Values(2u, 4u, 16u));

#if defined(WEFT_DEBUG_CHECKS)

class TransitionsTest : public test::RuntimeTest {};

// How often each step was taken since the last call of restart().
class Steps {
 public:
  std::uint64_t taken(fiber::Logical from, fiber::Logical to) const {
    return fiber::transitions_taken(from, to) - before_[cell(from, to)];
  }
  void restart() {
    for (std::size_t i = 0; i < before_.size(); ++i) {
      before_[i] = fiber::transitions_taken(
          static_cast<fiber::Logical>(i / fiber::kLogicalStates),
          static_cast<fiber::Logical>(i % fiber::kLogicalStates));
    }
  }

 private:
  static std::size_t cell(fiber::Logical from, fiber::Logical to) {
    return static_cast<std::size_t>(from) * fiber::kLogicalStates +
           static_cast<std::size_t>(to);
  }
  std::array<std::uint64_t, fiber::kLogicalStates * fiber::kLogicalStates>
      before_{};
};

constexpr int kCancelled = 100;

// Spawns fibers that wait for ever, and cancels them after ready().
template <typename Ready>
void expect_cancelled(Nursery& nursery, Ready ready) {
  Baton never;
  std::vector<Task<>> tasks;
  for (int i = 0; i < kCancelled; ++i) {
    tasks.push_back(nursery.spawn([&never] { return never.take(); }));
  }
  ready(never);
  for (auto& task : tasks) task.cancel();
  for (auto& task : tasks) EXPECT_EQ(task.join().error(), Errc::cancelled);
}

// R-TRANS-01
TEST_F(TransitionsTest, OfAStormBalance) {
  using enum fiber::Logical;
  Steps steps;
  steps.restart();
  {
    Runtime runtime = start(4);
    EXPECT_TRUE(runtime.run([] { storm(scaled(1'000)); }));
    EXPECT_TRUE(runtime.run([](Nursery& nursery) {
      expect_cancelled(nursery, [](Baton& never) {
        while (never.waiting() != kCancelled) this_fiber::yield();
      });
    }));
    expect_empty(runtime);
    Runtime lone = start(1);  // its fibers do not start before a wait
    EXPECT_TRUE(lone.run(
        [](Nursery& nursery) { expect_cancelled(nursery, [](Baton&) {}); }));
    expect_empty(lone);
  }
  const auto born = steps.taken(init, runnable);
  const auto ended =
      steps.taken(running, done) + steps.taken(running, cancelled);
  // Whoever became runnable has run.
  const auto queued =
      born + steps.taken(running, runnable) + steps.taken(parked, runnable);
  EXPECT_EQ(steps.taken(runnable, running), queued);
  // Whoever parked was woken.
  EXPECT_EQ(steps.taken(parking, parked), steps.taken(parked, runnable));
  // Every fiber ends once; the proxy of this thread lives on.
  EXPECT_GE(born, ended);
  EXPECT_LE(born, ended + 1);
  EXPECT_GE(ended, 2 * kPairs + 2 * kCancelled + 3);
  EXPECT_EQ(steps.taken(running, cancelled),
            std::uint64_t{kCancelled});  // never begun
}

#endif  // WEFT_DEBUG_CHECKS

}  // namespace
}  // namespace weft
