// in_place_stop_test.cpp: children that run in place, deep inside of scopes
// that are stopped.

#include <gtest/gtest.h>

#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class InPlaceStopTest : public test::RuntimeTest {
 protected:
  // Calls body(nursery) in a fiber `depth` children deep, each in place on the
  // one before. What the joins around answer is not its business.
  template <typename F>
  static void deep_inside(int depth, F&& body) {
    Nursery nursery;
    if (depth == 0) return body(nursery);
    auto child = nursery.spawn([&] { deep_inside(depth - 1, body); });
    (void)child.join();
    nursery.cancel();
    (void)nursery.join();
  }
  // Spawns a child there and joins it. Did it start?
  static bool starts_in(Nursery& nursery) {
    bool started = false;
    auto child = nursery.spawn({.on_failure = OnFailure::keep},
                               [&started] { started = true; });
    (void)child.join();
    return started;
  }
  static constexpr int kDepth = 20;

  // Runs the body as a fiber, and sees to it that children ran in place.
  template <typename F>
  static void run_deep(F&& body) {
    Runtime runtime = start(1);
    ASSERT_TRUE(runtime.run([&body]() -> Status {
      body();
      return {};
    }));
    EXPECT_GT(runtime.ref().stats().workers[0].in_place, unsigned{kDepth});
  }
};

TEST_F(InPlaceStopTest, DoNotStartOnceTheOutermostNurseryIsStopped) {
  run_deep([] {
    Nursery outermost;
    auto tree = outermost.spawn([&outermost] {
      deep_inside(kDepth, [&outermost](Nursery& nursery) {
        EXPECT_TRUE(starts_in(nursery));
        EXPECT_TRUE(starts_in(nursery));
        outermost.cancel();
        EXPECT_FALSE(starts_in(nursery));
        EXPECT_FALSE(starts_in(nursery));
        deep_inside(0, [](Nursery& inner) { EXPECT_FALSE(starts_in(inner)); });
      });
    });
    (void)tree.join();
    (void)outermost.join();
  });
}

TEST_F(InPlaceStopTest, StartAsLongAsThereIsAShield) {
  run_deep([] {
    Nursery outermost;
    auto tree = outermost.spawn([&outermost] {
      deep_inside(kDepth, [&outermost](Nursery& nursery) {
        outermost.cancel();
        {
          Shield shield;
          deep_inside(kDepth, [](Nursery& inner) {
            EXPECT_TRUE(starts_in(inner));
            EXPECT_TRUE(starts_in(inner));
          });
        }
        EXPECT_FALSE(starts_in(nursery));
        deep_inside(0, [](Nursery& inner) { EXPECT_FALSE(starts_in(inner)); });
      });
    });
    (void)tree.join();
    (void)outermost.join();
  });
}

TEST_F(InPlaceStopTest, DoNotStartOnceTheHostOfAllIsCancelled) {
  run_deep([] {
    Nursery outermost;
    AnyTask* whole = nullptr;
    auto tree = outermost.spawn([&whole] {
      deep_inside(kDepth, [&whole](Nursery& nursery) {
        EXPECT_TRUE(starts_in(nursery));
        whole->cancel();
        EXPECT_FALSE(starts_in(nursery));
      });
    });
    whole = &tree;
    (void)tree.join();
    (void)outermost.join();
  });
}

// Stops of others make them look again, no more.
TEST_F(InPlaceStopTest, StartWhateverElseIsStopped) {
  run_deep([] {
    deep_inside(kDepth, [](Nursery& nursery) {
      for (int i = 0; i < 10; ++i) {
        CancelScope other;
        other.cancel();
      }
      EXPECT_TRUE(starts_in(nursery));
    });
  });
}

}  // namespace
}  // namespace weft
