// corpus_test.cpp: every bug of the corpus is found, and comes back whenever it
// is asked for; what is fixed is left alone.

#include "corpus/corpus.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <ostream>

#include "stress/scale.hpp"

namespace weft::corpus {

void PrintTo(const Bug& bug, std::ostream* out) { *out << bug.name; }

namespace {

using testing::ExploreOptions;
using testing::ExploreResult;
using testing::Search;

const auto kSchedules = static_cast<std::uint64_t>(test::scaled(10'000));

ExploreOptions options_for(const Bug& bug, Search search) {
  ExploreOptions options = bug.options;
  options.search = search;
  options.schedules = kSchedules;
  return options;
}

class Corpus : public ::testing::TestWithParam<Bug> {
 protected:
  void finds(Search search) {
    const Bug& bug = GetParam();
    auto options = options_for(bug, search);
    options.schedules = 10'000;  // it stops at the first failure
    const ExploreResult found = testing::explore(options, bug.buggy);
    ASSERT_EQ(found.verdict, bug.verdict) << found;
    const int times = test::scaled(100);
    int again = 0;
    ::testing::internal::CaptureStderr();  // each prints its report
    for (int i = 0; i < times; ++i) {
      const auto result = testing::replay(found.replay, options, bug.buggy);
      if (result.verdict == found.verdict && result.report == found.report) {
        ++again;
      }
    }
    (void)::testing::internal::GetCapturedStderr();
    EXPECT_EQ(again, times) << found;
  }
  void passes(Search search) {
    const Bug& bug = GetParam();
    const auto result = testing::explore(options_for(bug, search), bug.fixed);
    EXPECT_TRUE(result) << result;
  }
};

TEST_P(Corpus, RandomFindsIt) { finds(Search::random); }
TEST_P(Corpus, PctFindsIt) { finds(Search::pct); }
TEST_P(Corpus, ExhaustiveFindsIt) {
  if (!GetParam().exhaustive_finds) GTEST_SKIP() << "too many schedules";
  finds(Search::exhaustive);
}
TEST_P(Corpus, FixedPassesRandom) { passes(Search::random); }
TEST_P(Corpus, FixedPassesPct) { passes(Search::pct); }
TEST_P(Corpus, FixedPassesExhaustive) { passes(Search::exhaustive); }

INSTANTIATE_TEST_SUITE_P(All, Corpus,
                         ::testing::ValuesIn(corpus().begin(), corpus().end()),
                         [](const auto& bug) { return bug.param.name; });

}  // namespace
}  // namespace weft::corpus
