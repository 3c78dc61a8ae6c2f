// A program that links weft_mutex_watch: a std::mutex held over a wait is
// reported, and everything else goes on as ever.

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "support/death_test.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using namespace std::chrono_literals;

class MutexWatchTest : public test::RuntimeTest {};
class MutexWatchDeathTest : public test::FreshProcessTest {};

TEST_F(MutexWatchTest, LetsAFiberLockAroundWhatDoesNotWait) {
  std::mutex first;
  std::mutex second;
  int count = 0;
  Runtime runtime = start(2);
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    for (int i = 0; i < 100; ++i) {
      nursery.spawn([&] {
        {
          std::scoped_lock both(first, second);
          ++count;
        }
        this_fiber::yield();
        if (std::unique_lock hold(first, std::try_to_lock); hold) hold.unlock();
      });
    }
  }));
  EXPECT_EQ(count, 100);
}

TEST_F(MutexWatchTest, LetsThreadsWaitWithTheirOwnMeans) {
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;
  std::thread thread([&] {
    std::unique_lock hold(mutex);
    changed.wait(hold, [&] { return ready; });
  });
  {
    std::lock_guard hold(mutex);
    ready = true;
  }
  changed.notify_one();
  thread.join();
}

// A weft::Mutex may be held over anything.
TEST_F(MutexWatchTest, KnowsNothingOfWeftsOwn) {
  Runtime runtime = start(1);
  Mutex mutex;
  EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
    nursery.spawn([&] {
      std::lock_guard hold(mutex);
      this_fiber::yield();
    });
    std::lock_guard hold(mutex);
  }));
}

TEST_F(MutexWatchDeathTest, NamesAMutexThatIsHeldOverASleep) {
  EXPECT_DEATH(
      {
        (void)run([] {
          std::mutex mutex;
          std::lock_guard hold(mutex);
          (void)this_fiber::sleep_for(1h);
        });
      },
      "STD-MUTEX-HELD: a fiber waits or yields while its thread holds");
}

TEST_F(MutexWatchDeathTest, NamesAMutexThatIsHeldOverAYield) {
  EXPECT_DEATH(
      {
        (void)run([] {  // alone: the yield comes back at once
          std::mutex mutex;
          std::lock_guard hold(mutex);
          this_fiber::yield();
        });
      },
      "use weft::Mutex");
}

TEST_F(MutexWatchDeathTest, NamesAMutexThatWasLockedInTime) {
  EXPECT_DEATH(
      {
        (void)run([] {
          std::timed_mutex mutex;
          std::unique_lock hold(mutex, 1h);
          (void)this_fiber::sleep_for(1h);
        });
      },
      "STD-MUTEX-HELD");
}

// The thread of a simulation may hold one around all of it.
TEST_F(MutexWatchTest, LetsTheThreadOfASimulationHoldOne) {
  std::mutex mutex;
  std::lock_guard hold(mutex);
  EXPECT_TRUE(weft::run(Config{.workers = 2, .deterministic_seed = 1},
                        [] { EXPECT_TRUE(this_fiber::sleep_for(1ms)); }));
}

TEST_F(MutexWatchDeathTest, NamesAMutexThatASimulatedFiberHolds) {
  EXPECT_DEATH(
      {
        (void)weft::run(Config{.workers = 2, .deterministic_seed = 1}, [] {
          std::mutex mutex;
          std::lock_guard hold(mutex);
          (void)this_fiber::sleep_for(1h);
        });
      },
      "STD-MUTEX-HELD");
}

TEST_F(MutexWatchTest, ForgetsAMutexThatIsUnlockedAgain) {
  EXPECT_TRUE(run([](Nursery& nursery) {
    std::timed_mutex mutex;
    for (int i = 0; i < 100; ++i) {
      nursery.spawn([] {});
      std::unique_lock hold(mutex, 1h);
      hold.unlock();
      EXPECT_TRUE(mutex.try_lock_until(std::chrono::system_clock::now() + 1h));
      mutex.unlock();
      this_fiber::yield();
    }
  }));
}

}  // namespace
}  // namespace weft
