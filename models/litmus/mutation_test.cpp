// What a mutation does to a program, and that it can be seen.
#include <gtest/gtest.h>

#include "base/atomic.hpp"
#include "checker/program.hpp"

namespace weft::model {
namespace {

Mutation change(const char* text, Effect effect) {
  return {.name = "a mutation",
          .file = "mutation_test.cpp",
          .function = "",
          .text = text,
          .weaker = relaxed,
          .effect = effect};
}

Report publish(const Mutation* mutation) {
  return explore({.mutation = mutation}, [](Program& p) {
    auto& data = p.make<Plain<int>>("data", 0);
    auto& ready = p.make<Atomic<bool>>("ready", false);
    p.thread("writer", [&] {
      data = 7;
      ready.store(true, release);
    });
    p.thread("reader", [&] {
      if (ready.load(acquire)) expect(data == 7, "the data came");
    });
  });
}

TEST(Mutation, WeakensAStore) {
  EXPECT_EQ(publish(nullptr).verdict, Verdict::holds);
  const auto mutation = change("ready.store(true", Effect::weaken);
  const auto report = publish(&mutation);
  EXPECT_EQ(report.verdict, Verdict::race);
  EXPECT_GT(report.mutated, 0u);
}

TEST(Mutation, WeakensALoad) {
  const auto mutation = change("ready.load(acquire)", Effect::weaken);
  EXPECT_EQ(publish(&mutation).verdict, Verdict::race);
}

TEST(Mutation, OfAPlaceThatIsNotThereIsSeenAsSuch) {
  const auto mutation = change("ready.store(false", Effect::weaken);
  const auto report = publish(&mutation);
  EXPECT_EQ(report.verdict, Verdict::holds);
  EXPECT_EQ(report.mutated, 0u);
}

// Dekker: each says that it wants in, then looks at the other.
Report dekker(const Mutation* mutation) {
  return explore({.mutation = mutation}, [](Program& p) {
    auto& a = p.make<Atomic<int>>("a", 0);
    auto& b = p.make<Atomic<int>>("b", 0);
    auto& inside = p.make<Atomic<int>>("inside", 0);
    p.thread("first", [&] {
      a.store(1, seq_cst);
      if (b.load(seq_cst) == 0) inside.fetch_add(1, relaxed);
    });
    p.thread("second", [&] {
      b.store(1, seq_cst);
      if (a.load(seq_cst) == 0) inside.fetch_add(1, relaxed);
    });
    p.finally([&] { expect(inside.load(relaxed) < 2, "one at most"); });
  });
}

TEST(Mutation, PutsAStoreOff) {
  EXPECT_EQ(dekker(nullptr).verdict, Verdict::holds);
  const auto mutation = change("a.store(1, seq_cst)", Effect::late);
  const auto report = dekker(&mutation);
  EXPECT_EQ(report.verdict, Verdict::failed);
  EXPECT_NE(report.trace.find("puts the store off"), std::string::npos)
      << report.trace;
}

TEST(Mutation, PutsOffTheLastStoreOfAThread) {
  const auto mutation = change("ready.store(true", Effect::late);
  const auto report = publish(&mutation);
  EXPECT_EQ(report.verdict, Verdict::holds) << report.what << report.trace;
  EXPECT_GT(report.mutated, 0u);
  EXPECT_EQ(report.executions, 2u) << "the store still comes";
}

TEST(Mutation, SkipsAStore) {
  const auto mutation = change("b.store(1, seq_cst)", Effect::skip);
  EXPECT_EQ(dekker(&mutation).verdict, Verdict::failed);
}

// A waiter that looks, says that it sleeps, and looks again.
Report sleeper(const Mutation* mutation) {
  return explore({.mutation = mutation}, [](Program& p) {
    auto& work = p.make<Atomic<int>>("work", 0);
    auto& sleeps = p.make<Atomic<int>>("sleeps", 0);
    p.thread("worker", [&] {
      if (work.load(seq_cst) != 0) return;
      sleeps.store(1, seq_cst);
      const bool found = work.load(seq_cst) != 0;  // again
      if (!found) {
        while (sleeps.load(acquire) == 1) pause();
      }
    });
    p.thread("pusher", [&] {
      work.store(1, seq_cst);
      if (sleeps.load(seq_cst) == 1) sleeps.store(0, release);
    });
  });
}

TEST(Mutation, DropsASecondLook) {
  EXPECT_EQ(sleeper(nullptr).verdict, Verdict::holds);
  const auto mutation = change("found = work.load", Effect::stale);
  EXPECT_EQ(sleeper(&mutation).verdict, Verdict::deadlock);
}

TEST(Mutation, EndsALoopThatNeverLooksAgain) {
  const auto mutation = change("while (sleeps.load", Effect::stale);
  EXPECT_EQ(sleeper(&mutation).verdict, Verdict::too_long);
}

}  // namespace
}  // namespace weft::model
