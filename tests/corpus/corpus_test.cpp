// corpus_test.cpp: every bug of the corpus is found, and comes back whenever it
// is asked for; what is fixed is left alone.

#include "corpus/corpus.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <vector>

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
    options.print = false;
    for (int i = 0; i < times; ++i) {
      const auto result = testing::replay(found.replay, options, bug.buggy);
      if (result.verdict == found.verdict && result.report == found.report) {
        ++again;
      }
    }
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
TEST_P(Corpus, FixedPassesRandom) { passes(Search::random); }
TEST_P(Corpus, FixedPassesPct) { passes(Search::pct); }
TEST_P(Corpus, FixedPassesExhaustive) { passes(Search::exhaustive); }

// Those that it comes to among so many schedules.
class SmallCorpus : public Corpus {
 public:
  static std::vector<Bug> all() {
    std::vector<Bug> bugs(corpus().begin(), corpus().end());
    std::erase_if(bugs, [](const Bug& bug) { return !bug.exhaustive_finds; });
    return bugs;
  }
};

TEST_P(SmallCorpus, ExhaustiveFindsIt) { finds(Search::exhaustive); }

INSTANTIATE_TEST_SUITE_P(All, SmallCorpus,
                         ::testing::ValuesIn(SmallCorpus::all()),
                         [](const auto& bug) { return bug.param.name; });
INSTANTIATE_TEST_SUITE_P(All, Corpus,
                         ::testing::ValuesIn(corpus().begin(), corpus().end()),
                         [](const auto& bug) { return bug.param.name; });

}  // namespace
}  // namespace weft::corpus
