// The search without a bound leaves schedules out. It must not leave out an
// outcome: programs made by lot have the same ones as in the whole tree.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "stress/scale.hpp"
#include "support/gate.hpp"
#include <weft/testing.hpp>
#include <weft/weft.hpp>

namespace weft {
namespace {

using testing::ExploreResult;
using testing::Simulation;

constexpr unsigned kWholeTree = 1'000'000;  // more preemptions than steps
constexpr unsigned kEnough = 3;             // preemptions for all outcomes here

struct Tree {
  ExploreResult result;
  std::set<std::string> outcomes;
};

template <typename Body>
Tree explore_all(unsigned depth, Body&& body, unsigned workers = 3) {
  Tree tree;
  tree.result = testing::explore({.search = testing::Search::exhaustive,
                                  .schedules = 2'000'000,
                                  .workers = workers,
                                  .depth = depth},
                                 [&](Simulation& sim) {
                                   std::string outcome;
                                   body(sim, outcome);
                                   tree.outcomes.insert(outcome);
                                 });
  EXPECT_TRUE(tree.result) << tree.result;
  EXPECT_TRUE(tree.result.complete);
  return tree;
}

// One fiber's part of a program: what it does to which object.
struct Step {
  enum Kind : std::uint32_t { load, store, add, enter, kKinds } kind;
  std::uint32_t object;
};
using Script = std::vector<Step>;

void run_program(const std::vector<Script>& fibers, std::string& outcome) {
  testing::Atomic<int> words[2];
  SpinLock locks[2];
  std::string entered[2];  // guarded by the lock of that index
  std::vector<std::string> seen(fibers.size());
  Nursery nursery;
  for (std::size_t id = 0; id < fibers.size(); ++id) {
    nursery.spawn([&, id] {
      for (const Step step : fibers[id]) {
        auto& word = words[step.object];
        switch (step.kind) {
          case Step::load:
            seen[id] += std::to_string(word.load());
            break;
          case Step::store:
            word.store(static_cast<int>(id) + 1);
            break;
          case Step::add:
            seen[id] += std::to_string(word.fetch_add(1));
            break;
          default: {
            std::lock_guard hold(locks[step.object]);
            entered[step.object] += std::to_string(id);
          }
        }
      }
    });
  }
  EXPECT_TRUE(nursery.join());
  for (const auto& registers : seen) outcome += registers + ' ';
  outcome += entered[0] + ' ' + entered[1];
}

TEST(Reduction, LeavesOutNoOutcomeOfProgramsMadeByLot) {
  base::Rng rng(20);
  std::uint64_t whole_size = 0;
  std::uint64_t reduced_size = 0;
  const int programs = std::max(5, test::scaled(20));
  for (int program = 0; program < programs; ++program) {
    std::vector<Script> fibers(program % 2 == 0 ? 2 : 3);
    for (auto& script : fibers) {
      const auto steps = fibers.size() == 2 ? 1 + rng.below(2) : 1;
      for (std::uint32_t i = 0; i < steps; ++i) {
        script.push_back(
            {static_cast<Step::Kind>(rng.below(Step::kKinds)), rng.below(2)});
      }
    }
    const auto body = [&fibers](Simulation&, std::string& outcome) {
      run_program(fibers, outcome);
    };
    const Tree whole =
        explore_all(fibers.size() == 2 ? kWholeTree : kEnough, body);
    const Tree reduced = explore_all(testing::kNoBound, body);
    EXPECT_EQ(reduced.outcomes, whole.outcomes) << "program " << program;
    if (fibers.size() != 2) continue;
    whole_size += whole.result.schedules;
    reduced_size += reduced.result.schedules;
  }
  EXPECT_LT(reduced_size, whole_size);
}

// Waits, wakes and cancels are steps as well.
TEST(Reduction, LeavesOutNoOutcomeOfWaits) {
  const auto body = [](Simulation&, std::string& outcome) {
    test::Gate gate;
    Nursery nursery;
    auto waiter = nursery.spawn([&] { return gate.pass().has_value(); });
    nursery.spawn([&] {
      gate.open();
      waiter.cancel();
    });
    const auto end = waiter.join();
    outcome = !end ? "not begun" : *end ? "passed" : "cancelled";
    EXPECT_TRUE(nursery.join());
  };
  const Tree bounded = explore_all(kEnough, body, 2);
  const Tree reduced = explore_all(testing::kNoBound, body, 5);
  EXPECT_EQ(bounded.outcomes.size(), 3u);
  EXPECT_EQ(reduced.outcomes, bounded.outcomes);
}

// The same outcomes within a bound, which leaves nothing out, and without one.
template <typename Body>
void expect_the_same(unsigned workers, Body&& body) {
  const Tree bounded = explore_all(kEnough, body, workers);
  const Tree reduced = explore_all(testing::kNoBound, body, workers);
  EXPECT_EQ(reduced.outcomes, bounded.outcomes);
}

TEST(Reduction, KnowsThatFibersCompeteForWorkers) {
  expect_the_same(2, [](Simulation&, std::string& outcome) {
    testing::Atomic<int> word{0};
    int seen[4];
    Nursery nursery;
    nursery.spawn([&] {
      seen[0] = word.fetch_add(1);
      seen[1] = word.fetch_add(1);
    });
    nursery.spawn([&] { seen[2] = word.fetch_add(1); });
    nursery.spawn([&] { seen[3] = word.fetch_add(1); });
    EXPECT_TRUE(nursery.join());
    for (const int value : seen) outcome += std::to_string(value);
  });
}

TEST(Reduction, TellsThingsApartByNameNotByAddress) {
  std::vector<std::unique_ptr<testing::Atomic<int>>> all;  // none lies twice
  expect_the_same(4, [&all](Simulation&, std::string& outcome) {
    all.push_back(std::make_unique<testing::Atomic<int>>(0));
    auto& word = *all.back();
    int seen[3];
    Nursery nursery;
    for (int& value : seen) {
      nursery.spawn([&word, &value] { value = word.fetch_add(1); });
    }
    EXPECT_TRUE(nursery.join());
    for (const int value : seen) outcome += std::to_string(value);
  });
}

TEST(Reduction, KnowsThatFibersAreLookedAt) {
  expect_the_same(4, [](Simulation&, std::string& outcome) {
    Nursery nursery;
    auto watched = nursery.spawn([] {});
    nursery.spawn([] {});
    nursery.spawn([&] {
      outcome += watched.done() ? "1" : "0";
      outcome += watched.done() ? "1" : "0";
    });
    EXPECT_TRUE(nursery.join());
  });
}

TEST(Reduction, KnowsThatAStepDependsOnWhatItChose) {
  expect_the_same(4, [](Simulation& sim, std::string& outcome) {
    testing::Atomic<int> words[2];
    SpinLock lock;
    std::uint64_t chosen = 0;
    int seen[2];
    Nursery nursery;
    nursery.spawn([&] {
      std::lock_guard hold(lock);
      chosen = sim.choose(2);
      words[chosen].store(1);
    });
    for (int& value : seen) {
      nursery.spawn([&] { value = words[0].load(); });
    }
    EXPECT_TRUE(nursery.join());
    outcome = std::to_string(chosen) + std::to_string(seen[0]) +
              std::to_string(seen[1]);
  });
}

TEST(Reduction, TriesAlmostNothingIfFibersShareNothing) {
  const auto body = [](Simulation&, std::string&) {
    testing::Atomic<int> words[2];
    Nursery nursery;
    for (auto& word : words) {
      nursery.spawn([&word] {
        for (int i = 0; i < 4; ++i) word.store(i);
      });
    }
    EXPECT_TRUE(nursery.join());
  };
  const Tree whole = explore_all(kWholeTree, body);
  const Tree reduced = explore_all(testing::kNoBound, body);
  EXPECT_LT(reduced.result.schedules * 50, whole.result.schedules);
}

}  // namespace
}  // namespace weft
