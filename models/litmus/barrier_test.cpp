// heavy_barrier() in a model: the hot side stores without a barrier, and the
// rare side pays for both.
#include <gtest/gtest.h>

#include <string>

#include "base/asymmetric.hpp"
#include "base/futex.hpp"
#include "checker/program.hpp"

namespace weft::model {
namespace {

struct Dekker {
  Atomic<bool> hot{false};
  Atomic<bool> rare{false};
  bool hot_saw = false;
  bool rare_saw = false;
};

Report dekker(bool barrier, Options options, std::size_t hot_threads = 1) {
  return explore(options, [=](Program& p) {
    for (std::size_t i = 0; i < hot_threads; ++i) {
      auto& d = p.make<Dekker>("dekker" + std::to_string(i));
      p.thread("hot" + std::to_string(i), [&] {
        base::light_store(d.hot, true);
        d.hot_saw = d.rare.load(seq_cst);
      });
      if (i != 0) continue;
      p.thread("rare", [&, barrier] {
        d.rare.store(true, seq_cst);
        if (barrier) base::heavy_barrier();
        d.rare_saw = d.hot.load(seq_cst);
      });
      p.finally([&] { expect(d.hot_saw || d.rare_saw, "one sees the other"); });
    }
  });
}

TEST(HeavyBarrier, LetsOneOfTwoSeeTheOther) {
  const auto report = dekker(true, {.heavy_barriers = 1});
  EXPECT_EQ(report.verdict, Verdict::holds) << report.what << report.trace;
  EXPECT_GE(report.executions, 3u);  // the one, the other, both
}

TEST(HeavyBarrier, IsNeeded) {
  EXPECT_EQ(dekker(false, {.heavy_barriers = 1}).verdict, Verdict::failed);
}

TEST(HeavyBarrier, IsNotNeededWhereTheLightStoreIsAFullOne) {
  EXPECT_EQ(dekker(false, {}).verdict, Verdict::holds);
}

TEST(HeavyBarrier, WaitsForNobodyElse) {
  const auto report = dekker(true, {.heavy_barriers = 1}, 2);
  EXPECT_EQ(report.verdict, Verdict::holds) << report.what << report.trace;
}

TEST(HeavyBarrier, InterruptsAThreadThatSleeps) {
  const auto report = explore({.heavy_barriers = 1}, [](Program& p) {
    auto& data = p.make<Atomic<int>>("data", 0);
    auto& word = p.make<Atomic<std::uint32_t>>("word", 0u);
    p.thread("sleeper", [&] {
      data.store(7, relaxed);
      while (word.load(acquire) == 0) base::futex_wait(word, 0);
    });
    p.thread("caller", [&] {
      base::heavy_barrier();
      (void)data.load(relaxed);
      word.store(1, release);
      base::futex_wake(word);
    });
  });
  EXPECT_EQ(report.verdict, Verdict::holds) << report.what << report.trace;
}

// A thread that already passed its stores is seen with all of them.
TEST(HeavyBarrier, ShowsWhatAnEndedThreadWrote) {
  const auto report = explore({.heavy_barriers = 1}, [](Program& p) {
    auto& x = p.make<Atomic<int>>("x", 0);
    auto& y = p.make<Atomic<int>>("y", 0);
    p.thread("writer", [&] {
      x.store(1, relaxed);
      y.store(1, relaxed);
    });
    p.thread("caller", [&] {
      const bool late = y.load(relaxed) == 1;
      base::heavy_barrier();
      if (late) expect(x.load(relaxed) == 1, "y came after x");
    });
  });
  EXPECT_EQ(report.verdict, Verdict::holds) << report.what << report.trace;
}

// They interrupt the others where those are: maybe before their first step.
TEST(HeavyBarrier, MayComeTwiceBeforeAThreadBegins) {
  for (const int barriers : {1, 2}) {
    const auto report = explore({.heavy_barriers = barriers}, [=](Program& p) {
      auto& x = p.make<Atomic<int>>("x", 0);
      p.thread("writer", [&] { x.store(1, relaxed); });
      p.thread("caller", [&, barriers] {
        for (int i = 0; i < barriers; ++i) base::heavy_barrier();
        expect(x.load(relaxed) == 1, "the writer has begun");
      });
    });
    EXPECT_EQ(report.verdict, Verdict::failed) << barriers;
  }
}

TEST(HeavyBarrier, OrdersNoDataThatComesLater) {
  const auto report = explore({.heavy_barriers = 1}, [](Program& p) {
    auto& data = p.make<Plain<int>>("data", 0);
    p.thread("writer", [&] { data = 1; });
    p.thread("caller", [&] {
      base::heavy_barrier();
      data = 2;
    });
  });
  EXPECT_EQ(report.verdict, Verdict::race);
}

TEST(HeavyBarrier, ThatWasNotCountedOnFails) {
  const auto report = explore({.heavy_barriers = 1}, [](Program& p) {
    p.thread("caller", [] {
      base::heavy_barrier();
      base::heavy_barrier();
    });
  });
  EXPECT_EQ(report.verdict, Verdict::failed);
}

TEST(HeavyBarrier, OfTwoThreadsAtOnceEnds) {
  const auto report = explore({.heavy_barriers = 2}, [](Program& p) {
    auto& x = p.make<std::array<Atomic<int>, 2>>("x");
    auto& saw = p.make<std::array<int, 2>>("saw");
    for (const std::size_t i : {0u, 1u}) {
      p.thread("caller" + std::to_string(i), [&, i] {
        x[i].store(1, relaxed);
        base::heavy_barrier();
        saw[i] = x[1 - i].load(relaxed);
      });
    }
    p.finally([&] { expect(saw[0] + saw[1] > 0, "one sees the other"); });
  });
  EXPECT_EQ(report.verdict, Verdict::holds) << report.what << report.trace;
}

}  // namespace
}  // namespace weft::model
