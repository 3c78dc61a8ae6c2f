// B-02: what a thread waits on was made at its first wait, and raced with the
// end of the fiber.

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class ThreadJoinerTest : public test::RuntimeTest {};

// R-JOIN-04
TEST_F(ThreadJoinerTest, ThreadsJoinFibersThatEndAtOnce) {
  Runtime runtime = start(2);
  const int rounds = test::scaled(10'000);
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id) {
    threads.emplace_back([&runtime, rounds, id] {
      Nursery nursery(runtime);
      for (int i = 0; i < rounds; ++i) {
        auto child = nursery.spawn([i, id] { return i * 4 + id; });
        if (i % 3 == 0) {
          ASSERT_TRUE(child.wait(Deadline::after(std::chrono::hours(1))));
        }
        ASSERT_EQ(child.join().value(), i * 4 + id);
      }
      EXPECT_TRUE(nursery.join());
    });
  }
  for (auto& thread : threads) thread.join();
  expect_empty(runtime);
}

// A new thread each time: its first wait ever is the one that races.
TEST_F(ThreadJoinerTest, TheFirstWaitOfAThreadMissesNoEnd) {
  Runtime runtime = start(2);
  const int rounds = test::scaled(2'000);
  for (int i = 0; i < rounds; ++i) {
    std::thread([&runtime, i] {
      Nursery nursery(runtime);
      EXPECT_EQ(nursery.spawn([i] { return i; }).join().value(), i);
      EXPECT_TRUE(nursery.join());
    }).join();
  }
  expect_empty(runtime);
}

}  // namespace
}  // namespace weft
