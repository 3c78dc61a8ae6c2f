// in_place_test.cpp: children that run on the stack of who joins them.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "sched/worker.hpp"
#include "support/gate.hpp"
#include "support/runtime_test.hpp"
#include "unit/sched/hold_worker.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Gate;
using test::hold_worker_until;
using test::RuntimeTest;

class InPlaceTest : public RuntimeTest {};

std::uint64_t in_place(const Runtime& runtime) {
  std::uint64_t sum = 0;
  for (const auto& worker : runtime.ref().stats().workers) {
    sum += worker.in_place;
  }
  return sum;
}

bool near(const void* a, const void* b) {
  const auto x = reinterpret_cast<std::uintptr_t>(a);
  const auto y = reinterpret_cast<std::uintptr_t>(b);
  return (x > y ? x - y : y - x) < (64u << 10);
}

// R-JOIN-05
TEST_F(InPlaceTest, RunsChildrenThatHaveNotStarted) {
  Runtime runtime = start(1);
  constexpr std::uint64_t kChildren = 1000;
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (std::uint64_t i = 0; i < kChildren; ++i) {
      auto child = nursery.spawn([i] { return i * i; });
      EXPECT_EQ(child.join().value(), i * i);
    }
  }));
  const auto worker = runtime.ref().stats().workers[0];
  EXPECT_GT(worker.in_place, kChildren / 2);
  EXPECT_LE(worker.in_place, kChildren);
  EXPECT_EQ(worker.finished, kChildren + 1);
}

// R-RUNQ-07
TEST_F(InPlaceTest, LetsAnOutsiderInBesidesAnEndlessLoopOfJoins) {
  Runtime runtime = start(1);
  std::atomic<bool> stop{false};
  Gate looping;
  Nursery outside(runtime);
  outside.spawn([&](Nursery& nursery) {
    for (int i = 0; !stop; ++i) {
      EXPECT_TRUE(nursery.spawn([] {}).join());
      if (i == 10) looping.open();
    }
  });
  EXPECT_TRUE(looping.pass());
  outside.spawn([&] { stop = true; });
  EXPECT_TRUE(outside.join());
  expect_empty(runtime);
}

// R-AFF-03
TEST_F(InPlaceTest, HandsTheWorkerToAJoinerThatHadToWait) {
  Runtime runtime = start(1);
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    for (int i = 0; i < 10; ++i) {
      auto child = nursery.spawn([i] { return i; });
      const auto later = Deadline::after(std::chrono::hours(1));
      EXPECT_EQ(child.join(later).value(), i);
    }
  }));
  EXPECT_GT(runtime.ref().stats().workers[0].handed_over, 0u);
}

TEST_F(InPlaceTest, RunsOnTheStackOfItsJoiner) {
  Runtime runtime = start(1);
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    // Frames, not locals: ASan keeps those elsewhere.
    const void* const mine = __builtin_frame_address(0);
    const void* child_frame = nullptr;
    const auto my_id = this_fiber::id();
    auto child = nursery.spawn([&] {
      child_frame = __builtin_frame_address(0);
      EXPECT_NE(this_fiber::id(), my_id);  // a fiber of its own all the same
    });
    EXPECT_TRUE(child.join());
    EXPECT_TRUE(near(mine, child_frame));
    EXPECT_EQ(this_fiber::id(), my_id);
  }));
  EXPECT_EQ(in_place(runtime), 1u);
}

TEST_F(InPlaceTest, RunsAllChildrenOfAJoinedNursery) {
  constexpr int kChildren = std::min<int>(20, sched::Worker::kRecentSlots);
  Runtime runtime = start(1);
  int sum = 0;
  ASSERT_TRUE(runtime.run([&] {
    Nursery nursery;
    for (int i = 1; i <= kChildren; ++i) nursery.spawn([&sum, i] { sum += i; });
    EXPECT_TRUE(nursery.join());
  }));
  EXPECT_EQ(sum, kChildren * (kChildren + 1) / 2);
  EXPECT_EQ(in_place(runtime), std::uint64_t{kChildren});
}

// Somebody else waits at the same handle, which is misuse, while the child is
// in place and waits itself.
// R-JOIN-07
TEST_F(InPlaceTest, RefusesASecondWaiterThatCameMeanwhile) {
  Runtime runtime = start(1);
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    Task<void> task;
    bool came = false;
    nursery.spawn([&] {
      came = true;
      EXPECT_EQ(task.wait().error(), Errc::invalid);
    });
    task = nursery.spawn([&] {
      while (!came) this_fiber::yield();
      this_fiber::yield();
    });
    EXPECT_TRUE(task.wait());
    EXPECT_TRUE(nursery.join());
  }));
}

[[gnu::noinline]] int use_stack(std::size_t bytes) {
  volatile char page[4096];
  page[0] = 1;
  page[4095] = 1;
  return (bytes > sizeof page ? use_stack(bytes - sizeof page) : 0) + page[0];
}
[[gnu::noinline]] int join_below(Nursery& nursery, std::size_t bytes) {
  volatile char page[4096];
  page[0] = 1;
  page[4095] = 1;
  if (bytes > sizeof page) return join_below(nursery, bytes - sizeof page);
  return nursery.spawn(use_stack, 150u << 10).join().value() + page[0];
}

// A child may count on three quarters of a stack, however much of its own the
// joiner has used.
TEST_F(InPlaceTest, GivesAChildTheStackItMayCountOn) {
  Runtime runtime = start(1);
  for (const std::size_t used : {4u, 32u, 60u, 100u, 150u, 200u}) {
    ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
      EXPECT_GT(join_below(nursery, used << 10), 0);
    }));
  }
  EXPECT_GT(in_place(runtime), 0u);
}

TEST_F(InPlaceTest, NeverRunsAChildWhoseJoinHasADeadline) {
  Runtime runtime = start(1);
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    auto child = nursery.spawn([] { return 7; });
    EXPECT_EQ(child.join(Deadline::after(std::chrono::hours(1))).value(), 7);
  }));
  EXPECT_EQ(in_place(runtime), 0u);
}

TEST_F(InPlaceTest, PassesOnWhatTheChildThrows) {
  Runtime runtime = start(1);
  EXPECT_THROW((void)runtime.run([&](Nursery& nursery) {
    auto child =
        nursery.spawn([]() -> int { throw std::runtime_error("child"); });
    EXPECT_THROW((void)child.join(), std::runtime_error);
  }),
               std::runtime_error);
  EXPECT_EQ(in_place(runtime), 1u);
}

// R-SPAWN-07
TEST_F(InPlaceTest, LetsTheChildWaitAndItsHostWithIt) {
  Runtime runtime = start(1);
  Gate gate;
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    auto host = nursery.spawn([&](Nursery& inner) {
      auto guest = inner.spawn([&] {
        EXPECT_TRUE(gate.pass());
        this_fiber::yield();
        return 5;
      });
      return guest.join().value() + 1;
    });
    while (gate.waiting() == 0) this_fiber::yield();
    EXPECT_EQ(host.state(), FiberState::parked);
    gate.open();
    EXPECT_EQ(host.join().value(), 6);
  }));
  expect_empty(runtime);
}

// R-SPAWN-07 R-CTRL-03 R-RUNQ-18
TEST_F(InPlaceTest, MovesToAnotherWorkerTogetherWithItsHost) {
  Runtime runtime = start(2);
  while (in_place(runtime) == 0) {  // a thief may be faster
    Gate gate;
    std::atomic<pid_t> first{0};
    std::atomic<bool> moved{false};
    ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
      nursery.spawn([&](Nursery& inner) {
        const auto self = this_fiber::id();
        auto guest = inner.spawn([&] {
          first = ::gettid();
          EXPECT_TRUE(gate.pass());
          EXPECT_NE(::gettid(), first);
          moved = true;
          return ::gettid();
        });
        const auto ended_on = guest.join().value();
        EXPECT_EQ(::gettid(), ended_on);
        EXPECT_EQ(this_fiber::id(), self);
      });
      while (gate.waiting() == 0) this_fiber::yield();
      while (::gettid() != first) this_fiber::yield();
      gate.open();
      // Only the other worker can go on with it.
      hold_worker_until([&] { return moved.load(); });
    }));
  }
  expect_empty(runtime);
}

int chain(int depth) {
  if (depth == 0) return 0;
  Nursery nursery;
  auto child = nursery.spawn(chain, depth - 1);
  return child.join().value() + 1;
}

TEST_F(InPlaceTest, ParksWhenTheStackHasNoRoomLeft) {
  Runtime runtime = start(1);
  const auto depth = runtime.run([] { return chain(1000); });
  EXPECT_EQ(depth.value(), 1000);
  EXPECT_GT(in_place(runtime), 0u);
  EXPECT_GT(runtime.ref().stats().workers[0].parked, 0u);
  expect_empty(runtime);
}

TEST_F(InPlaceTest, NeedsTheStackThatTheSpawnAskedFor) {
  Runtime runtime = start(1);
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    auto child =
        nursery.spawn(SpawnOptions{.stack_size = StackSize::large}, [] {
          volatile char large[1 << 20];
          large[0] = 1;
          large[sizeof large - 1] = 2;
          return large[0] + large[sizeof large - 1];
        });
    EXPECT_EQ(child.join().value(), 3);
  }));
  EXPECT_EQ(in_place(runtime), 0u);
}

TEST_F(InPlaceTest, CancelsAChildThatHasNotStarted) {
  Runtime runtime = start(1);
  ASSERT_TRUE(runtime.run([&](Nursery& nursery) {
    auto child = nursery.spawn([]() -> int {
      ADD_FAILURE() << "a cancelled body runs";
      return 1;
    });
    child.cancel();
    EXPECT_EQ(child.join().error(), Errc::cancelled);
    EXPECT_TRUE(nursery.join());
  }));
  EXPECT_EQ(in_place(runtime), 1u);
}

// Invariant P4: who is stopped while a guest of its own runs was not told.
TEST_F(InPlaceTest, StopsAGuestWhoseOwnGuestDidNotLook) {
  Runtime runtime = start(1);
  ASSERT_TRUE(runtime.run([&](Nursery&) {
    CancelScope scope;
    Nursery outer;
    auto guest = outer.spawn([&] {
      EXPECT_FALSE(this_fiber::cancelled());
      Nursery inner;
      auto top =
          inner.spawn([&] { std::thread([&] { scope.cancel(); }).join(); });
      EXPECT_TRUE(top.join());
      return this_fiber::cancelled();
    });
    EXPECT_TRUE(guest.join().value());
  }));
  EXPECT_EQ(in_place(runtime), 2u);
}

}  // namespace
}  // namespace weft
