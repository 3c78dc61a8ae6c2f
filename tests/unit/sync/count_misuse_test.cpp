// count_misuse_test.cpp: what is reported of what counts, and ends the process.

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include "support/death_test.hpp"
#include "support/gate.hpp"
#include "support/parked.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;

class SyncCountDeathTest : public test::FreshProcessTest {
 protected:
  template <typename F>
  static void in_fiber(F&& body) {
    (void)run(Config{.workers = 1}, std::forward<F>(body));
  }
  // Destroys an object, made of the arguments, while a fiber is in wait(it).
  template <typename T, typename Wait, typename... Args>
  static void destroy_awaited(Wait wait, Args... args) {
    in_fiber([&](Nursery& nursery) {
      auto it = std::make_unique<T>(args...);
      await_parked(nursery.spawn([&] { (void)wait(*it); }));
      it.reset();
    });
  }
};

TEST_F(SyncCountDeathTest, ReportsAConditionThatGoesWhileSomebodyWaits) {
  Mutex mutex;
  const auto wait = [&mutex](ConditionVariable& changed) {
    std::unique_lock hold(mutex);
    return changed.wait(hold);
  };
  EXPECT_DEATH(destroy_awaited<ConditionVariable>(wait),
               "a ConditionVariable is destroyed while somebody waits for it");
}

TEST_F(SyncCountDeathTest, ReportsASemaphoreThatGoesWhileSomebodyWaits) {
  const auto wait = [](Semaphore& it) { return it.acquire(); };
  EXPECT_DEATH(destroy_awaited<Semaphore>(wait, 0),
               "a Semaphore is destroyed while somebody waits for it");
}

TEST_F(SyncCountDeathTest, ReportsAReleaseBelowZero) {
  EXPECT_DEATH(Semaphore(0).release(-1),
               "a Semaphore is to release -1 permits");
}

TEST_F(SyncCountDeathTest, ReportsALatchThatGoesWhileSomebodyWaits) {
  const auto wait = [](Latch& it) { return it.wait(); };
  EXPECT_DEATH(destroy_awaited<Latch>(wait, 1),
               "a Latch is destroyed while somebody waits for it");
}

TEST_F(SyncCountDeathTest, ReportsALatchBelowZero) {
  EXPECT_DEATH(Latch(-1), "a Latch counts down from -1");
  EXPECT_DEATH(Latch(1).count_down(2),
               "a Latch is counted down by 2, to below zero");
  EXPECT_DEATH(Latch(1).count_down(-1), "a Latch is counted down by -1");
  EXPECT_DEATH((void)Latch(0).arrive_and_wait(), "to below zero");
}

TEST_F(SyncCountDeathTest, ReportsAWaitGroupThatGoesWhileSomebodyWaits) {
  const auto wait = [](WaitGroup& it) {
    it.add();
    return it.wait();
  };
  EXPECT_DEATH(destroy_awaited<WaitGroup>(wait),
               "a WaitGroup is destroyed while somebody waits for it");
}

TEST_F(SyncCountDeathTest, ReportsAWaitGroupBelowZero) {
  EXPECT_DEATH(WaitGroup().done(), "a WaitGroup has more done.. than add..");
  EXPECT_DEATH(WaitGroup().add(-1), "a WaitGroup has more done.. than add..");
}

TEST_F(SyncCountDeathTest, ReportsABarrierThatGoesWhileSomebodyWaits) {
  const auto wait = [](Barrier& it) { return it.arrive_and_wait(); };
  EXPECT_DEATH(destroy_awaited<Barrier>(wait, 2),
               "a Barrier is destroyed while somebody waits for it");
}

TEST_F(SyncCountDeathTest, ReportsABarrierWithoutParties) {
  EXPECT_DEATH(Barrier(0), "a Barrier for 0 parties");
  EXPECT_DEATH(Barrier(-1), "a Barrier for -1 parties");
  EXPECT_DEATH(
      {
        Barrier barrier(1);
        barrier.arrive_and_drop();
        barrier.arrive_and_drop();
      },
      "a Barrier has no party left to drop");
}

TEST_F(SyncCountDeathTest, ReportsAOnceThatGoesWhileSomebodyWaits) {
  EXPECT_DEATH(in_fiber([](Nursery& nursery) {
                 auto once = std::make_unique<Once>();
                 test::Gate never;
                 await_parked(nursery.spawn(
                     [&] { (void)once->call([&] { (void)never.pass(); }); }));
                 await_parked(nursery.spawn([&] { (void)once->call([] {}); }));
                 once.reset();
               }),
               "a Once is destroyed while somebody waits for it");
}

TEST_F(SyncCountDeathTest, ReportsASequencerThatGoesWhileSomebodyWaits) {
  const auto wait = [](Sequencer& it) { return it.wait(1); };
  EXPECT_DEATH(
      destroy_awaited<Sequencer>(wait),
      "a Sequencer or an Event is destroyed while somebody waits for it");
  const auto pass = [](Event& it) { return it.wait(); };
  EXPECT_DEATH(
      destroy_awaited<Event>(pass),
      "a Sequencer or an Event is destroyed while somebody waits for it");
  EXPECT_DEATH(
      {
        Sequencer::Future wait_known;
        Sequencer sequencer;
        sequencer.wait(9, wait_known);
        sequencer.increment();
      },
      "a Sequencer or an Event is destroyed while somebody waits for it");
}

TEST_F(SyncCountDeathTest, ReportsASequencersFutureThatGoesWhileItWaits) {
  for (const bool known : {false, true}) {
    EXPECT_DEATH(
        {
          Sequencer sequencer;
          Sequencer::Future done;
          sequencer.wait(2, done);
          if (known) sequencer.increment();
        },
        "a Sequencer's Future is destroyed while it waits: cancel.. it");
    EXPECT_DEATH(
        {
          Sequencer sequencer;
          Sequencer::Future done;
          sequencer.wait(2, done);
          if (known) sequencer.increment();
          done.reset();
        },
        "a Sequencer's Future is reset while it waits: cancel.. it");
  }
}

// Reached and cancelled from a callback, but not yet set.
TEST_F(SyncCountDeathTest, ReportsAFutureThatIsDoneButNotSet) {
  struct Misuse : AnyFuture::Callback {
    explicit Misuse(std::function<void(Misuse&)> does)
        : Callback{[](Callback& it) noexcept {
            auto& self = static_cast<Misuse&>(it);
            self.same->cancel();
            self.misuse(self);
          }},
          misuse(std::move(does)) {}
    std::function<void(Misuse&)> misuse;
    Sequencer sequencer;
    std::unique_ptr<Sequencer::Future> same =
        std::make_unique<Sequencer::Future>();
  };
  const auto run_into = [](std::function<void(Misuse&)> does) {
    Misuse misuse(std::move(does));
    Sequencer::Future first;
    misuse.sequencer.wait(1, first);
    misuse.sequencer.wait(2, *misuse.same);
    (void)first.subscribe(misuse);
    misuse.sequencer.advance(2);
  };
  EXPECT_DEATH(run_into([](Misuse& it) { it.same.reset(); }),
               "a Sequencer's Future is destroyed while it waits: cancel.. it");
  EXPECT_DEATH(run_into([](Misuse& it) { it.same->reset(); }),
               "a Sequencer's Future is reset while it waits: cancel.. it");
  EXPECT_DEATH(run_into([](Misuse& it) { it.sequencer.wait(9, *it.same); }),
               "a sequencer's future is used again before it was reset");
}

TEST_F(SyncCountDeathTest, ReportsMorePermitsAndCountsThanThereAreNumbers) {
  constexpr auto kMost = std::numeric_limits<std::ptrdiff_t>::max();
  EXPECT_DEATH(
      {
        Semaphore semaphore(1);
        semaphore.release(kMost);
      },
      "permits more than it can count");
  EXPECT_DEATH(
      {
        WaitGroup group;
        group.add(kMost);
        group.add(1);
      },
      "a WaitGroup has more done.. than add.., or more than it can count");
}

TEST_F(SyncCountDeathTest, ReportsASequencersFutureThatIsUsedAgain) {
  constexpr const char* kAgain =
      "a sequencer's future is used again before it was reset";
  EXPECT_DEATH(
      {
        Sequencer sequencer;
        Sequencer::Future done;
        sequencer.wait(0, done);
        sequencer.wait(1, done);
      },
      kAgain);
  EXPECT_DEATH(
      {
        Sequencer sequencer;
        Sequencer::Future done;
        sequencer.wait(1, done);
        sequencer.wait(1, done);
      },
      kAgain);
}

}  // namespace
}  // namespace weft
