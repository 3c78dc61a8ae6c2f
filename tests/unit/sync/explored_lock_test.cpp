// explored_lock_test.cpp: locks, over schedules.

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <shared_mutex>
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

// Who is inside; a second one is noticed.
class Inside {
 public:
  void visit() {
    EXPECT_EQ(++count_, 1);
    point();
    --count_;
  }

 private:
  int count_ = 0;
};

template <typename Lock>
void exclude(Simulation&) {
  Lock lock;
  Inside inside;
  int visits = 0;
  Nursery nursery;
  for (int i = 0; i < 3; ++i) {
    nursery.spawn([&] {
      std::lock_guard hold(lock);
      inside.visit();
      ++visits;
    });
  }
  EXPECT_TRUE(nursery.join());
  EXPECT_EQ(visits, 3);
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

// Some come late, or are cancelled; who is patient gets in.
template <typename Lock>
void exclude_and_give_up(Simulation&) {
  Lock lock;
  Inside inside;
  bool patient = false;
  Nursery nursery;
  for (int i = 0; i < 2; ++i) {
    nursery.spawn([&] {
      if (const auto held = lock.acquire(Deadline::after(1ms))) {
        inside.visit();
      }
    });
  }
  nursery.spawn([&] {
    std::lock_guard hold(lock);
    inside.visit();
    patient = true;
  });
  EXPECT_TRUE(nursery.join());
  EXPECT_TRUE(patient);
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

// R-MUTEX-01 R-MUTEX-04 R-MUTEX-05
TEST(ExploredMutex, LetsOneInAtATime) {
  search_all({}, 2, exclude<Mutex>);
  search_all({Fault::spurious_wake}, 1, exclude<Mutex>);
}

TEST(ExploredMutex, LosesNobodyWhenSomeGiveUp) {
  search_all({Fault::cancel_at_checkpoint, Fault::time_passes}, 1,
             exclude_and_give_up<Mutex>);
  search_all({Fault::spurious_wake, Fault::time_passes}, 1,
             exclude_and_give_up<Mutex>);
}

// R-MUTEX-05: who was told to try again is cancelled on his way.
TEST(ExploredMutex, TellsTheNextWhenTheOneWhoWasToldGivesUp) {
  search_all({Fault::time_passes}, 1, [](Simulation& sim) {
    Mutex mutex;
    Inside inside;
    bool patient = false;
    mutex.lock();
    Nursery nursery;
    auto gone = nursery.spawn([&] {
      if (const auto held = mutex.acquire(Deadline::after(1ms))) {
        inside.visit();
      }
    });
    sim.wait_until_all_parked();
    nursery.spawn([&] {
      std::lock_guard hold(mutex);
      inside.visit();
      patient = true;
    });
    sim.wait_until_all_parked();
    nursery.spawn([&] { gone.cancel(); });
    mutex.unlock();
    EXPECT_TRUE(nursery.join());
    EXPECT_TRUE(patient);
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
  });
}

// M3: who was told is cancelled while another has it.
TEST(ExploredMutex, RemembersTheOthersWhenTheOneWhoWasToldGivesUp) {
  search_all({}, 2, [](Simulation& sim) {
    Mutex mutex;
    mutex.lock();
    Nursery nursery;
    auto gone = nursery.spawn([&] { (void)mutex.acquire(); });
    sim.wait_until_all_parked();
    nursery.spawn([&] { const std::lock_guard hold(mutex); });
    sim.wait_until_all_parked();
    mutex.unlock();
    const bool again = mutex.try_lock();
    gone.cancel();
    (void)gone.join();
    if (again) mutex.unlock();
    EXPECT_TRUE(nursery.join());
  });
}

// Who was told in vain for a millisecond has it next, whoever comes first.
TEST(ExploredMutex, KeepsNobodyOutForLong) {
  search_all({}, 2, [](Simulation&) {
    Mutex mutex;
    mutex.lock();
    Nursery nursery;
    bool had = false;
    nursery.spawn([&] {
      const std::lock_guard hold(mutex);
      had = true;
    });
    bool overtook = true;
    for (int i = 0; overtook && !had && i < 4; ++i) {
      EXPECT_TRUE(this_fiber::sleep_for(2ms));  // it waits, or was told in vain
      mutex.unlock();
      overtook = mutex.try_lock();
    }
    EXPECT_TRUE(had || !overtook);
    if (overtook) mutex.unlock();
    EXPECT_TRUE(nursery.join());
  });
}

// M3: who is pinned is told, but not counted on.
TEST(ExploredMutex, RemembersTheOthersBehindOneThatIsPinned) {
  search_all({Fault::cancel_at_checkpoint}, 1, [](Simulation&) {
    Mutex mutex;
    Inside inside;
    mutex.lock();
    Nursery nursery;
    nursery.spawn([&] {
      const this_fiber::Pin pin;
      if (const auto held = mutex.acquire()) inside.visit();
    });
    nursery.spawn([&] {
      const std::lock_guard hold(mutex);
      inside.visit();
    });
    point();
    mutex.unlock();
    EXPECT_TRUE(nursery.join());
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
  });
}

// R-EVENT-04
TEST(ExploredFairMutex, LetsOneInAtATime) {
  search_all({}, 2, exclude<FairMutex>);
  search_all({Fault::spurious_wake}, 1, exclude<FairMutex>);
}

// R-EVENT-05
TEST(ExploredFairMutex, LosesNobodyWhenSomeGiveUp) {
  search_all({Fault::cancel_at_checkpoint, Fault::time_passes}, 1,
             exclude_and_give_up<FairMutex>);
}

// R-EVENT-03
TEST(ExploredFairMutex, ServesInTheOrderOfTheLine) {
  search_all({}, 2, [](Simulation& sim) {
    FairMutex mutex;
    std::vector<int> order;
    mutex.lock();
    Nursery nursery;
    for (int i = 0; i < 3; ++i) {
      nursery.spawn([&, i] {
        std::lock_guard hold(mutex);
        order.push_back(i);
      });
      sim.wait_until_all_parked();
    }
    mutex.unlock();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
  });
}

// R-EVENT-05
TEST(ExploredFairMutex, KeepsOrCancelsATurn) {
  search_all({}, 2, [](Simulation&) {
    FairMutex mutex;
    Inside inside;
    FairMutex::Future turn;
    int visits = 0;
    Nursery nursery;
    nursery.spawn([&] {
      std::lock_guard hold(mutex);
      inside.visit();
      ++visits;
    });
    nursery.spawn([&] {
      mutex.lock(turn);
      turn.cancel();
      EXPECT_TRUE(turn.is_set());
      if (turn.wait()) {
        std::lock_guard hold(mutex, std::adopt_lock);
        inside.visit();
      }
    });
    nursery.spawn([&] {
      std::lock_guard hold(mutex);
      inside.visit();
      ++visits;
    });
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(visits, 2);
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
  });
}

TEST(ExploredSharedMutex, LetsReadersOrOneWriterIn) {
  search_all({}, 1, exclude<SharedMutex>);
  search_all({Fault::spurious_wake}, 1, [](Simulation&) {
    SharedMutex mutex;
    int readers = 0;
    int writers = 0;
    Nursery nursery;
    for (int i = 0; i < 2; ++i) {
      nursery.spawn([&] {
        std::shared_lock reads(mutex);
        ++readers;
        EXPECT_EQ(writers, 0);
        point();
        EXPECT_EQ(writers, 0);
        --readers;
      });
    }
    nursery.spawn([&] {
      std::lock_guard writes(mutex);
      EXPECT_EQ(++writers, 1);
      EXPECT_EQ(readers, 0);
      point();
      EXPECT_EQ(readers, 0);
      --writers;
    });
    EXPECT_TRUE(nursery.join());
    EXPECT_TRUE(mutex.try_lock());
    mutex.unlock();
  });
}

TEST(ExploredSharedMutex, LosesNobodyWhenSomeGiveUp) {
  search_all({Fault::cancel_at_checkpoint, Fault::time_passes}, 1,
             [](Simulation&) {
               SharedMutex mutex;
               int writers = 0;
               int read = 0;
               Nursery nursery;
               nursery.spawn([&] {
                 if (const auto held = mutex.acquire(Deadline::after(1ms))) {
                   ++writers;
                   point();
                   --writers;
                 }
               });
               nursery.spawn([&] {
                 if (const auto held = mutex.acquire_shared()) {
                   EXPECT_EQ(writers, 0);
                   point();
                   EXPECT_EQ(writers, 0);
                 }
               });
               nursery.spawn([&] {
                 std::shared_lock reads(mutex);
                 EXPECT_EQ(writers, 0);
                 ++read;
               });
               EXPECT_TRUE(nursery.join());
               EXPECT_EQ(read, 1);
               EXPECT_TRUE(mutex.try_lock());
               mutex.unlock();
             });
}

TEST(ExploredKeyedMutex, LetsOneInPerKeyAndForgetsIt) {
  search_all({Fault::cancel_at_checkpoint}, 1, [](Simulation&) {
    KeyedMutex<int> locks(1);
    Inside inside;
    Nursery nursery;
    for (int i = 0; i < 2; ++i) {
      nursery.spawn([&] {
        if (const auto held = locks.acquire(1)) inside.visit();
      });
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(locks.keys_in_use(), 0u);
  });
}

}  // namespace
}  // namespace weft
