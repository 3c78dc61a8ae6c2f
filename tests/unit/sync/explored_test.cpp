// explored_test.cpp: futures, counters and conditions, over schedules.

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <mutex>
#include <vector>

#include "unit/sync/searches.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Fault;
using test::search_all;
using test::Simulation;
using testing::point;
using namespace std::chrono_literals;

struct Count : AnyFuture::Callback {
  Count() noexcept
      : Callback{
            [](Callback& it) noexcept { ++static_cast<Count&>(it).calls; }} {}
  int calls = 0;
};

// R-FUT-04
TEST(ExploredFuture, LosesNoWake) {
  const auto body = [](Simulation&) {
    Future<int> answer;
    int plain = 0;
    Nursery nursery;
    nursery.spawn([&] {
      plain = 1;
      answer.set(7);
    });
    nursery.spawn([&] {
      EXPECT_EQ(answer.wait().value(), 7);
      EXPECT_EQ(plain, 1);
    });
    EXPECT_TRUE(nursery.join());
  };
  search_all({}, 3, body);
  search_all({Fault::spurious_wake}, 2, body);
}

// R-FUT-07 C-27: who gives up leaves it to the next.
TEST(ExploredFuture, IsAsItWasWhenItsWaiterGivesUp) {
  search_all({Fault::cancel_at_checkpoint, Fault::time_passes}, 1,
             [](Simulation&) {
               Future<int> answer;
               int got = 0;
               Nursery nursery;
               nursery.spawn([&] { answer.set(7); });
               auto hasty = nursery.spawn([&] {
                 const auto end = answer.wait(Deadline::after(1ms));
                 if (end) got += *end;
               });
               (void)hasty.join();
               if (got == 0) got += answer.wait().value();
               EXPECT_TRUE(nursery.join());
               EXPECT_EQ(got, 7);
             });
}

// R-FUT-05
TEST(ExploredFuture, CallsOnceOrRefuses) {
  search_all({}, 3, [](Simulation&) {
    Future<> done;
    Count count;
    bool subscribed = false;
    Nursery nursery;
    nursery.spawn([&] { done.set(); });
    nursery.spawn([&] { subscribed = done.subscribe(count); });
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(count.calls, subscribed ? 1 : 0);
  });
}

// R-FUT-06
TEST(ExploredFuture, WaitAnyAnswersOneThatIsSet) {
  const auto body = [](Simulation&) {
    Future<> first;
    Future<> second;
    AnyFuture* const both[] = {&first, &second};
    Nursery nursery;
    nursery.spawn([&] { first.set(); });
    nursery.spawn([&] { second.set(); });
    nursery.spawn([&] {
      const auto which = wait_any(both, Deadline::after(1ms));
      EXPECT_TRUE(!which || both[*which]->is_set());
    });
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(wait_any(both).value(), 0u);
  };
  search_all({Fault::time_passes, Fault::cancel_at_checkpoint}, 1, body);
  search_all({Fault::spurious_wake}, 1, body);
}

// R-FUTEX-01 R-FUTEX-02
TEST(ExploredFutex, LosesNoPost) {
  const auto body = [](Simulation&) {
    Futex futex;
    Nursery nursery;
    for (int i = 0; i < 2; ++i) nursery.spawn([&] { futex.post(); });
    nursery.spawn([&] {
      while (futex.get() < 2) {
        if (!futex.wait(2)) return;
      }
    });
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(futex.get(), 2u);
  };
  search_all({}, 2, body);
  search_all({Fault::spurious_wake, Fault::cancel_at_checkpoint}, 1, body);
}

TEST(ExploredCondition, CarriesAQueueOfOne) {
  const auto body = [](Simulation&) {
    Mutex mutex;
    ConditionVariable changed;
    int items = 0;
    int taken = 0;
    Nursery nursery;
    for (int i = 0; i < 2; ++i) {
      nursery.spawn([&] {
        std::unique_lock hold(mutex);
        EXPECT_TRUE(changed.wait(hold, [&] { return items > 0; }));
        --items;
        ++taken;
      });
    }
    nursery.spawn([&] {
      for (int i = 0; i < 2; ++i) {
        std::lock_guard hold(mutex);
        ++items;
        changed.notify_one();
      }
    });
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(taken, 2);
  };
  search_all({}, 1, body);
  search_all({Fault::spurious_wake}, 1, body);
}

// A notification is for one who still waits; the lock is held on error, too.
TEST(ExploredCondition, NotifiesTheNextWhenAWaiterGivesUp) {
  search_all({Fault::cancel_at_checkpoint, Fault::time_passes}, 1,
             [](Simulation& sim) {
               Mutex mutex;
               ConditionVariable changed;
               int inside = 0;
               int permits = 0;
               Nursery nursery;
               for (int i = 0; i < 2; ++i) {
                 nursery.spawn([&, i] {
                   std::unique_lock hold(mutex);
                   const auto when =
                       i == 0 ? Deadline::after(1ms) : Deadline::never();
                   const auto end = changed.wait(
                       hold, [&] { return permits > 0; }, when);
                   EXPECT_TRUE(hold.owns_lock());
                   EXPECT_EQ(++inside, 1);
                   point();
                   --inside;
                   if (end) --permits;
                 });
               }
               sim.wait_until_all_parked();
               for (int i = 0; i < 2; ++i) {
                 std::lock_guard hold(mutex);
                 ++permits;
                 changed.notify_one();
               }
               EXPECT_TRUE(nursery.join());
             });
}

TEST(ExploredSemaphore, KeepsCount) {
  const auto body = [](Simulation&) {
    Semaphore semaphore(1);
    int taken = 0;
    int inside = 0;
    Nursery nursery;
    for (int i = 0; i < 3; ++i) {
      nursery.spawn([&, i] {
        const auto when = i == 0 ? Deadline::after(1ms) : Deadline::never();
        if (!semaphore.acquire(when)) return;
        EXPECT_EQ(++inside, 1);
        point();
        --inside;
        ++taken;
        semaphore.release();
      });
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_GE(taken, 1);
    EXPECT_TRUE(semaphore.try_acquire());
    EXPECT_FALSE(semaphore.try_acquire());
  };
  search_all({Fault::cancel_at_checkpoint, Fault::time_passes}, 1, body);
  search_all({Fault::spurious_wake}, 1, body);
}

TEST(ExploredLatch, OpensForAll) {
  const auto body = [](Simulation&) {
    Latch latch(2);
    WaitGroup group;
    group.add(2);
    int arrived = 0;
    Nursery nursery;
    for (int i = 0; i < 2; ++i) {
      nursery.spawn([&] {
        ++arrived;
        EXPECT_TRUE(!latch.arrive_and_wait() || arrived == 2);
        group.done();
      });
    }
    nursery.spawn([&] { EXPECT_TRUE(!group.wait() || latch.try_wait()); });
    EXPECT_TRUE(nursery.join());
    EXPECT_TRUE(latch.try_wait());
    EXPECT_TRUE(group.wait());
  };
  search_all({}, 1, body);
  search_all({Fault::cancel_at_checkpoint, Fault::spurious_wake}, 1, body);
}

// In each round all are through, or the arrivals were taken back.
TEST(ExploredBarrier, EndsRoundsTogether) {
  search_all({}, 1, [](Simulation&) {
    Barrier barrier(2);
    int round[2] = {};
    int last = 0;
    Nursery nursery;
    for (int i = 0; i < 2; ++i) {
      nursery.spawn([&, i] {
        for (int n = 1; n <= 2; ++n) {
          round[i] = n;
          last += barrier.arrive_and_wait().value();
          EXPECT_GE(round[1 - i], n);
        }
      });
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(last, 2);
  });
}

TEST(ExploredBarrier, TakesBackTheArrivalOfWhoGivesUp) {
  search_all({Fault::cancel_at_checkpoint, Fault::time_passes}, 1,
             [](Simulation&) {
               Barrier barrier(2);
               int through = 0;
               int last = 0;
               Nursery nursery;
               for (int i = 0; i < 3; ++i) {
                 nursery.spawn([&] {
                   const auto end = barrier.arrive_and_wait(
                       Deadline::after(std::chrono::milliseconds(1)));
                   if (!end) return;
                   ++through;
                   last += *end;
                 });
               }
               EXPECT_TRUE(nursery.join());
               EXPECT_EQ(through, 2 * last);
             });
}

TEST(ExploredOnce, SucceedsOnceWhateverFails) {
  const auto body = [](Simulation&) {
    Once once;
    int successes = 0;
    int tries = 0;
    Nursery nursery;
    for (int i = 0; i < 3; ++i) {
      nursery.spawn([&, i] {
        const auto end = once.call(
            [&]() -> Status {
              point();
              if (++tries == 1) return Errc::denied;
              ++successes;
              return {};
            },
            i == 0 ? Deadline::after(1ms) : Deadline::never());
        EXPECT_TRUE(!end || successes == 1);
      });
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_TRUE(once.call([&] { ++successes; }));
    EXPECT_EQ(successes, 1);
  };
  search_all({Fault::cancel_at_checkpoint, Fault::time_passes}, 1, body);
  search_all({Fault::spurious_wake}, 1, body);
}

// Who was told that it is free again is cancelled on his way.
TEST(ExploredOnce, TellsTheNextWhenTheOneWhoWasToldGivesUp) {
  search_all({}, 2, [](Simulation& sim) {
    Once once;
    Event fails;
    int successes = 0;
    const auto succeed = [&] { ++successes; };
    Nursery nursery;
    nursery.spawn([&] {
      const auto end = once.call([&]() -> Status {
        EXPECT_TRUE(fails.wait());
        return Errc::denied;
      });
      EXPECT_EQ(end.error(), Errc::denied);
    });
    sim.wait_until_all_parked();
    auto gone = nursery.spawn([&] { (void)once.call(succeed); });
    sim.wait_until_all_parked();
    nursery.spawn([&] { EXPECT_TRUE(once.call(succeed)); });
    sim.wait_until_all_parked();
    nursery.spawn([&] { gone.cancel(); });
    fails.set();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(successes, 1);
  });
}

// R-SEQ-01 R-SEQ-05 R-SEQ-07
TEST(ExploredSequencer, CompletesEachWaitOnce) {
  const auto body = [](Simulation&) {
    Sequencer sequencer;
    Sequencer::Future wait;
    Count count;
    sequencer.wait(2, wait);
    EXPECT_TRUE(wait.subscribe(count));
    Nursery nursery;
    nursery.spawn([&] { sequencer.increment(); });
    nursery.spawn([&] { sequencer.advance(2); });
    nursery.spawn([&] {
      wait.cancel();
      EXPECT_TRUE(wait.is_set());
    });
    nursery.spawn([&] {
      const auto end = sequencer.wait(2, Deadline::after(1ms));
      EXPECT_TRUE(!end || sequencer.value() >= 2);
    });
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(count.calls, 1);
  };
  search_all({}, 1, body);
  search_all({Fault::time_passes, Fault::cancel_at_checkpoint}, 1, body);
}

// R-EVENT-01 R-EVENT-02
TEST(ExploredEvent, WakesWhoWaitedBeforeTheSet) {
  const auto body = [](Simulation& sim) {
    Event event;
    int through = 0;
    Nursery nursery;
    for (int i = 0; i < 2; ++i) {
      nursery.spawn([&] {
        (void)event.wait();
        ++through;
      });
    }
    sim.wait_until_all_parked();
    event.set();
    event.reset();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(through, 2);
    EXPECT_FALSE(event.is_set());
  };
  search_all({}, 2, body);
  search_all({Fault::spurious_wake, Fault::cancel_at_checkpoint}, 1, body);
}

}  // namespace
}  // namespace weft
