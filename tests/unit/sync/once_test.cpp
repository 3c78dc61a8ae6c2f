#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/gate.hpp"
#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::as_cancelled;
using test::await_parked;
using test::Gate;
using test::WorkersTest;
using namespace std::chrono_literals;

constinit Once once_made_early;

class OnceTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, OnceTest, ::testing::Values(1u, 2u, 4u));

TEST_P(OnceTest, RunsOnce) {
  in_fiber([] {
    Once once;
    int runs = 0;
    EXPECT_FALSE(once.done());
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(once.call([&] { ++runs; }));
      EXPECT_TRUE(once.done());
    }
    EXPECT_EQ(runs, 1);
    EXPECT_TRUE(once_made_early.call([] {}));
  });
}

// R-FUT-01
TEST_P(OnceTest, LetsTheOthersWaitForTheFirst) {
  in_fiber([] {
    Once once;
    Gate gate;
    int plain = 0;
    Nursery nursery;
    auto first = nursery.spawn([&] {
      EXPECT_TRUE(once.call([&] {
        EXPECT_TRUE(gate.pass());
        ++plain;
      }));
    });
    await_parked(first);
    std::vector<Task<>> others;
    for (int i = 0; i < 10; ++i) {
      others.push_back(nursery.spawn([&] {
        EXPECT_TRUE(once.call([&] { ++plain; }));
        EXPECT_EQ(plain, 1);
      }));
    }
    for (auto& other : others) await_parked(other);
    EXPECT_FALSE(once.done());
    gate.open();
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(OnceTest, RunsOnceWhenManyRace) {
  in_fiber([] {
    for (int round = 0; round < 100; ++round) {
      Once once;
      int plain = 0;
      Nursery nursery;
      for (int i = 0; i < 6; ++i) {
        nursery.spawn([&] {
          EXPECT_TRUE(once.call([&] {
            this_fiber::yield();
            ++plain;
          }));
          EXPECT_EQ(plain, 1);
        });
      }
      ASSERT_TRUE(nursery.join());
    }
  });
}

TEST_P(OnceTest, IsTriedAgainAfterAFailure) {
  in_fiber([] {
    Once once;
    EXPECT_EQ(once.call([]() -> Status { return Errc::denied; }).error(),
              Errc::denied);
    EXPECT_FALSE(once.done());
    EXPECT_THROW((void)once.call([] { throw std::runtime_error("no"); }),
                 std::runtime_error);
    EXPECT_FALSE(once.done());
    EXPECT_TRUE(once.call([]() -> Status { return {}; }));
    EXPECT_TRUE(once.done());
  });
}

// The next in line runs its own f.
TEST_P(OnceTest, IsTriedByTheNextWhoWaitsAfterAFailure) {
  for (const bool throws : {false, true}) {
    in_fiber([throws] {
      Once once;
      Gate gate;
      std::atomic<int> runs{0};
      Nursery nursery;
      auto first = nursery.spawn([&] {
        try {
          EXPECT_EQ(once.call([&]() -> Status {
                          EXPECT_TRUE(gate.pass());
                          if (throws) throw std::runtime_error("no");
                          return Errc::denied;
                        })
                        .error(),
                    Errc::denied);
        } catch (const std::runtime_error&) {
          EXPECT_TRUE(throws);
        }
      });
      await_parked(first);
      std::vector<Task<>> others;
      for (int i = 0; i < 5; ++i) {
        others.push_back(
            nursery.spawn([&] { EXPECT_TRUE(once.call([&] { ++runs; })); }));
      }
      for (auto& other : others) await_parked(other);
      gate.open();
      EXPECT_TRUE(nursery.join());
      EXPECT_EQ(runs, 1);
    });
  }
}

TEST_P(OnceTest, RefusesACallFromWithin) {
  in_fiber([] {
    Once once;
    EXPECT_TRUE(once.call([&] {
      EXPECT_EQ(once.call([] { ADD_FAILURE(); }).error(), Errc::invalid);
      EXPECT_EQ(once.call([] {}, Deadline::after(-1s)).error(), Errc::invalid);
    }));
    EXPECT_TRUE(once.done());
  });
}

// R-TIMER-03
TEST_P(OnceTest, IsAsItWasWhenAWaitEndsEarly) {
  in_fiber([] {
    Once once;
    Gate gate;
    Nursery nursery;
    auto first = nursery.spawn(
        [&] { EXPECT_TRUE(once.call([&] { EXPECT_TRUE(gate.pass()); })); });
    await_parked(first);
    const auto never = [] { ADD_FAILURE(); };
    EXPECT_EQ(once.call(never, Deadline::after(1us)).error(), Errc::timed_out);
    EXPECT_EQ(once.call(never, Deadline::after(-1s)).error(), Errc::timed_out);
    auto cancelled = nursery.spawn(
        [&] { EXPECT_EQ(once.call(never).error(), Errc::cancelled); });
    auto patient = nursery.spawn([&] { EXPECT_TRUE(once.call(never)); });
    await_parked(cancelled);
    await_parked(patient);
    cancelled.cancel();
    EXPECT_TRUE(cancelled.join());
    gate.open();
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(OnceTest, RefusesACancelledFiberUnlessItIsDone) {
  in_fiber([] {
    Once once;
    as_cancelled([&] {
      EXPECT_EQ(once.call([] { ADD_FAILURE(); }).error(), Errc::cancelled);
    });
    EXPECT_TRUE(once.call([] {}));
    as_cancelled([&] { EXPECT_TRUE(once.call([] { ADD_FAILURE(); })); });
  });
}

// Who was told that it is free and may not try tells the next.
TEST_P(OnceTest, LosesNobodyWhenFailuresRaceWithCancels) {
  in_fiber([] {
    for (int round = 0; round < 200; ++round) {
      Once once;
      std::atomic<int> successes{0};
      Nursery nursery;
      std::vector<Task<>> tasks;
      for (int i = 0; i < 5; ++i) {
        tasks.push_back(nursery.spawn([&, i] {
          (void)once.call([&, i]() -> Status {
            this_fiber::yield();
            if (i < 3) return Errc::denied;
            ++successes;
            return {};
          });
        }));
      }
      for (std::size_t i = 1; i < 4; i += 2) tasks[i].cancel();
      (void)nursery.join();  // all come to an end
      ASSERT_EQ(successes, 1);
      ASSERT_TRUE(once.done());
    }
  });
}

TEST_P(OnceTest, ServesThreadsAndFibersTogether) {
  for (int round = 0; round < 100; ++round) {
    Once once;
    int plain = 0;
    const auto work = [&] {
      EXPECT_TRUE(once.call([&] {
        this_fiber::yield();
        ++plain;
      }));
      EXPECT_EQ(plain, 1);
    };
    Nursery nursery(runtime());
    nursery.spawn(work);
    nursery.spawn(work);
    std::thread first(work);
    std::thread second(work);
    first.join();
    second.join();
    EXPECT_TRUE(nursery.join());
  }
}

}  // namespace
}  // namespace weft
