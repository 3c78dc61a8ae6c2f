// B-32: siblings spawned one after the other all landed on one worker.

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>

#include "stress/keepers.hpp"
#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include "unit/sched/hold_worker.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::hold_worker_until;
using test::thread_now;

class PlacementTest : public test::RuntimeTest {
 protected:
  // Ends only if `count` of these run at the same time.
  struct Meeting {
    explicit Meeting(int of) : count(of) {}

    const int count;
    std::atomic<int> here{0};
    std::mutex mutex;
    std::set<pid_t> threads;  // guarded by mutex

    void attend() {
      {
        std::lock_guard hold(mutex);
        threads.insert(thread_now());
      }
      ++here;
      hold_worker_until([this] { return here == count; });
    }
  };
};

// R-RUNQ-08 R-SPAWN-01
TEST_F(PlacementTest, SiblingsFromAThreadGetAWorkerEach) {
  for (const auto policy :
       {SpawnPolicy::local, SpawnPolicy::round_robin, SpawnPolicy::global}) {
    Runtime runtime = start(Config{.workers = 4, .spawn = policy});
    for (int round = 0; round < test::scaled(200); ++round) {
      Meeting meeting(4);
      Nursery nursery(runtime);
      for (int i = 0; i < 4; ++i) nursery.spawn([&] { meeting.attend(); });
      ASSERT_TRUE(nursery.join());
      ASSERT_EQ(meeting.threads.size(), 4u);
    }
    expect_empty(runtime);
  }
}

// R-RUNQ-08: a thief that takes two must not keep the second to itself while
// others sleep.
TEST_F(PlacementTest, SiblingsFromAFiberGetAWorkerEach) {
  for (const unsigned workers : {2u, 3u, 4u, 8u}) {
    Runtime runtime = start(workers);
    const int count = static_cast<int>(workers);
    for (int round = 0; round < test::scaled(200); ++round) {
      Meeting meeting(count);
      ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
        for (int i = 1; i < count; ++i) {
          nursery.spawn([&] { meeting.attend(); });
        }
        meeting.attend();
      }));
      ASSERT_EQ(meeting.threads.size(), workers);
    }
    expect_empty(runtime);
  }
}

}  // namespace
}  // namespace weft
