// given_up_test.cpp: what a fiber that is given up leaves to others.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "support/death_test.hpp"
#include "support/runtime_test.hpp"
#include "support/spending.hpp"
#include "unit/scope/capability_fixture.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using namespace std::chrono_literals;
using test::compute_for_ever;

// Spawns the body into the sandbox with a few ops, waits until it has run out,
// and cancels it: it is given up.
template <typename F>
void give_up_in(Nursery& sandbox, F&& body) {
  auto task = sandbox.spawn({.budget = Budget{.ops = 100, .spawn_count = 4},
                             .on_failure = OnFailure::keep},
                            std::forward<F>(body));
  test::await_exhausted(task);
  task.cancel();
  EXPECT_EQ(task.join().error(), Errc::exhausted);
}

class GivenUpTest : public test::WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, GivenUpTest, ::testing::Values(1u, 4u));

// The service is not around the fiber, so no scope of it leads there.
TEST_P(GivenUpTest, LeavesANurseryInAStrangersBehind) {
  in_fiber([] {
    Nursery sandbox;
    Nursery service;
    give_up_in(sandbox, [&service] {
      Nursery inner(service);
      Nursery innermost(inner);
      innermost.spawn([] {});
      compute_for_ever();
    });
    EXPECT_TRUE(service.join());
  });
}

TEST_P(GivenUpTest, LeavesANurseryOnTheHeapBehind) {
  in_fiber([] {
    Nursery sandbox;
    Nursery service;
    give_up_in(sandbox, [inner = std::make_unique<Nursery>(service)] {
      inner->spawn([] {});
      compute_for_ever();
    });
    EXPECT_TRUE(service.join());
  });
}

TEST_P(GivenUpTest, LeavesChildrenToTheOneAroundTheirNursery) {
  in_fiber([] {
    Nursery sandbox;
    Nursery service;
    give_up_in(sandbox, [&service] {
      Nursery inner(service);
      inner.spawn([] { return this_fiber::sleep_until(Deadline::never()); });
      compute_for_ever();
    });
    EXPECT_EQ(service.live(), 1u);
    service.cancel();
    EXPECT_TRUE(service.join());
  });
}

// The Task is never destroyed; nobody is told to do that.
TEST_P(GivenUpTest, TakesATaskAlong) {
  in_fiber([] {
    Nursery sandbox;
    Nursery service;
    give_up_in(sandbox, [&service] {
      const auto task = service.spawn([] {});
      compute_for_ever();
    });
    EXPECT_TRUE(service.join());
  });
}

struct EndsNever {
  bool armed = false;
  ~EndsNever() {
    if (armed) compute_for_ever();
  }
};
const FiberLocal<EndsNever> ends_never;

// Its body has ended, with a value that nobody will get.
TEST_P(GivenUpTest, DestroysItsResultIfALocalNeverEnds) {
  in_fiber([] {
    Nursery sandbox;
    const auto result = std::make_shared<int>(7);
    give_up_in(sandbox, [result] {
      ends_never->armed = true;
      return result;
    });
    EXPECT_EQ(result.use_count(), 1);
  });
}

// What is moved from is harmless.
class EndsNeverOnce {
 public:
  EndsNeverOnce() = default;
  EndsNeverOnce(EndsNeverOnce&& other) noexcept
      : armed_(std::exchange(other.armed_, false)) {}
  EndsNeverOnce& operator=(EndsNeverOnce&&) = delete;
  ~EndsNeverOnce() {
    if (armed_) compute_for_ever();
  }

 private:
  bool armed_ = true;
};

TEST_P(GivenUpTest, EndsThoughNeitherItsResultNorALocalEnds) {
  in_fiber([] {
    Nursery sandbox;
    give_up_in(sandbox, [] {
      ends_never->armed = true;
      return EndsNeverOnce();
    });
    EXPECT_TRUE(sandbox.join());
  });
}

struct Waits {
  Event* until = nullptr;
  ~Waits() {
    if (until != nullptr) (void)until->wait();
  }
};
const FiberLocal<Waits> waits;

// Starts a fiber that returns make(), and drops its handle when it is between
// its locals and its end.
template <typename F>
void drop_at_the_end(Nursery& sandbox, F make) {
  Event dropped;
  std::atomic<bool> is_ending{false};
  {
    auto task = sandbox.spawn({.budget = Budget{.ops = 100, .spawn_count = 4},
                               .on_failure = OnFailure::keep},
                              [&dropped, &is_ending, make] {
                                waits->until = &dropped;
                                is_ending = true;
                                return make();
                              });
    while (!is_ending || task.state() != FiberState::parked) {
      this_fiber::yield();
    }
  }
  dropped.set();
  while (sandbox.live() != 0 && !sandbox.wait_exhausted(Deadline::after(1ms))) {
  }
}

TEST_P(GivenUpTest, EndsThoughAResultThatNobodyWantsDoesNot) {
  in_fiber([] {
    Nursery sandbox;
    drop_at_the_end(sandbox, [] { return EndsNeverOnce(); });
    EXPECT_EQ(sandbox.live(), 1u);
    sandbox.cancel();
    EXPECT_TRUE(sandbox.join());
  });
}

class SpawnsAtItsEnd {
 public:
  explicit SpawnsAtItsEnd(std::atomic<int>& spawned) : spawned_(&spawned) {}
  SpawnsAtItsEnd(SpawnsAtItsEnd&& other) noexcept
      : spawned_(std::exchange(other.spawned_, nullptr)) {}
  SpawnsAtItsEnd& operator=(SpawnsAtItsEnd&&) = delete;
  ~SpawnsAtItsEnd() {
    if (spawned_ == nullptr) return;
    Nursery nursery;
    nursery.spawn({.budget = Budget{.ops = 10}}, [this] { ++*spawned_; });
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(this_fiber::ledger().left.spawn_count, 3);
  }

 private:
  std::atomic<int>* spawned_;
};

// It still has what it had, and gives back what is left.
TEST_P(GivenUpTest, PaysForWhatAResultThatNobodyWantsDoesAtItsEnd) {
  in_fiber([] {
    std::atomic<int> spawned{0};
    Nursery sandbox({.budget = Budget{.ops = 1000, .spawn_count = 10}});
    drop_at_the_end(sandbox, [&spawned] { return SpawnsAtItsEnd(spawned); });
    EXPECT_EQ(spawned, 1);
    EXPECT_EQ(sandbox.budget().spawn_count, 8);
    EXPECT_EQ(sandbox.budget().ops, 999u);
    EXPECT_TRUE(sandbox.join());
  });
}

// ---- In the middle of a spawn.

struct CopiesForEver {
  CopiesForEver() = default;
  CopiesForEver(const CopiesForEver& /*other*/) { compute_for_ever(); }
  void operator()() const {}
};
const CopiesForEver copies_for_ever;

TEST_P(GivenUpTest, LeavesNoChildThatItWasAboutToStart) {
  in_fiber([] {
    Nursery sandbox({.budget = Budget::service()});
    Nursery service;
    give_up_in(sandbox, [&] { sandbox.spawn(copies_for_ever); });
    give_up_in(sandbox, [&] { service.spawn(copies_for_ever); });
    give_up_in(sandbox, [] {
      Nursery own({.budget = Budget{.ops = 50, .spawn_count = 1}});
      own.spawn({.name = "child", .budget = Budget{.ops = 50}},
                copies_for_ever);
    });
    EXPECT_TRUE(sandbox.join());
    EXPECT_TRUE(service.join());
  });
}

struct SpawnsWhenCopied {
  explicit SpawnsWhenCopied(Nursery& where) : nursery(&where) {}
  SpawnsWhenCopied(const SpawnsWhenCopied& other) : nursery(other.nursery) {
    nursery->spawn({.budget = Budget{.ops = 1}}, [] {});
    nursery->spawn({.budget = Budget{.ops = 1}}, copies_for_ever);
  }
  void operator()() const {}
  Nursery* nursery;
};

TEST_P(GivenUpTest, LeavesNoneOfSeveralThatItWasAboutToStart) {
  in_fiber([] {
    Nursery sandbox;
    Nursery service({.budget = Budget::service()});
    give_up_in(sandbox, [&] {
      const SpawnsWhenCopied closure(service);
      sandbox.spawn({.budget = Budget{.ops = 1}}, closure);
    });
    const Budget one{.ops = 0, .spawn_count = 1};  // that did start
    while (service.live() != 0) this_fiber::yield();
    EXPECT_EQ(service.budget(), Budget::service() - one);
    EXPECT_TRUE(service.join());
    EXPECT_TRUE(sandbox.join());
  });
}

// ---- When the runtime goes.

class LostTaskTest : public test::RuntimeTest {};

TEST_F(LostTaskTest, HasItsResultDestroyed) {
  const auto result = std::make_shared<int>(7);
  {
    Runtime runtime = start(2);
    EXPECT_TRUE(runtime.run([&result] {
      Nursery sandbox;
      Nursery service;
      give_up_in(sandbox, [&service, &result] {
        const auto task = service.spawn([&result] { return result; });
        compute_for_ever();
      });
      EXPECT_TRUE(service.join());
    }));
    EXPECT_EQ(result.use_count(), 2);
  }
  EXPECT_EQ(result.use_count(), 1);
}

// Nobody can tell it from one that is lost.
TEST_F(LostTaskTest, IsNoHarmIfSomebodyHoldsItInFact) {
  Task<std::string> kept;
  Task<std::string> asked;
  {
    Runtime runtime = start(2);
    EXPECT_TRUE(runtime.run([&] {
      Nursery nursery;
      give_up_in(nursery, [] { compute_for_ever(); });
      kept =
          nursery.spawn({.name = "kept"}, [] { return std::string(100, 'x'); });
      asked = nursery.spawn([] { return std::string(100, 'y'); });
      EXPECT_TRUE(nursery.join());
    }));
  }
  EXPECT_TRUE(kept.done());
  EXPECT_EQ(kept.name(), "");
  EXPECT_EQ(asked.join().error(), Errc::closed);
}

class LostTaskDeathTest : public test::FreshProcessTest {};

TEST_F(LostTaskDeathTest, IsNoExcuseForTasksOfLaterRuntimes) {
  EXPECT_DEATH(
      {
        Runtime first = *Runtime::start({.workers = 1});
        (void)first.run([] {
          Nursery sandbox;
          give_up_in(sandbox, [] { compute_for_ever(); });
        });
        Task<int> task;
        Runtime second = *Runtime::start({.workers = 1});
        Nursery nursery(second);
        task = nursery.spawn([] { return 1; });
        (void)nursery.join();
      },
      "1 tasks outlive their runtime");
}

class GivenUpByCapabilityTest : public test::AuthorityTest {};
INSTANTIATE_TEST_SUITE_P(Workers, GivenUpByCapabilityTest,
                         ::testing::Values(1u, 4u));

TEST_P(GivenUpByCapabilityTest, GivesThePlaceBackOfWhomItDidNotStart) {
  in_fiber([&] {
    auto places = all().spawn.narrow({2, test::kPurse}).value();
    test::Sandbox sandbox(all().budget, test::kPurse + test::kPurse);
    auto task = sandbox.spawn(
        places,
        {.budget = Budget{.ops = 100, .spawn_count = 1},
         .on_failure = OnFailure::keep},
        [&] {
          sandbox.spawn(places, {.budget = Budget{.ops = 1}}, copies_for_ever);
        });
    test::await_exhausted(task);
    EXPECT_EQ(places.limits().max_tasks, 0u);
    task.cancel();
    EXPECT_EQ(task.join().error(), Errc::exhausted);
    EXPECT_EQ(places.limits().max_tasks, 2u);
    EXPECT_TRUE(sandbox.join());
  });
}

}  // namespace
}  // namespace weft
