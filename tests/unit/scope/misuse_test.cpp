// misuse_test.cpp: what is reported, and ends the process.

#include <gtest/gtest.h>
#include <pthread.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "support/death_test.hpp"
#include "support/spending.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class ScopeDeathTest : public test::FreshProcessTest {
 protected:
  static Runtime start() { return *Runtime::start({.workers = 1}); }
};

void use_up_the_stack(std::size_t depth) {
  const volatile char some[512] = {};
  if (depth != 0) use_up_the_stack(depth - 1);
  (void)some[0];
}

TEST_F(ScopeDeathTest, ReportsANurseryWithoutAFiberAroundIt) {
  EXPECT_DEATH(Nursery nursery, "Nursery\\(\\) needs a fiber around it");
}

TEST_F(ScopeDeathTest, ReportsTheRuntimeOfAPlainThread) {
  EXPECT_DEATH((void)this_fiber::runtime(), "on a plain thread");
}

TEST_F(ScopeDeathTest, ReportsAnUnseenFailureOnAPlainThread) {
  EXPECT_DEATH(
      {
        Runtime runtime = start();
        Nursery nursery(runtime);
        (void)nursery.spawn([]() -> Status { return Error::user(3); }).wait();
      },
      "join\\(\\) has not reported: failed: 3");
}

TEST_F(ScopeDeathTest, ReportsANurseryThatEndsBeforeOneInsideOfIt) {
  EXPECT_DEATH(
      {
        Runtime runtime = start();
        std::optional<Nursery> parent(std::in_place, runtime);
        const Nursery inner(*parent);
        parent.reset();
      },
      "ends while one that was opened inside of it is still open");
}

// A fiber that is given up leaves such ones behind: who ends late dies itself.
TEST_F(ScopeDeathTest, ReportsANurseryThatOutlivesTheOneAroundItAfterALoss) {
  EXPECT_DEATH(
      {
        Runtime runtime = start();
        (void)runtime.run([](Nursery& sandbox) {
          auto task = sandbox.spawn({.budget = Budget{.ops = 1}},
                                    test::compute_for_ever);
          test::await_exhausted(task);
          task.cancel();
          (void)task.join();
        });
        std::optional<Nursery> parent(std::in_place, runtime);
        const Nursery inner(*parent);
        parent.reset();
      },
      "ends while one that was opened inside of it is still open");
}

TEST_F(ScopeDeathTest, ReportsANurseryThatAnotherFiberJoins) {
  EXPECT_DEATH((void)run(Config{.workers = 1},
                         [](Nursery& nursery) {
                           nursery.spawn([&] { (void)nursery.join(); });
                         }),
               "joined by another fiber");
}

// A grandchild, by the name of the root.
TEST_F(ScopeDeathTest, ReportsANurseryThatOneInsideOfItJoins) {
  EXPECT_DEATH(
      {
        Runtime runtime = start();
        Nursery root(runtime);
        root.spawn(
            [&](Nursery& inner) { inner.spawn([&] { (void)root.join(); }); });
        (void)root.wait_exhausted();
        (void)root.join();
      },
      "by a fiber that lives in it");
}

TEST_F(ScopeDeathTest, ReportsANurseryThatOneInsideOfItDestroys) {
  EXPECT_DEATH(
      {
        Runtime runtime = start();
        std::optional<Nursery> root(std::in_place, runtime);
        auto task = root->spawn([&] { root.reset(); });
        (void)task.wait();
      },
      "by a fiber that lives in it");
}

// While its owner waits, inside of nothing else.
template <typename Scope>
void end_elsewhere() {
  (void)run(Config{.workers = 1}, [](Nursery& nursery) {
    Event ended;
    std::optional<Scope> scope(std::in_place);
    nursery.spawn([&] {
      scope.reset();
      ended.set();
    });
    (void)ended.wait();
  });
}

TEST_F(ScopeDeathTest, ReportsAScopeThatAnotherFiberEnds) {
  EXPECT_DEATH(end_elsewhere<Nursery>(), "or on another fiber");
  EXPECT_DEATH(end_elsewhere<CancelScope>(), "or on another fiber");
  EXPECT_DEATH(end_elsewhere<Shield>(), "or on another fiber");
}

TEST_F(ScopeDeathTest, ReportsANurseryThatTwoThreadsJoin) {
  EXPECT_DEATH(
      {
        Runtime runtime = start();
        Nursery nursery(runtime);
        nursery.spawn([] {
          for (;;) this_fiber::yield();
        });
        std::thread other([&] { (void)nursery.join(); });
        (void)nursery.join();
        other.join();
      },
      "joined by two threads at once");
}

TEST_F(ScopeDeathTest, ReportsATaskThatIsDestroyedWhileSomebodyWaits) {
  EXPECT_DEATH(
      (void)run(Config{.workers = 1},
                [](Nursery& nursery) {
                  std::optional<Task<void>> task;
                  bool waits = false;
                  task = nursery.spawn([] {
                    for (;;) this_fiber::yield();
                  });
                  nursery.spawn([&] {
                    waits = true;
                    (void)task->wait(Deadline::after(std::chrono::hours(1)));
                  });
                  while (!waits) this_fiber::yield();
                  this_fiber::yield();
                  task.reset();
                }),
      "destroyed while somebody waits for it");
}

TEST_F(ScopeDeathTest, ReportsTheFiberThatOverflowsItsStack) {
  EXPECT_DEATH((void)run(Config{.workers = 1},
                         [](Nursery& nursery) {
                           nursery.spawn({.name = "deep"}, use_up_the_stack,
                                         SIZE_MAX);
                         }),
               "stack overflow in fiber #[0-9]+ \"deep\" of body 0x");
}

TEST_F(ScopeDeathTest, ReportsATaskThatOutlivesItsRuntime) {
  EXPECT_DEATH(
      {
        Task<int> task;
        Runtime runtime = start();
        Nursery nursery(runtime);
        task = nursery.spawn([] { return 1; });
        (void)nursery.join();
      },
      "1 tasks outlive their runtime");
}

// R-RT-03
TEST_F(ScopeDeathTest, ReportsARuntimeThatEndsInItsOwnFiber) {
  EXPECT_DEATH(
      {
        std::optional<Runtime> runtime(start());
        (void)runtime->run([&] { runtime.reset(); });
      },
      "shut down by one of its own fibers");
}

TEST_F(ScopeDeathTest, ReportsMoreThan255NestedPins) {
  struct Nest {
    static void pin(int depth) {
      const this_fiber::Pin one;
      if (depth > 1) pin(depth - 1);
    }
  };
  EXPECT_DEATH((void)run(Config{.workers = 1}, [] { Nest::pin(256); }),
               "more than 255 nested pins");
}

// R-ERR-04
TEST_F(ScopeDeathTest, ReportsAFiberThatEndsItsThread) {
  EXPECT_DEATH((void)run(Config{.workers = 1},
                         [] {  // as pthread_exit(), which TSan has of its own
                           ::pthread_cancel(::pthread_self());
                           ::pthread_testcancel();
                         }),
               "a fiber ends its thread");
}

TEST_F(ScopeDeathTest, ReportsTheStateOfTheRuntimeAsWell) {
  EXPECT_DEATH((void)run(Config{.name = "observed", .workers = 1},
                         [] {
                           std::thread plain([] { Nursery nursery; });
                           plain.join();
                         }),
               "needs a fiber.*\n.*runtime observed: 1 fibers alive");
}

}  // namespace
}  // namespace weft
