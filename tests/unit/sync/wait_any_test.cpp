// wait_any_test.cpp: one wait for several futures.

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <deque>
#include <thread>
#include <vector>

#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::as_cancelled;
using test::await_parked;
using test::WorkersTest;
using namespace std::chrono_literals;

class WaitAnyTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, WaitAnyTest, ::testing::Values(1u, 2u, 4u));

// Several futures, and their addresses.
template <typename F = Future<>>
struct Several {
  explicit Several(std::size_t count) : futures(count) {
    for (auto& future : futures) all.push_back(&future);
  }
  Result<std::size_t> wait(Deadline deadline = Deadline::never()) {
    return wait_any(all, deadline);
  }
  std::deque<F> futures;
  std::vector<AnyFuture*> all;
};

// Each can be waited for as if nobody had: nothing of a wait is left in it.
template <typename F>
void expect_unused(Several<F>& several) {
  for (auto& future : several.futures) {
    if (future.is_set()) continue;
    EXPECT_EQ(future.wait(Deadline::after(-1s)).error(), Errc::timed_out);
  }
}

TEST_P(WaitAnyTest, RefusesNone) {
  in_fiber([] {
    EXPECT_EQ(wait_any(std::span<AnyFuture* const>()).error(), Errc::invalid);
  });
}

// R-FUT-06
TEST_P(WaitAnyTest, AnswersTheFirstThatIsSet) {
  in_fiber([] {
    Several several(4);
    several.futures[3].set();
    EXPECT_EQ(several.wait().value(), 3u);
    several.futures[1].set(Errc::denied);
    EXPECT_EQ(several.wait().value(), 1u);
    EXPECT_EQ(several.futures[1].wait().error(), Errc::denied);
    several.futures[0].set();
    several.futures[2].set();
    EXPECT_EQ(several.wait().value(), 0u);
    expect_unused(several);
  });
}

// R-FUT-06: whichever it is, and the others are as they were.
TEST_P(WaitAnyTest, IsWokenByEachOfThem) {
  for (const std::size_t count : {1u, 2u, 16u, 17u, 40u}) {
    for (const std::size_t chosen : {std::size_t{0}, count / 2, count - 1}) {
      in_fiber([=] {
        Several several(count);
        Nursery nursery;
        auto waiter = nursery.spawn([&] { return several.wait(); });
        await_parked(waiter);
        several.futures[chosen].set();
        EXPECT_EQ(waiter.join().value(), chosen);
        expect_unused(several);
        EXPECT_TRUE(nursery.join());
      });
    }
  }
}

TEST_P(WaitAnyTest, GivesTheValueAfterwards) {
  in_fiber([] {
    Future<int> number;
    Future<std::string> text;
    AnyFuture* const both[] = {&number, &text};
    Nursery nursery;
    nursery.spawn([&] { text.set("here"); });
    ASSERT_EQ(wait_any(both).value(), 1u);
    EXPECT_EQ(text.wait(Deadline::after(-1s)).value(), "here");
    EXPECT_TRUE(nursery.join());
  });
}

// R-FUT-06: all are set at once, by as many fibers.
TEST_P(WaitAnyTest, EndsOnceWhenAllSettersRace) {
  in_fiber([] {
    for (int round = 0; round < 300; ++round) {
      Several several(5);
      Nursery nursery;
      for (auto& future : several.futures) {
        nursery.spawn([&future] { future.set(); });
      }
      const auto first = several.wait();
      ASSERT_TRUE(first);
      ASSERT_TRUE(several.futures[*first].is_set());
      ASSERT_TRUE(nursery.join());
      for (auto& future : several.futures) ASSERT_TRUE(future.wait());
    }
  });
}

TEST_P(WaitAnyTest, TakesThemAllOneByOne) {
  in_fiber([] {
    constexpr std::size_t kCount = 20;
    Several several(kCount);
    Nursery nursery;
    for (auto& future : several.futures) {
      nursery.spawn([&future] { future.set(); });
    }
    auto left = several.all;
    while (!left.empty()) {
      const auto found = wait_any(left);
      ASSERT_TRUE(found);
      ASSERT_TRUE(left[*found]->is_set());
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(*found));
    }
    EXPECT_TRUE(nursery.join());
  });
}

// R-FUT-07
TEST_P(WaitAnyTest, TimesOutAndLeavesThemAsTheyWere) {
  in_fiber([] {
    for (const std::size_t count : {3u, 30u}) {
      Several several(count);
      EXPECT_EQ(several.wait(Deadline::after(1us)).error(), Errc::timed_out);
      EXPECT_EQ(several.wait(Deadline::after(-1s)).error(), Errc::timed_out);
      expect_unused(several);
      several.futures[2].set();
      EXPECT_EQ(several.wait(Deadline::after(-1s)).value(), 2u);
    }
  });
}

// R-FUT-07
TEST_P(WaitAnyTest, EndsOneWayWhenADeadlineRacesWithSetters) {
  in_fiber([] {
    Several several(3);
    for (int i = 0; i < 300; ++i) {
      Nursery nursery;
      for (auto& future : several.futures) {
        nursery.spawn([&future] { future.set(); });
      }
      const auto end =
          several.wait(Deadline::after(std::chrono::nanoseconds(100 * i)));
      ASSERT_TRUE(end ? several.futures[*end].is_set()
                      : end.error() == Errc::timed_out);
      ASSERT_TRUE(nursery.join());
      for (auto& future : several.futures) future.reset();
    }
  });
}

TEST_P(WaitAnyTest, IsCancelledAndLeavesThemAsTheyWere) {
  in_fiber([] {
    Several several(4);
    Nursery nursery;
    auto waiter = nursery.spawn([&] { return several.wait(); });
    await_parked(waiter);
    waiter.cancel();
    EXPECT_EQ(waiter.join().error(), Errc::cancelled);
    expect_unused(several);
    several.futures[0].set();
    as_cancelled([&] { EXPECT_EQ(several.wait().error(), Errc::cancelled); });
    EXPECT_EQ(several.wait().value(), 0u);
    EXPECT_TRUE(nursery.join());
  });
}

// R-SEQ-03: futures of all kinds in one wait.
TEST_P(WaitAnyTest, MixesFuturesOfAllKinds) {
  in_fiber([] {
    Future<int> plain;
    Sequencer sequencer;
    Sequencer::Future reached;
    Event event;
    Event::Future opened;
    FairMutex mutex;
    FairMutex::Future turn;
    AnyFuture* const all[] = {&plain, &reached, &opened, &turn};

    std::unique_lock hold(mutex);
    Nursery nursery;
    const auto wait_for_one = [&] {
      return nursery.spawn([&] { return wait_any(all); });
    };
    sequencer.wait(2, reached);
    event.wait(opened);
    mutex.lock(turn);

    auto waiter = wait_for_one();
    await_parked(waiter);
    sequencer.advance(2);
    EXPECT_EQ(waiter.join().value(), 1u);
    reached.reset();
    sequencer.wait(3, reached);

    waiter = wait_for_one();
    await_parked(waiter);
    event.set();
    EXPECT_EQ(waiter.join().value(), 2u);
    opened.reset();
    event.reset();
    event.wait(opened);

    waiter = wait_for_one();
    await_parked(waiter);
    hold.unlock();
    EXPECT_EQ(waiter.join().value(), 3u);
    mutex.unlock();  // by whose turn it was

    turn.reset();
    plain.set(1);
    EXPECT_EQ(wait_any(all).value(), 0u);
    reached.cancel();
    opened.cancel();
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(WaitAnyTest, ServesThreads) {
  for (int round = 0; round < 200; ++round) {
    Several several(3);
    Nursery nursery(runtime());
    nursery.spawn([&] { several.futures[2].set(); });
    std::thread setter([&] { several.futures[0].set(); });
    auto first =
        several.wait(Deadline::after(std::chrono::microseconds(round)));
    if (!first) first = several.wait();
    EXPECT_TRUE(*first == 0 || *first == 2);
    setter.join();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(several.wait().value(), 0u);
    expect_unused(several);
  }
}

}  // namespace
}  // namespace weft
