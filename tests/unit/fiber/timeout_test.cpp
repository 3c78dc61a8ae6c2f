// timeout_test.cpp: the timer of a scope.

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "fiber/fiber.hpp"
#include "fiber/scope.hpp"
#include "support/watchdog.hpp"

namespace weft::fiber {
namespace {

using weft::test::Watchdog;

TEST(Timeout, IsFoundByItsNode) {
  Scope scope(Scope::Kind::plain, nullptr);
  Timeout timeout(scope);
  EXPECT_TRUE(timeout.node().is_scope());
  EXPECT_EQ(&Timeout::of(timeout.node()), &timeout);
  EXPECT_EQ(&timeout.scope(), &scope);
  timeout.disarm();  // never armed
  Fiber fiber;
  EXPECT_FALSE(fiber.timer.is_scope());
}

TEST(Timeout, StaysAScopesWhereverItIsArmed) {
  time::TimerHeap heap;
  Scope scope(Scope::Kind::plain, nullptr);
  Timeout timeout(scope);
  Fiber fiber;
  for (std::int64_t round = 1; round <= 3; ++round) {
    ASSERT_TRUE(heap.arm(timeout.node(), 2 * round));
    ASSERT_TRUE(heap.arm(fiber.timer, round));
    EXPECT_TRUE(timeout.node().is_scope());
    EXPECT_FALSE(fiber.timer.is_scope());
    timeout.disarm();
    EXPECT_TRUE(heap.disarm(fiber.timer));
  }
  EXPECT_EQ(heap.size(), 0u);
}

// Edge [firing]
TEST(Timeout, DoesNotEndWhileItFires) {
  Watchdog watchdog;
  for (int round = 0; round < 2000; ++round) {
    time::TimerHeap heap;
    auto scope = std::make_unique<Scope>(Scope::Kind::plain, nullptr);
    auto timeout = std::make_unique<Timeout>(*scope);
    ASSERT_TRUE(heap.arm(timeout->node(), 1));
    std::thread poller([&heap] {
      Timeout* list = nullptr;
      heap.lock.lock();
      if (auto* node = heap.pop_expired(1))
        Timeout::of(*node).begin_firing(list);
      heap.lock.unlock();
      if (list == nullptr) return;
      (void)list->scope().stop(Cause::deadline);
      list->fired();
    });
    timeout->disarm();
    timeout.reset();
    scope.reset();
    poller.join();
  }
}

}  // namespace
}  // namespace weft::fiber
