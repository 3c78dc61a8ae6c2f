// refusal_test.cpp: what weft does when the system refuses.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <memory>

#include "base/fault.hpp"
#include "fiber/frame_pool.hpp"
#include "sched/carrier.hpp"
#include "stack/stack.hpp"
#include "support/gate.hpp"
#include "support/process.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

#if defined(WEFT_FAULTS)

namespace weft {
namespace {

using base::FaultPoint;
using base::Refusal;
using test::Gate;
using namespace std::chrono_literals;

class RefusalTest : public test::RuntimeTest {
 protected:
  // The runtime does what it did before.
  static void expect_works(Runtime& runtime) {
    std::atomic<int> ran{0};
    EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
      for (int i = 0; i < 100; ++i) {
        nursery.spawn([&] {
          EXPECT_TRUE(this_fiber::sleep_for(1us));
          ++ran;
        });
      }
    }));
    EXPECT_EQ(ran, 100);
    expect_empty(runtime);
  }
  static void expect_works() {
    Runtime runtime = start(2);
    expect_works(runtime);
  }
};

TEST_F(RefusalTest, OfAThreadEndsTheOnesThatStarted) {
  const auto before = test::threads();
  for (const unsigned started : {0u, 1u, 3u}) {
    const Refusal refusal(FaultPoint::thread_start, started);
    const auto runtime = Runtime::start(Config{.workers = 4});
    ASSERT_FALSE(runtime);
    EXPECT_EQ(runtime.error().os_code(), EAGAIN);
    EXPECT_EQ(refusal.refusals(), 1u);
    test::await_threads(before);
  }
  expect_works();
}

TEST_F(RefusalTest, OfAQueueRefusesTheRuntime) {
  const auto before = test::threads();
  for (const unsigned made : {0u, 1u, 2u}) {
    const Refusal refusal(FaultPoint::queue_array, made);
    const auto runtime = Runtime::start(Config{.workers = 2});
    ASSERT_FALSE(runtime);
    EXPECT_EQ(runtime.error(), Error::out_of(Resource::memory));
    test::await_threads(before);
  }
  expect_works();
}

TEST_F(RefusalTest, OfTheFirstStackFailsTheFiberAndNotTheRuntime) {
  Runtime runtime = start(2);
  bool ran = false;
  {
    const Refusal refusal(FaultPoint::stack_map);
    EXPECT_EQ(runtime.run([&] { ran = true; }).error(),
              Error::out_of(Resource::stacks));
    EXPECT_GT(refusal.refusals(), 1u);  // it tried with less
  }
  EXPECT_FALSE(ran);
  expect_works(runtime);
}

TEST_F(RefusalTest, OfAnotherStackFailsOneChildAndDestroysItsClosure) {
  Runtime runtime = start(1);
  const auto alive = std::make_shared<int>(1);
  const auto stacks = Error::out_of(Resource::stacks);
  const Status end = runtime.run([&]() -> Status {
    Nursery nursery({.on_failure = OnFailure::wait_for_all});
    {
      const Refusal refusal(FaultPoint::stack_map);
      auto child = nursery.spawn({.stack_size = StackSize::large},
                                 [alive] { return *alive; });
      EXPECT_EQ(child.join().error(), stacks);
      EXPECT_EQ(alive.use_count(), 1);
      EXPECT_EQ(nursery.spawn([] { return 7; }).join().value(), 7);
    }
    auto child =
        nursery.spawn({.stack_size = StackSize::large}, [] { return 8; });
    EXPECT_EQ(child.join().value(), 8);
    return nursery.join();
  });
  ASSERT_FALSE(end);  // the nursery tells of it, too
  EXPECT_EQ(end.error(), stacks);
  expect_works(runtime);
}

TEST_F(RefusalTest, OfManyStacksGetsFewer) {
  const Refusal refusal(FaultPoint::stack_map, 0, 2);
  stack::StackPool pool({.default_size = 64 << 10});
  stack::Stack* const stack = pool.take(64 << 10);
  ASSERT_NE(stack, nullptr);
  EXPECT_EQ(refusal.refusals(), 2u);
  // A quarter of the usual 64, two pages more each.
  EXPECT_LT(pool.counts().reserved_bytes, std::size_t{17} * (96 << 10));
  pool.give(stack);
}

TEST_F(RefusalTest, OfMadviseFallsBackToMprotect) {
  const Refusal refusal(FaultPoint::guard_madvise);
  Runtime runtime = start(2);
  expect_works(runtime);
  EXPECT_EQ(runtime.ref().guard(), Guard::mprotect);
  if (stack::madvise_guards_work()) {
    EXPECT_GT(refusal.refusals(), 0u);
  }
}

TEST_F(RefusalTest, OfMadviseAndMprotectFallsBackToCanaries) {
  const Refusal no_madvise(FaultPoint::guard_madvise);
  const Refusal no_mprotect(FaultPoint::guard_mprotect, 3);
  Runtime runtime = start(2);
  expect_works(runtime);
  EXPECT_EQ(runtime.ref().guard(), Guard::canary);
  EXPECT_GT(no_mprotect.refusals(), 0u);
}

TEST_F(RefusalTest, OfTheFirstFramesRefusesTheFiber) {
  Runtime runtime = start(2);
  (void)sched::carrier();  // a thread without a frame of its own would die
  {
    const Refusal refusal(FaultPoint::frame_map);
    EXPECT_EQ(runtime.run([] {}).error(), Error::out_of(Resource::tasks));
    EXPECT_EQ(refusal.refusals(), 1u);
  }
  expect_works(runtime);
}

TEST_F(RefusalTest, OfMoreFramesRefusesOneSpawnAndLosesNone) {
  Runtime runtime = start(1);
  int started = 0;
  std::atomic<int> ended{0};
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    const Refusal refusal(FaultPoint::frame_map);
    for (;;) {
      auto child = nursery.try_spawn({}, [&] { ++ended; });
      if (!child) {
        EXPECT_EQ(child.error(), Error::out_of(Resource::tasks));
        break;
      }
      ++started;
    }
    EXPECT_GE(refusal.refusals(), 1u);
  }));
  EXPECT_GT(started, 1000);  // a slab of frames
  EXPECT_EQ(ended, started);
  expect_works(runtime);
}

TEST_F(RefusalTest, OfFramesLeavesThePoolAsItWas) {
  fiber::FramePool pool(nullptr);
  std::size_t got = 1;
  {
    const Refusal refusal(FaultPoint::frame_map);
    EXPECT_EQ(pool.take(3, got), nullptr);
    EXPECT_EQ(got, 0u);
  }
  fiber::Fiber* const list = pool.take(3, got);
  EXPECT_NE(list, nullptr);
  EXPECT_EQ(got, 3u);
  pool.give(list);
}

TEST_F(RefusalTest, OfATimerFailsTheWaitAtOnce) {
  Runtime runtime = start(1);
  ASSERT_TRUE(runtime.run([](Nursery& nursery) {
    Gate gate;
    auto child = nursery.spawn([&] {
      EXPECT_TRUE(gate.pass());
      return 5;
    });
    while (gate.waiting() == 0) this_fiber::yield();
    {
      const Refusal refusal(FaultPoint::timer_array);
      const auto memory = Error::out_of(Resource::memory);
      EXPECT_EQ(this_fiber::sleep_for(1h).error(), memory);
      EXPECT_EQ(child.join(Deadline::after(1h)).error(), memory);
      EXPECT_EQ(gate.pass(Deadline::after(1h)).error(), memory);
      EXPECT_EQ(refusal.refusals(), 3u);
    }
    EXPECT_EQ(gate.waiting(), 1u);
    gate.open();
    EXPECT_EQ(child.join(Deadline::after(1h)).value(), 5);
  }));
  expect_works(runtime);
}

TEST_F(RefusalTest, OfMoreTimersLeavesThoseThatSleepAlone) {
  Runtime runtime = start(1);
  std::atomic<int> slept{0};
  std::atomic<int> refused{0};
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    const Refusal refusal(FaultPoint::timer_array, 1);  // an array of 64
    for (int i = 0; i < 200; ++i) {
      nursery.spawn([&] {
        const Status end = this_fiber::sleep_for(20ms);
        if (!end) {
          EXPECT_EQ(end.error(), Error::out_of(Resource::memory));
        }
        ++(end ? slept : refused);
      });
    }
    EXPECT_TRUE(nursery.join());
  }));
  EXPECT_GE(slept, 64);
  EXPECT_GE(refused, 1);
  EXPECT_EQ(slept + refused, 200);
  expect_works(runtime);
}

}  // namespace
}  // namespace weft

#endif
