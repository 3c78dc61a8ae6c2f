// inner_nursery_test.cpp: nurseries inside of others, by name.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "support/gate.hpp"
#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include "unit/sync/searches.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;
using test::Gate;
using test::WorkersTest;
using namespace std::chrono_literals;

class InnerNurseryTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, InnerNurseryTest,
                         ::testing::Values(1u, 2u, 4u));

// Somebody who has fibers of his own as long as he lives.
class Service {
 public:
  explicit Service(Nursery& parent) : own_(parent, {.name = "service"}) {}
  Task<> start(Gate& gate) {
    return own_.spawn([&gate] { return gate.pass(); });
  }
  Nursery& nursery() { return own_; }

 private:
  Nursery own_;
};

TEST_P(InnerNurseryTest, IsWaitedForAndClosedByTheJoinOfItsParent) {
  in_fiber([] {
    Gate gate;
    Nursery parent;
    Service service(parent);
    auto task = service.start(gate);
    await_parked(task);
    EXPECT_EQ(parent.live(), 1u);
    EXPECT_EQ(parent.join(Deadline::after(1us)).error(), Errc::timed_out);
    EXPECT_EQ(service.start(gate).join().error(), Errc::closed);
    gate.open();
    EXPECT_TRUE(parent.join());
    EXPECT_TRUE(task.done());
    EXPECT_EQ(service.nursery().live(), 0u);
    // The spawn that came too late is its failure, not the parent's.
    EXPECT_EQ(service.nursery().join().error(), Errc::closed);
  });
}

TEST_P(InnerNurseryTest, IsJoinedByItselfAndCanGoBeforeItsParent) {
  in_fiber([] {
    Gate gate;
    Gate other;
    Nursery parent;
    auto sibling = parent.spawn([&] { return other.pass(); });
    {
      Nursery inner(parent);
      auto task = inner.spawn([&] { return gate.pass(); });
      await_parked(task);
      EXPECT_EQ(inner.join(Deadline::after(1us)).error(), Errc::timed_out);
      gate.open();
      EXPECT_TRUE(inner.join());
      EXPECT_TRUE(inner.join());
    }
    EXPECT_FALSE(sibling.done());
    other.open();
    EXPECT_TRUE(parent.join());
  });
}

TEST_P(InnerNurseryTest, IsStoppedWithItsParent) {
  in_fiber([] {
    Gate never;
    Nursery parent;
    Service service(parent);
    auto task = service.start(never);
    await_parked(task);
    parent.cancel();
    EXPECT_TRUE(parent.join());
    EXPECT_EQ(task.join().error(), Errc::cancelled);
    EXPECT_EQ(service.nursery().join().error(), Errc::cancelled);
    EXPECT_FALSE(service.nursery().cancelled());
  });
}

TEST_P(InnerNurseryTest, IsStoppedByTheDeadlineOfItsParent) {
  in_fiber([] {
    Gate never;
    const auto when = Deadline::after(2ms);
    Nursery parent({.deadline = when});
    Service service(parent);
    auto task = service.nursery().spawn([&]() -> Status {
      EXPECT_EQ(this_fiber::deadline(), when);
      return never.pass();
    });
    EXPECT_EQ(parent.join().error(), Errc::timed_out);
    EXPECT_EQ(task.join().error(), Errc::timed_out);
    EXPECT_EQ(service.nursery().join().error(), Errc::timed_out);
  });
}

TEST_P(InnerNurseryTest, IsStoppedByAFailureOfItsParentsChildren) {
  in_fiber([] {
    Gate never;
    Nursery parent;
    Service service(parent);
    auto task = service.start(never);
    await_parked(task);
    parent.spawn([]() -> Status { return Error::user(7); });
    EXPECT_EQ(parent.join().error(), Error::user(7));
    EXPECT_EQ(task.join().error(), Errc::cancelled);
    EXPECT_EQ(service.nursery().join().error(), Errc::cancelled);
  });
}

// The stop comes from further out, and goes further in.
TEST_P(InnerNurseryTest, IsStoppedFromOutsideAtAnyDepth) {
  in_fiber([] {
    Gate never;
    std::atomic<int> cancelled{0};
    Nursery outermost;
    auto owner = outermost.spawn([&](Nursery& parent) {
      Nursery inner(parent);
      Nursery innermost(inner);
      const auto body = [&](Nursery& own) {  // and its own children
        own.spawn([&] {
          if (never.pass().error() == Errc::cancelled) ++cancelled;
        });
      };
      inner.spawn(body);
      innermost.spawn(body);
      EXPECT_EQ(parent.live(), 2u);
      (void)parent.join();
    });
    while (never.waiting() != 2) this_fiber::yield();
    owner.cancel();
    EXPECT_TRUE(outermost.join());
    EXPECT_EQ(cancelled, 2);
  });
}

TEST_P(InnerNurseryTest, StartsNobodyInAParentThatIsStopped) {
  in_fiber([] {
    Nursery parent;
    parent.cancel();
    Nursery inner(parent);
    auto task = inner.spawn([] { ADD_FAILURE() << "it started"; });
    EXPECT_EQ(task.join().error(), Errc::cancelled);
    EXPECT_EQ(inner.join().error(), Errc::cancelled);
    EXPECT_TRUE(parent.join());
  });
}

TEST_P(InnerNurseryTest, KeepsItsOwnCancelAndItsFailureToItself) {
  in_fiber([] {
    Gate never;
    Nursery parent;
    {
      Nursery inner(parent);
      auto task = inner.spawn([&] { return never.pass(); });
      await_parked(task);
      inner.cancel();
      EXPECT_TRUE(inner.join());
      EXPECT_TRUE(inner.cancelled());
    }
    {
      Nursery inner(parent);
      auto task = inner.spawn([&] { return never.pass(); });
      await_parked(task);
      inner.spawn([]() -> Status { return Error::user(3); });
      EXPECT_EQ(inner.join().error(), Error::user(3));
    }
    EXPECT_TRUE(this_fiber::checkpoint());  // it covers nobody's waits
    EXPECT_TRUE(parent.join());
    EXPECT_TRUE(parent.failures().empty());
  });
}

TEST_P(InnerNurseryTest, LeavesAFailureThatNobodyAskedForToItsFiber) {
  const auto end = runtime().run([](Nursery& parent) {
    Nursery inner(parent);
    (void)inner.spawn([]() -> Status { return Error::user(3); }).wait();
  });
  EXPECT_EQ(end.error(), Error::user(3));
}

TEST_P(InnerNurseryTest, IsFilledByPlainThreads) {
  std::atomic<int> done{0};
  Nursery parent(runtime());
  std::optional<Service> service(std::in_place, parent);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 100; ++k) {
        service->nursery().spawn([&] { ++done; });
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(parent.join());
  EXPECT_EQ(done, 300);
  EXPECT_TRUE(service->nursery().join());
}

// Nurseries come and go while their parent is stopped.
TEST_P(InnerNurseryTest, ComesAndGoesWhileItsParentIsStopped) {
  in_fiber([&] {
    for (int round = 0; round < (explored() ? 10 : 300); ++round) {
      std::atomic<int> running{0};
      Nursery parent;
      for (int i = 0; i < 4; ++i) {
        parent.spawn([&] {
          for (;;) {
            Gate never;
            Nursery inner(parent);
            for (int k = 0; k < 3; ++k) {
              inner.spawn([&, k] {
                ++running;
                if (k == 0) this_fiber::yield();
                if (k == 1) (void)never.pass(Deadline::after(10us));
                --running;
              });
            }
            if (!inner.join()) return;
          }
        });
      }
      for (int i = 0; i < round % 7; ++i) this_fiber::yield();
      parent.cancel();
      ASSERT_TRUE(parent.join());
      ASSERT_EQ(running, 0);
    }
  });
}

TEST(ExploredInnerNursery, MissesNoStopOfItsParent) {
  const auto body = [](test::Simulation&) {
    Event never;
    int running = 0;
    Nursery parent;
    parent.spawn([&] {
      Nursery inner(parent);
      inner.spawn([&] {
        ++running;
        (void)never.wait();
        --running;
      });
      (void)inner.join();
      EXPECT_EQ(running, 0);
    });
    parent.spawn([&] { parent.cancel(); });
    EXPECT_TRUE(parent.join());
    EXPECT_EQ(running, 0);
  };
  test::search_all({}, 2, body);
  test::search_all({test::Fault::spurious_wake}, 1, body);
}

// What tells them all needs no stack for each.
TEST_P(InnerNurseryTest, IsToldInAnyDepth) {
  in_fiber([] {
    const int depth = explored() ? 100 : 50'000;
    Nursery outermost;
    std::vector<std::unique_ptr<Nursery>> chain;
    chain.push_back(std::make_unique<Nursery>(outermost));
    while (chain.size() < static_cast<std::size_t>(depth)) {
      chain.push_back(std::make_unique<Nursery>(*chain.back()));
    }
    auto child = chain.back()->spawn(
        [] { return this_fiber::sleep_until(Deadline::never()); });
    await_parked(child);
    outermost.cancel();
    EXPECT_EQ(child.join().error(), Errc::cancelled);
    while (!chain.empty()) chain.pop_back();
    EXPECT_TRUE(outermost.join());
  });
}

}  // namespace
}  // namespace weft
