// combine_test.cpp: all(), race(), any().

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <variant>

#include "support/gate.hpp"
#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::as_cancelled;
using test::await_parked;
using test::Gate;
using test::RuntimeTest;
using test::WorkersTest;
using namespace std::chrono_literals;

class CombineTest : public WorkersTest {
 protected:
  static Result<int> wait_for_ever() {
    Gate never;
    WEFT_TRY(never.pass());
    return 0;
  }
  static Result<Winner<int>> wins_nothing() {
    WEFT_TRY(wait_for_ever());
    return Winner<int>{0, 0};
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, CombineTest, ::testing::Values(1u, 2u, 4u));

// Knows whether it is waiting, and how that ended.
struct Loser {
  std::atomic<bool> began{false};
  std::atomic<bool> ended{false};
  Result<int> operator()() {
    began = true;
    Gate never;
    const Status end = never.pass();
    ended = true;
    return end ? Result<int>(0) : end.error();
  }
};

TEST_P(CombineTest, AllGivesWhatEachReturned) {
  in_fiber([] {
    bool ran = false;
    auto values = all([] { return 1; }, [&] { ran = true; },
                      []() -> Result<std::string> { return "two"; },
                      [] { return std::make_unique<int>(3); });
    ASSERT_TRUE(values);
    static_assert(std::is_same_v<decltype(values)::value_type,
                                 std::tuple<int, std::monostate, std::string,
                                            std::unique_ptr<int>>>);
    auto& [one, nothing, two, three] = *values;
    EXPECT_EQ(one, 1);
    EXPECT_EQ(nothing, std::monostate());
    EXPECT_EQ(two, "two");
    EXPECT_EQ(*three, 3);
    EXPECT_TRUE(ran);
    EXPECT_TRUE(all());
    EXPECT_EQ(std::get<0>(all([] { return 7; }).value()), 7);
  });
}

TEST_P(CombineTest, AllRunsThemSideBySide) {
  in_fiber([] {
    Gate first;
    Gate second;
    EXPECT_TRUE(all(
        [&] {
          first.open();
          return second.pass();
        },
        [&]() -> Status {
          WEFT_TRY(first.pass());
          second.open();
          return {};
        }));
  });
}

TEST_P(CombineTest, AllGivesTheFirstFailureWhichCancelsTheOthers) {
  in_fiber([] {
    Loser loser;
    const auto end = all([&] { return loser(); },
                         [&]() -> Status {
                           while (!loser.began) this_fiber::yield();
                           return Error::user(7);
                         });
    EXPECT_EQ(end.error(), Error::user(7));
    EXPECT_TRUE(loser.ended);
    EXPECT_TRUE(this_fiber::checkpoint());
  });
}

TEST_P(CombineTest, AllRethrowsWhenAllHaveEnded) {
  in_fiber([] {
    Loser loser;
    const auto both = [&] {
      (void)all([&] { return loser(); },
                [&] {
                  while (!loser.began) this_fiber::yield();
                  throw std::runtime_error("x");
                });
    };
    EXPECT_THROW(both(), std::runtime_error);
    EXPECT_TRUE(loser.ended);
  });
}

TEST_P(CombineTest, GiveBodiesANurseryOfTheirOwn) {
  in_fiber([] {
    std::atomic<int> grandchildren{0};
    const auto body = [&](Nursery& nursery) {
      nursery.spawn([&] { ++grandchildren; });
      return 1;
    };
    EXPECT_TRUE(all(body, body));
    EXPECT_EQ(race(body).value().value, 1);
    EXPECT_EQ(any(body).value().value, 1);
    EXPECT_EQ(grandchildren, 4);
    // What a grandchild fails with, its body fails with.
    const auto fails = [](Nursery& nursery) {
      nursery.spawn([]() -> Status { return Errc::denied; });
    };
    EXPECT_EQ(all(fails).error(), Errc::denied);
    EXPECT_EQ(race(fails).error(), Errc::denied);
    EXPECT_EQ(any(fails).error(), Errc::denied);
  });
}

TEST_P(CombineTest, RaceGivesTheFirstToEndAndEndsTheOthers) {
  in_fiber([] {
    Loser loser;
    const auto winner = race([&] { return loser(); },
                             [&] {
                               while (!loser.began) this_fiber::yield();
                               return 2;
                             });
    EXPECT_EQ(winner.value().index, 1u);
    EXPECT_EQ(winner.value().value, 2);
    EXPECT_TRUE(loser.ended);
    EXPECT_TRUE(this_fiber::checkpoint());
  });
}

TEST_P(CombineTest, RaceIsWonByAnErrorOrAnException) {
  in_fiber([] {
    const auto lost =
        race(&wait_for_ever, []() -> Result<int> { return Error::user(3); });
    EXPECT_EQ(lost.error(), Error::user(3));
    Loser loser;
    const auto thrown = [&] {
      (void)race([&] { return loser(); },
                 [&]() -> int {
                   while (!loser.began) this_fiber::yield();
                   throw std::runtime_error("x");
                 });
    };
    EXPECT_THROW(thrown(), std::runtime_error);
    EXPECT_TRUE(loser.ended);
  });
}

// The losers' own failures are nobody's.
TEST_P(CombineTest, ForgetsHowTheLosersEnd) {
  in_fiber([] {
    std::atomic<int> waiting{0};
    const auto loses = [&](bool by_exception) -> Result<int> {
      Gate never;
      ++waiting;
      (void)never.pass();
      if (by_exception) throw std::runtime_error("too late");
      return Error::user(9);
    };
    const auto wins = [&] {
      while (waiting % 2 != 0 || waiting == 0) this_fiber::yield();
      return 1;
    };
    EXPECT_EQ(
        race([&] { return loses(true); }, [&] { return loses(false); }, wins)
            .value()
            .index,
        2u);
    waiting = 0;
    EXPECT_EQ(
        any([&] { return loses(true); }, [&] { return loses(false); }, wins)
            .value()
            .index,
        2u);
    EXPECT_TRUE(this_fiber::checkpoint());
  });
}

TEST_P(CombineTest, AnyGivesTheFirstThatSucceeds) {
  in_fiber([] {
    Loser loser;
    std::atomic<int> failed{0};
    const auto fails = [&]() -> Result<int> {
      ++failed;
      return Errc::denied;
    };
    const auto winner = any(
        fails, [&] { return loser(); },
        [&]() -> Result<int> {
          ++failed;
          throw std::runtime_error("x");
        },
        [&]() -> Result<int> {
          while (failed < 2 || !loser.began) this_fiber::yield();
          return 5;
        });
    EXPECT_EQ(winner.value().index, 3u);
    EXPECT_EQ(winner.value().value, 5);
    EXPECT_TRUE(loser.ended);
  });
}

TEST_P(CombineTest, AnyGivesTheFirstFailureIfNoneSucceeds) {
  in_fiber([] {
    Gate first_has_failed;
    std::atomic<bool> second_began{false};
    Nursery nursery;
    auto caller = nursery.spawn({.on_failure = OnFailure::keep},
                                [&]() -> Result<Winner<int>> {
                                  return any(
                                      [&]() -> Result<int> {
                                        WEFT_TRY(first_has_failed.pass());
                                        return Error::user(2);
                                      },
                                      [&]() -> Result<int> {
                                        second_began = true;
                                        return Error::user(1);
                                      });
                                });
    while (first_has_failed.waiting() == 0 || !second_began) {
      this_fiber::yield();
    }
    // The second has ended, and the caller has seen that.
    test::await_live(3);
    await_parked(caller);
    first_has_failed.open();
    EXPECT_EQ(caller.join().error(), Error::user(1));
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(CombineTest, FindTheTypeThatAllHaveInCommon) {
  in_fiber([] {
    const auto number =
        any([]() -> Result<int> { return Errc::denied; }, [] { return 2.5; });
    static_assert(std::is_same_v<decltype(number)::value_type, Winner<double>>);
    EXPECT_EQ(number.value().value, 2.5);
    const auto nothing = race([] {}, [] {});
    static_assert(
        std::is_same_v<decltype(nothing)::value_type, Winner<std::monostate>>);
    EXPECT_TRUE(nothing);
    auto moved = race([] { return std::make_unique<int>(4); });
    EXPECT_EQ(*moved.value().value, 4);
    auto also = any([] { return std::make_unique<int>(5); });
    EXPECT_EQ(*also.value().value, 5);
  });
}

TEST_P(CombineTest, MoveFunctionsIn) {
  in_fiber([] {
    auto once = [kept = std::make_unique<int>(1)]() mutable {
      return std::move(kept);
    };
    EXPECT_EQ(*std::get<0>(all(std::move(once)).value()), 1);
    // One that is given by name is copied: each has its own.
    int calls = 0;
    auto counts = [calls]() mutable { return ++calls; };
    EXPECT_EQ(all(counts, counts).value(), std::tuple(1, 1));
  });
}

TEST_P(CombineTest, EndWithTheirCaller) {
  in_fiber([] {
    as_cancelled([] {
      EXPECT_EQ(all(&wait_for_ever).error(), Errc::cancelled);
      EXPECT_EQ(race(&wait_for_ever).error(), Errc::cancelled);
      EXPECT_EQ(any(&wait_for_ever).error(), Errc::cancelled);
    });
    const auto in_time = [](auto call) {
      CancelScope scope(Deadline::after(1ms));
      EXPECT_EQ(call().error(), Errc::timed_out);
    };
    in_time([] { return all(&wait_for_ever, &wait_for_ever); });
    in_time([] { return race(&wait_for_ever, &wait_for_ever); });
    in_time([] { return any(&wait_for_ever, &wait_for_ever); });
    EXPECT_TRUE(this_fiber::checkpoint());
  });
}

TEST_P(CombineTest, Nest) {
  in_fiber([] {
    const auto deep = [] {
      return any([]() -> Result<int> { return Errc::denied; },
                 []() -> Result<int> {
                   auto both =
                       WEFT_TRY(all([] { return 1; }, [] { return 2; }));
                   return std::get<0>(both) + std::get<1>(both);
                 });
    };
    const auto first = race(deep, &wins_nothing);
    EXPECT_EQ(first.value().value.value, 3);
  });
}

// A function that throws when it is copied leaves nothing behind.
TEST_P(CombineTest, EndThoseThatBeganIfTheNextCannotBeCopied) {
  in_fiber([] {
    struct Throws {
      Throws() = default;
      Throws(const Throws&) { throw std::runtime_error("copy"); }
      int operator()() const { return 1; }
    };
    const Throws throws;
    EXPECT_THROW((void)all(&wait_for_ever, throws), std::runtime_error);
    EXPECT_THROW((void)race(&wait_for_ever, throws), std::runtime_error);
    EXPECT_THROW((void)any(&wait_for_ever, throws), std::runtime_error);
  });
}

class CombineLimitsTest : public RuntimeTest {};

TEST_F(CombineLimitsTest, TakeOneThatCannotBeStartedForAFailure) {
  Runtime runtime = start(Config{.workers = 1, .max_fibers = 3});
  const Status end = runtime.run([]() -> Status {
    Gate gate;
    const auto waits = [&]() -> Result<int> {
      WEFT_TRY(gate.pass());
      return 1;
    };
    const auto opens = [&]() -> Result<int> {
      gate.open();
      return 2;
    };
    EXPECT_EQ(race(waits, waits, opens).error(), Errc::exhausted);
    EXPECT_EQ(all(waits, waits, opens).error(), Errc::exhausted);
    EXPECT_TRUE(any(waits, opens, waits));
    return {};
  });
  EXPECT_TRUE(end) << end.error();
  expect_empty(runtime);
}

}  // namespace
}  // namespace weft
