// pinned_test.cpp: who was told of a free mutex, and cannot come.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "support/death_test.hpp"
#include "support/parked.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;

// On two workers: on one runs the owner, so that nobody insists; on the other
// `body`, after a pinned fiber began to wait there. unlocked(): on the first,
// when that fiber was told.
template <typename Unlocked, typename Body>
bool tell_a_pinned_one(Mutex& mutex, Unlocked unlocked, Body body) {
  std::atomic<bool> held{false};
  std::atomic<bool> go{false};
  return run(Config{.workers = 2},
             [&](Nursery& nursery) {
               nursery.spawn([&] {
                 mutex.lock();
                 held = true;
                 while (!go) std::this_thread::yield();
                 mutex.unlock();
                 unlocked();
               });
               while (!held) this_fiber::yield();
               await_parked(nursery.spawn([&] {
                 const this_fiber::Pin pin;
                 const std::lock_guard hold(mutex);
               }));
               body(nursery, go);
             })
      .has_value();
}

TEST(PinnedMutexTest, KeepsNobodyWaiting) {
  Mutex mutex;
  std::atomic<bool> passed{false};
  EXPECT_TRUE(tell_a_pinned_one(
      mutex, [] {},
      [&](Nursery& nursery, std::atomic<bool>& go) {
        await_parked(nursery.spawn([&] {
          const std::lock_guard hold(mutex);
          passed = true;
        }));
        go = true;
        while (!passed) std::this_thread::yield();  // the pinned one waits
      }));
}

class PinnedMutexDeathTest : public test::FreshProcessTest {};

TEST_F(PinnedMutexDeathTest, ReportsAMutexThatGoesBeforeHeHasCome) {
  EXPECT_DEATH(
      {
        auto mutex = std::make_unique<Mutex>();
        (void)tell_a_pinned_one(
            *mutex, [&] { mutex.reset(); },
            [](Nursery&, std::atomic<bool>& go) {
              go = true;
              for (;;) std::this_thread::yield();
            });
      },
      "a Mutex is destroyed while it is held or awaited");
}

}  // namespace
}  // namespace weft
