#include "fiber/frame_pool.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "fiber/wait_node.hpp"
#include "support/watchdog.hpp"

namespace weft::fiber {
namespace {

std::vector<Fiber*> to_vector(Fiber* list) {
  std::vector<Fiber*> all;
  for (; list != nullptr; list = list->next) all.push_back(list);
  return all;
}

TEST(Fiber, FillsFourCacheLines) {
  EXPECT_EQ(sizeof(Fiber), 256u);
  EXPECT_EQ(alignof(Fiber), 64u);
}

TEST(Fiber, IsFoundFromItsTimer) {
  Fiber fiber;
  EXPECT_EQ(&Fiber::of_timer(fiber.timer), &fiber);
}

TEST(Fiber, CopiesItsName) {
  Fiber fiber;
  EXPECT_STREQ(fiber.name(), "");
  {
    const std::string name = "first";
    EXPECT_TRUE(fiber.set_name(name));
  }
  EXPECT_STREQ(fiber.name(), "first");
  EXPECT_TRUE(fiber.set_name("second"));
  EXPECT_STREQ(fiber.name(), "second");
  fiber.drop_extras();
  EXPECT_STREQ(fiber.name(), "");
}

TEST(FramePool, GivesAlignedFramesThatKnowTheirHome) {
  int home = 0;
  FramePool pool(&home);
  std::size_t got = 0;
  const auto frames = to_vector(pool.take(20'000, got));  // several slabs
  EXPECT_EQ(got, 20'000u);
  ASSERT_EQ(frames.size(), got);
  const std::set<Fiber*> distinct(frames.begin(), frames.end());
  EXPECT_EQ(distinct.size(), got);
  for (Fiber* frame : frames) {
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(frame) % sizeof(Fiber), 0u);
    ASSERT_EQ(FramePool::home_of(*frame), &home);
    ASSERT_EQ(frame->word.state_now(), State::free);
  }
}

// R-FIBER-07 R-CTRL-04
TEST(FramePool, UsesFramesAgainAndNeverGivesThemBack) {
  FramePool pool(nullptr);
  std::size_t got = 0;
  Fiber* first = pool.take(3, got);
  const auto frames = to_vector(first);
  frames[0]->word.reserve();
  frames[0]->word.publish();
  (void)frames[0]->word.start(1);
  frames[0]->word.done(false);
  frames[0]->word.reclaim();
  pool.give(first);
  // A stale pointer may be read, and finds nobody.
  EXPECT_EQ(frames[0]->word.state_now(), State::free);
  EXPECT_EQ(frames[0]->word.claim(1, Who::deadline), Claimed::lost);
  const auto again = to_vector(pool.take(3, got));
  EXPECT_EQ(std::set<Fiber*>(again.begin(), again.end()),
            std::set<Fiber*>(frames.begin(), frames.end()));
}

TEST(FramePool, VisitsEveryFrameThatWasEverUsed) {
  FramePool pool(nullptr);
  std::size_t visited = 0;
  pool.for_each([&](Fiber&) { ++visited; });
  EXPECT_EQ(visited, 0u);
  std::size_t got = 0;
  Fiber* list = pool.take(10'000, got);
  pool.give(list);
  list = pool.take(10, got);
  std::set<Fiber*> seen;
  pool.for_each([&](Fiber& frame) { seen.insert(&frame); });
  EXPECT_EQ(seen.size(), 10'000u);
  pool.give(list);
}

// R-SPAWN-04
TEST(FramePool, ServesManyThreads) {
  weft::test::Watchdog watchdog;
  FramePool pool(nullptr);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&pool] {
      for (int round = 0; round < 500; ++round) {
        std::size_t got = 0;
        Fiber* list = pool.take(20, got);
        for (Fiber* frame = list; frame != nullptr; frame = frame->next) {
          frame->word.reserve();  // dies in debug builds if it is not free
          frame->word.abandon();
        }
        pool.give(list);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::size_t frames = 0;
  pool.for_each([&](Fiber&) { ++frames; });
  EXPECT_LE(frames, 80u);
}

// R-SPAWN-02
TEST(FrameCache, GivesTheFrameThatCameLast) {
  FramePool pool(nullptr);
  FrameCache cache(pool);
  Fiber* a = cache.take();
  Fiber* b = cache.take();
  ASSERT_NE(a, b);
  cache.put(*a);
  cache.put(*b);
  EXPECT_EQ(cache.take(), b);
  EXPECT_EQ(cache.take(), a);
  cache.put(*a);
  cache.put(*b);
}

// R-FIBER-07
TEST(FrameCache, KeepsABoundedNumberOfFrames) {
  constexpr std::size_t kBound = 2048;
  FramePool pool(nullptr);
  std::size_t got = 0;
  std::vector<Fiber*> frames = to_vector(pool.take(5 * kBound, got));
  FrameCache cache(pool);
  for (Fiber* frame : frames) cache.put(*frame);
  // Nearly all of them are the pool's again: no new slab is needed for them.
  const auto back = to_vector(pool.take(4 * kBound, got));
  const std::set<Fiber*> known(frames.begin(), frames.end());
  for (Fiber* frame : back) ASSERT_TRUE(known.contains(frame));
}

TEST(FrameCache, GivesEverythingBackAtItsEnd) {
  FramePool pool(nullptr);
  {
    FrameCache cache(pool);
    Fiber* frame = cache.take();
    cache.put(*frame);
  }
  std::size_t frames = 0;
  pool.for_each([&](Fiber&) { ++frames; });
  std::size_t got = 0;
  Fiber* all = pool.take(frames, got);
  std::size_t after = 0;
  pool.for_each([&](Fiber&) { ++after; });
  EXPECT_EQ(after, frames);
  pool.give(all);
}

// R-TICKET-03 R-UNPARK-01 R-MEMORD-01
TEST(WaitNode, IsTouchedByItsWakerBeforeItIsGone) {
  weft::test::Watchdog watchdog;
  for (int round = 0; round < 2000; ++round) {
    Fiber fiber;
    fiber.word.reserve();
    fiber.word.publish();
    (void)fiber.word.start(1);
    ASSERT_EQ(fiber.word.begin_wait(++fiber.wait_ticket, false), Begun::go_on);
    auto node = std::make_unique<WaitNode>();  // goes as soon as it is gone
    int slot = 0;
    node->fiber = &fiber;
    node->ticket = fiber.wait_ticket;
    node->slot = &slot;
    node->linked();
    ASSERT_FALSE(node->gone());
    std::thread waker([n = node.get()] {
      *static_cast<int*>(n->slot) = 42;
      Fiber* owned = nullptr;
      EXPECT_TRUE(n->settle(Reason::data, owned));
    });
    while (!node->gone()) std::this_thread::yield();
    ASSERT_EQ(slot, 42);
    ASSERT_EQ(node->reason, Reason::data);
    node.reset();
    waker.join();
    fiber.word.end_wait();
  }
}

// R-TICKET-02 R-TICKET-06
TEST(WaitNode, LosesWhenItsWaitIsOver) {
  Fiber fiber;
  fiber.word.reserve();
  fiber.word.publish();
  (void)fiber.word.start(1);
  ASSERT_EQ(fiber.word.begin_wait(1, false), Begun::go_on);
  WaitNode node;
  node.fiber = &fiber;
  node.ticket = 1;
  node.linked();
  ASSERT_EQ(fiber.word.withdraw(), Who::withdrawn);
  fiber.word.end_wait();
  ASSERT_EQ(fiber.word.begin_wait(2, false), Begun::go_on);
  Fiber* owned = &fiber;
  EXPECT_FALSE(node.settle(Reason::signal, owned));
  EXPECT_EQ(owned, nullptr);
  EXPECT_TRUE(node.gone());
  EXPECT_EQ(node.reason, Reason::none);
  EXPECT_EQ(fiber.word.commit(), Committed::parked);  // undisturbed
}

}  // namespace
}  // namespace weft::fiber
