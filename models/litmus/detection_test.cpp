// What the checker must find, and what it must not take for a fault.
#include <gtest/gtest.h>

#include <array>
#include <mutex>
#include <string>

#include "base/atomic.hpp"
#include "base/check.hpp"
#include "base/futex.hpp"
#include "base/spin_lock.hpp"
#include "checker/program.hpp"

namespace weft::model {
namespace {

// One publishes plain data with this order, one reads it.
Report publish(std::memory_order order, Options options = {}) {
  return explore(options, [order](Program& p) {
    auto& data = p.make<Plain<int>>("data", 0);
    auto& ready = p.make<Atomic<bool>>("ready", false);
    p.thread("writer", [&, order] {
      data = 7;
      ready.store(true, order);
    });
    p.thread("reader", [&] {
      if (ready.load(acquire)) expect(data == 7, "the data came");
    });
  });
}

TEST(Detection, AcceptsAReleaseAndAnAcquire) {
  const auto report = publish(release);
  EXPECT_EQ(report.verdict, Verdict::holds) << report.trace;
  EXPECT_EQ(report.executions, 2u);
}

TEST(Detection, FindsADataRace) {
  const auto report = publish(relaxed);
  EXPECT_EQ(report.verdict, Verdict::race);
  EXPECT_NE(report.what.find("writer"), std::string::npos);
  EXPECT_NE(report.what.find("reader"), std::string::npos);
}

TEST(Detection, PrintsEachStepWithItsSource) {
  const auto report = publish(relaxed);
  EXPECT_NE(report.trace.find("store ready = 1"), std::string::npos)
      << report.trace;
  EXPECT_NE(report.trace.find("load  ready: 1 from step"), std::string::npos)
      << report.trace;
  EXPECT_NE(report.trace.find("ready.store(true, order);"), std::string::npos)
      << report.trace;
  EXPECT_NE(report.trace.find("detection_test.cpp:"), std::string::npos);
}

TEST(Detection, ReplaysAFailure) {
  const auto first = publish(relaxed);
  ASSERT_FALSE(first.replay.empty());
  const auto again = publish(relaxed, {.replay = first.replay});
  EXPECT_EQ(again.verdict, Verdict::race);
  EXPECT_EQ(again.trace, first.trace);
  EXPECT_EQ(again.executions, 1u);
}

TEST(Detection, FindsAFailedExpectation) {
  const auto report = explore({}, [](Program& p) {
    auto& x = p.make<Atomic<int>>("x", 0);
    for (const char* name : {"a", "b"}) {
      p.thread(name, [&] { x.store(x.load(seq_cst) + 1, seq_cst); });
    }
    p.finally([&] { expect(x.load(seq_cst) == 2, "no update is lost"); });
  });
  EXPECT_EQ(report.verdict, Verdict::failed);
  EXPECT_NE(report.what.find("no update is lost"), std::string::npos);
}

TEST(Detection, FindsABrokenCheckOfTheLibrary) {
  const auto report = explore({}, [](Program& p) {
    auto& x = p.make<Atomic<int>>("x", 0);
    p.thread("a", [&] { x.store(1, relaxed); });
    p.thread("b", [&] { WEFT_CHECK(x.load(relaxed) == 0, "x is %d", 1); });
  });
  EXPECT_EQ(report.verdict, Verdict::failed);
  EXPECT_NE(report.what.find("x is 1"), std::string::npos);
}

TEST(Detection, AcceptsASpinLock) {
  const auto report = explore({}, [](Program& p) {
    auto& lock = p.make<base::SpinLock>("lock");
    auto& count = p.make<Plain<int>>("count", 0);
    for (const char* name : {"a", "b", "c"}) {
      p.thread(name, [&] {
        const std::lock_guard guard(lock);
        count = count + 1;
      });
    }
    p.finally([&] { expect(count == 3, "each was inside once"); });
  });
  EXPECT_EQ(report.verdict, Verdict::holds) << report.what << report.trace;
}

TEST(Detection, FindsALockThatIsNeverReleased) {
  const auto report = explore({}, [](Program& p) {
    auto& lock = p.make<base::SpinLock>("lock");
    p.thread("a", [&] { lock.lock(); });
    p.thread("b", [&] { lock.lock(); });
  });
  EXPECT_EQ(report.verdict, Verdict::deadlock);
}

TEST(Detection, FindsTwoLocksTakenCrosswise) {
  const auto report = explore({}, [](Program& p) {
    auto& first = p.make<base::SpinLock>("first");
    auto& second = p.make<base::SpinLock>("second");
    p.thread("a", [&] {
      const std::lock_guard outer(first);
      const std::lock_guard inner(second);
    });
    p.thread("b", [&] {
      const std::lock_guard outer(second);
      const std::lock_guard inner(first);
    });
  });
  EXPECT_EQ(report.verdict, Verdict::deadlock);
}

TEST(Detection, FindsALoopWithoutPauseThatNobodyEnds) {
  const auto report = explore({}, [](Program& p) {
    auto& x = p.make<Atomic<int>>("x", 0);
    p.thread("a", [&] {
      while (x.load(relaxed) != 2) {
      }
    });
    p.thread("b", [&] { x.store(1, relaxed); });
  });
  EXPECT_EQ(report.verdict, Verdict::deadlock);
}

TEST(Detection, LetsALoopWithoutPauseReadStaleValuesOnlySoOften) {
  const auto report = explore({}, [](Program& p) {
    auto& x = p.make<Atomic<int>>("x", 0);
    p.thread("a", [&] {
      while (x.load(relaxed) != 2) {
      }
    });
    p.thread("b", [&] {
      x.store(1, relaxed);
      x.store(2, relaxed);
    });
  });
  EXPECT_EQ(report.verdict, Verdict::holds) << report.what << report.trace;
}

// A sleeper and a waker; `after` is where the waker looks whether to wake.
Report sleep_and_wake(bool store_before_wake) {
  return explore({}, [=](Program& p) {
    auto& word = p.make<Atomic<std::uint32_t>>("word", 0u);
    p.thread("sleeper", [&] {
      while (word.load(acquire) == 0) base::futex_wait(word, 0);
    });
    p.thread("waker", [&, store_before_wake] {
      if (!store_before_wake) base::futex_wake(word);
      word.store(1, release);
      if (store_before_wake) base::futex_wake(word);
    });
  });
}

TEST(Detection, AcceptsAStoreAndThenAWake) {
  const auto report = sleep_and_wake(true);
  EXPECT_EQ(report.verdict, Verdict::holds) << report.what << report.trace;
}

TEST(Detection, FindsALostWakeUp) {
  const auto report = sleep_and_wake(false);
  EXPECT_EQ(report.verdict, Verdict::deadlock);
  EXPECT_NE(report.what.find("sleeper sleeps"), std::string::npos);
}

// One sleeps until a deadline; another, if there is one, for ever.
Report sleep_until(bool beside_another) {
  return explore({}, [=](Program& p) {
    auto& words = p.make<std::array<Atomic<std::uint32_t>, 2>>("words");
    p.thread("timed", [&] { base::futex_wait(words[0], 0, 1); });
    if (!beside_another) return;
    p.thread("untimed", [&] { base::futex_wait(words[1], 0); });
  });
}

TEST(Detection, ADeadlineEndsASleep) {
  const auto report = sleep_until(false);
  EXPECT_EQ(report.verdict, Verdict::holds) << report.what << report.trace;
  EXPECT_EQ(report.executions, 1u);
}

TEST(Detection, FindsASleepForEverBesideOneWithADeadline) {
  const auto report = sleep_until(true);
  EXPECT_EQ(report.verdict, Verdict::deadlock);
  EXPECT_EQ(report.what.find("timed sleeps, "), std::string::npos);
}

TEST(Detection, EndsAnExecutionThatIsTooLong) {
  const auto report = explore({.max_steps = 50}, [](Program& p) {
    auto& x = p.make<Atomic<int>>("x", 0);
    p.thread("a", [&] {
      for (;;) x.fetch_add(1, relaxed);
    });
  });
  EXPECT_EQ(report.verdict, Verdict::too_long);
}

TEST(Detection, SaysThatASearchWasCutShort) {
  const auto report = explore({.max_executions = 3}, [](Program& p) {
    auto& x = p.make<Atomic<int>>("x", 0);
    for (const char* name : {"a", "b", "c"}) {
      p.thread(name, [&] { x.fetch_add(1, relaxed); });
    }
  });
  EXPECT_EQ(report.verdict, Verdict::incomplete);
  EXPECT_EQ(report.executions, 3u);
}

// Looks, writes, looks again: nothing in memory makes it end.
TEST(Detection, LimitsStaleReadsIfAsked) {
  const auto build = [](Program& p) {
    auto& x = p.make<Atomic<int>>("x", 0);
    auto& y = p.make<Atomic<int>>("y", 0);
    p.thread("a", [&] {
      while (x.load(relaxed) == 0) y.store(1, relaxed);
    });
    p.thread("b", [&] { x.store(1, relaxed); });
  };
  EXPECT_EQ(explore({.max_steps = 100}, build).verdict, Verdict::too_long);
  const auto report = explore({.max_steps = 100, .stale_reads = 2}, build);
  EXPECT_EQ(report.verdict, Verdict::holds) << report.what << report.trace;
}

TEST(Detection, FailsAWeakCompareExchangeOnce) {
  const auto build = [](Program& p) {
    auto& x = p.make<Atomic<int>>("x", 0);
    p.thread("a", [&] {
      int seen = 0;
      expect(x.compare_exchange_weak(seen, 1, relaxed), "it succeeds");
    });
  };
  EXPECT_EQ(explore({}, build).verdict, Verdict::failed);
  EXPECT_EQ(explore({.spurious_failures = 0}, build).verdict, Verdict::holds);
}

TEST(Detection, SeesAnObjectThatAThreadMakes) {
  const auto report = explore({}, [](Program& p) {
    auto& shared = p.make<Atomic<Atomic<int>*>>("shared", nullptr);
    p.thread("maker", [&] {
      Atomic<int> local{5};
      shared.store(&local, release);
      while (local.load(acquire) != 6) pause();
    });
    p.thread("user", [&] {
      if (auto* local = shared.load(acquire)) {
        expect(local->load(relaxed) == 5, "it is complete");
        local->store(6, release);
      } else {
        while ((local = shared.load(acquire)) == nullptr) pause();
        local->store(6, release);
      }
    });
  });
  EXPECT_EQ(report.verdict, Verdict::holds) << report.what << report.trace;
}

}  // namespace
}  // namespace weft::model
