#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/future.hpp>
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::as_cancelled;
using test::await_parked;
using test::WorkersTest;
using namespace std::chrono_literals;

constinit Future<> future_made_early;
constinit Future<int> number_made_early;

// R-FUT-03: the state is one word, the error the other.
static_assert(sizeof(Future<>) == 16);

class FutureTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, FutureTest, ::testing::Values(1u, 2u, 4u));

// R-FUT-02
TEST_P(FutureTest, GivesWhatWasSetBeforeTheWait) {
  in_fiber([] {
    Future<int> answer;
    EXPECT_FALSE(answer.is_set());
    answer.set(42);
    EXPECT_TRUE(answer.is_set());
    EXPECT_EQ(answer.wait().value(), 42);
    Future<> nothing;
    nothing.set();
    EXPECT_TRUE(nothing.wait());
    EXPECT_TRUE(nothing.wait());  // it stays set
  });
}

// R-FUT-01 R-FUT-02: with one worker the setter needs the waiter's.
TEST_P(FutureTest, WakesWhoWaits) {
  in_fiber([] {
    Future<int> answer;
    Nursery nursery;
    auto waiter = nursery.spawn([&] { return answer.wait(); });
    await_parked(waiter);
    EXPECT_FALSE(answer.is_set());
    answer.set(7);
    EXPECT_EQ(waiter.join().value(), 7);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(FutureTest, GivesTheErrorThatWasSet) {
  in_fiber([] {
    Future<> failed;
    failed.set(Errc::denied);
    EXPECT_TRUE(failed.is_set());
    EXPECT_EQ(failed.wait().error(), Errc::denied);
    Future<std::string> text;
    text.set(Error::user(5));
    EXPECT_EQ(text.wait().error(), Error::user(5));
    Future<int> later;
    Nursery nursery;
    auto waiter =
        nursery.spawn([&] { EXPECT_EQ(later.wait().error(), Errc::closed); });
    await_parked(waiter);
    later.set(Errc::closed);
    EXPECT_TRUE(waiter.join());
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(FutureTest, MovesItsValue) {
  in_fiber([] {
    Future<std::unique_ptr<int>> owner;
    owner.set(std::make_unique<int>(3));
    const auto got = owner.wait();
    ASSERT_TRUE(got);
    EXPECT_EQ(**got, 3);
  });
}

// R-FUT-02
TEST_P(FutureTest, IsNewAfterAReset) {
  in_fiber([] {
    Future<int> answer;
    Nursery nursery;
    for (int i = 0; i < 100; ++i) {
      auto waiter = nursery.spawn([&] { return answer.wait(); });
      if (i % 2 == 0) await_parked(waiter);
      answer.set(i);
      EXPECT_EQ(waiter.join().value(), i);
      answer.reset();
      EXPECT_FALSE(answer.is_set());
    }
    answer.set(Errc::denied);
    answer.reset();
    answer.set(5);  // the error is gone
    EXPECT_EQ(answer.wait().value(), 5);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(FutureTest, MayBeMadeAtCompileTime) {
  in_fiber([] {
    future_made_early.set();
    EXPECT_TRUE(future_made_early.wait());
    future_made_early.reset();
    number_made_early.set(4);
    EXPECT_EQ(number_made_early.wait().value(), 4);
    number_made_early.reset();
  });
}

// R-FUT-04
TEST_P(FutureTest, LosesNoWakeWhenSetRacesWithTheWait) {
  in_fiber([] {
    for (int i = 0; i < 2'000; ++i) {
      int plain = 0;  // what only set() publishes
      Future<int> answer;
      Nursery nursery;
      nursery.spawn([&, i] {
        plain = i;
        answer.set(i);
      });
      ASSERT_EQ(answer.wait().value(), i);
      ASSERT_EQ(plain, i);
      EXPECT_TRUE(nursery.join());
    }
  });
}

// Who has seen it set may destroy it.
TEST_P(FutureTest, MayGoAsSoonAsItIsSeenSet) {
  in_fiber([] {
    for (int i = 0; i < 1'000; ++i) {
      auto answer = std::make_unique<Future<int>>();
      Nursery nursery;
      nursery.spawn([future = answer.get(), i] { future->set(i); });
      if (i % 2 == 0) {
        ASSERT_EQ(answer->wait().value(), i);
      } else {
        while (!answer->is_set()) this_fiber::yield();
      }
      answer.reset();
      EXPECT_TRUE(nursery.join());
    }
  });
}

// R-FUT-07 R-TIMER-03 C-27
TEST_P(FutureTest, TimesOutAndIsAsItWas) {
  in_fiber([] {
    Future<int> answer;
    EXPECT_EQ(answer.wait(Deadline::after(1us)).error(), Errc::timed_out);
    for (const auto when : {Deadline::after(-1s), Deadline(Clock::now())}) {
      EXPECT_EQ(answer.wait(when).error(), Errc::timed_out);
    }
    EXPECT_FALSE(answer.is_set());
    Nursery nursery;
    auto waiter = nursery.spawn([&] { return answer.wait(); });
    await_parked(waiter);
    answer.set(1);
    EXPECT_EQ(waiter.join().value(), 1);
    answer.reset();
    answer.set(2);  // what is there is given whatever the deadline
    EXPECT_EQ(answer.wait(Deadline::after(-1s)).value(), 2);
    EXPECT_TRUE(nursery.join());
  });
}

// R-FUT-07 R-TIMER-03
TEST_P(FutureTest, EndsOneWayWhenItsDeadlineRacesWithSet) {
  in_fiber([] {
    Future<int> answer;
    for (int i = 0; i < 500; ++i) {
      Nursery nursery;
      nursery.spawn([&, i] { answer.set(i); });
      auto end = answer.wait(Deadline::after(std::chrono::nanoseconds(60 * i)));
      if (!end) {
        ASSERT_EQ(end.error(), Errc::timed_out);
        end = answer.wait();
      }
      ASSERT_EQ(end.value(), i);
      ASSERT_TRUE(nursery.join());
      answer.reset();
    }
  });
}

// R-TRANS-03
TEST_P(FutureTest, IsAsItWasWhenItsWaiterIsCancelled) {
  in_fiber([] {
    Future<int> answer;
    Nursery nursery;
    auto first = nursery.spawn([&] { return answer.wait(); });
    await_parked(first);
    first.cancel();
    EXPECT_EQ(first.join().error(), Errc::cancelled);
    EXPECT_FALSE(answer.is_set());
    auto second = nursery.spawn([&] { return answer.wait(); });
    await_parked(second);
    answer.set(9);
    EXPECT_EQ(second.join().value(), 9);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(FutureTest, RefusesACancelledFiberAlthoughItIsSet) {
  in_fiber([] {
    Future<int> answer;
    answer.set(6);
    as_cancelled([&] { EXPECT_EQ(answer.wait().error(), Errc::cancelled); });
    EXPECT_EQ(answer.wait().value(), 6);
  });
}

TEST_P(FutureTest, EndsOneWayWhenCancelRacesWithSet) {
  in_fiber([] {
    Future<int> answer;
    for (int i = 0; i < 500; ++i) {
      Nursery nursery;
      auto waiter = nursery.spawn([&] { return answer.wait(); });
      auto setter = nursery.spawn([&, i] { answer.set(i); });
      waiter.cancel();
      auto end = waiter.join();
      ASSERT_TRUE(setter.join());
      if (!end) {
        ASSERT_EQ(end.error(), Errc::cancelled);
        end = answer.wait();
      }
      ASSERT_EQ(end.value(), i);
      answer.reset();
      EXPECT_TRUE(nursery.join());
    }
  });
}

TEST_P(FutureTest, ServesThreadsOnBothSides) {
  constexpr int kRounds = 500;
  std::vector<Future<int>> to_fiber(kRounds);
  std::vector<Future<int>> to_thread(kRounds);
  Nursery all(runtime());
  all.spawn([&] {
    for (std::size_t i = 0; i < kRounds; ++i) {
      EXPECT_EQ(to_fiber[i].wait().value(), static_cast<int>(i));
      to_thread[i].set(-static_cast<int>(i));
    }
  });
  std::thread thread([&] {
    for (std::size_t i = 0; i < kRounds; ++i) {
      to_fiber[i].set(static_cast<int>(i));
      EXPECT_EQ(to_thread[i].wait().value(), -static_cast<int>(i));
    }
  });
  thread.join();
  EXPECT_TRUE(all.join());
}

TEST(FutureThreadTest, ServesThreadsWithoutARuntime) {
  Future<int> answer;
  EXPECT_EQ(answer.wait(Deadline::after(1us)).error(), Errc::timed_out);
  EXPECT_EQ(answer.wait(Deadline::after(-1s)).error(), Errc::timed_out);
  for (int i = 0; i < 500; ++i) {
    std::thread setter([&answer, i] { answer.set(i); });
    auto end = answer.wait(Deadline::after(std::chrono::microseconds(i)));
    if (!end) end = answer.wait();
    EXPECT_EQ(end.value(), i);
    setter.join();
    answer.reset();
  }
}

struct CallCount : AnyFuture::Callback {
  CallCount() noexcept
      : Callback{[](Callback& it) noexcept {
          ++static_cast<CallCount&>(it).calls;
        }} {}
  std::atomic<int> calls{0};
};

// R-FUT-05
TEST_P(FutureTest, CallsItsCallbackWhenItIsSet) {
  in_fiber([] {
    Future<int> answer;
    CallCount count;
    EXPECT_TRUE(answer.subscribe(count));
    EXPECT_EQ(count.calls, 0);
    answer.set(1);
    EXPECT_EQ(count.calls, 1);  // on the setter's stack
    EXPECT_EQ(answer.wait().value(), 1);
    EXPECT_EQ(count.calls, 1);
  });
}

// R-FUT-05
TEST_P(FutureTest, RefusesACallbackOnceItIsSet) {
  in_fiber([] {
    Future<> done;
    done.set(Errc::denied);
    CallCount count;
    EXPECT_FALSE(done.subscribe(count));
    EXPECT_EQ(count.calls, 0);
    EXPECT_EQ(done.wait().error(), Errc::denied);
    done.reset();
    EXPECT_TRUE(done.subscribe(count));
    done.set();
    EXPECT_EQ(count.calls, 1);
  });
}

// R-FUT-05
TEST_P(FutureTest, CallsOnceOrRefusesWhenSetRacesWithSubscribe) {
  in_fiber([] {
    for (int i = 0; i < 1'000; ++i) {
      Future<> done;
      CallCount count;
      Nursery nursery;
      nursery.spawn([&] { done.set(); });
      const bool subscribed = done.subscribe(count);
      ASSERT_TRUE(nursery.join());
      ASSERT_EQ(count.calls, subscribed ? 1 : 0);
    }
  });
}

}  // namespace
}  // namespace weft
