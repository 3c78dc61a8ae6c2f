// scheduler_test.cpp: the scheduler by itself, without a Runtime around it.

#include "sched/scheduler.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "fiber/family.hpp"
#include "sched/spawn.hpp"
#include "support/death_test.hpp"
#include "support/watchdog.hpp"
#include "time/clock.hpp"

namespace weft::sched {
namespace {

std::atomic<int> ran{0};

constexpr detail::BodyOps kCount{[](void*) {
                                   ++ran;
                                   return detail::Outcome::value;
                                 },
                                 [](void*) noexcept {}, nullptr};

Config config(bool spec_assert) {
  return {.name = "bare",
          .workers = 2,
          .stack_size = StackSize::standard,
          .global_queue = 64,
          .spec_assert = spec_assert};
}

// Spawns as a nursery does; the handle is dropped at once.
void spawn(Scheduler& scheduler, fiber::Family& family) {
  Fiber* const frame = scheduler.new_frame();
  ASSERT_NE(frame, nullptr);
  frame->body = &kCount;
  frame->scope = &family;
  family.enter(nullptr);
  scheduler.launch(*frame, nullptr);
  if (frame->join.drop()) scheduler.reclaim(*frame);
}

// R-RT-06 R-MEMORD-09
TEST(Scheduler, RunsFibersWithoutARuntimeAndBesideOthers) {
  constexpr int kFibers = 1000;
  const test::Watchdog watchdog;
  ran = 0;
  for (const bool spec_assert : {false, true}) {
    fiber::Family first_family(nullptr);
    fiber::Family second_family(nullptr);
    Scheduler first(config(spec_assert));
    Scheduler second(config(spec_assert));
    ASSERT_TRUE(first.start());
    ASSERT_TRUE(second.start());
    for (int i = 0; i < kFibers; ++i) {
      spawn(first, first_family);
      spawn(second, second_family);
    }
    EXPECT_TRUE(first.wait_until_empty(time::kNever));
    EXPECT_TRUE(second.wait_until_empty(time::kNever));
    first.stop();
    second.stop();
  }
  EXPECT_EQ(ran, 4 * kFibers);
}

// R-MEMORD-09 R-CONF-05 R-SPAWN-03
TEST(SchedulerDeathTest, DiesOfAFiberThatEntersAQueueBeforeItIsRunnable) {
  weft::test::die_in_a_fresh_process();
  EXPECT_DEATH(
      {
        Scheduler scheduler(config(true));
        (void)scheduler.start();
        scheduler.enqueue(*scheduler.new_frame());
      },
      "a fiber enters a queue in state init");
}

}  // namespace
}  // namespace weft::sched
