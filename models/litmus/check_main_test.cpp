// check_main() as a user calls it: what it answers, and what it refuses.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "checker/check.hpp"

namespace weft::model {
namespace {

void publish_by(Program& p, std::memory_order order) {
  auto& data = p.make<Plain<int>>("data", 0);
  auto& ready = p.make<Atomic<bool>>("ready", false);
  p.thread("writer", [&, order] {
    data = 7;
    ready.store(true, order);
  });
  p.thread("reader", [&] {
    if (ready.load(acquire)) expect(data == 7, "the data came");
  });
}
void right(Program& p) { publish_by(p, release); }
void wrong(Program& p) { publish_by(p, relaxed); }

struct Answer {
  int status;
  std::string out;
  std::string errors;
};

Answer call(std::vector<std::string> words, std::vector<Scenario> scenarios,
            std::vector<Mutation> mutations = {}) {
  words.insert(words.begin(), "check");
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status =
      check_main(static_cast<int>(arguments.size()), arguments.data(),
                 {{.name = "flag",
                   .scenarios = std::move(scenarios),
                   .mutations = std::move(mutations)}});
  std::fflush(stdout);
  return {status, testing::internal::GetCapturedStdout(),
          testing::internal::GetCapturedStderr()};
}

// With one that holds and one that fails, as they must.
Answer call(std::vector<std::string> words) {
  return call(std::move(words),
              {{"right", right}, {"wrong", wrong, {}, Verdict::race}});
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void expect_refused(std::vector<std::string> words, const std::string& why) {
  const auto answer = call(std::move(words));
  EXPECT_EQ(answer.status, 2);
  EXPECT_TRUE(has(answer.errors, why)) << answer.errors;
  EXPECT_EQ(answer.out, "");
}

TEST(CheckMain, IsContentIfAllIsAsExpected) {
  const auto answer = call({});
  EXPECT_EQ(answer.status, 0);
  EXPECT_TRUE(has(answer.out, "no surprise")) << answer.out;
}

TEST(CheckMain, PrintsTheTraceOfASurprise) {
  const auto answer = call({}, {{"wrong", wrong}});
  EXPECT_EQ(answer.status, 1);
  EXPECT_TRUE(has(answer.out, "relaxed store ready = 1")) << answer.out;
  EXPECT_TRUE(has(answer.out, "--replay 'flag/wrong' ")) << answer.out;
}

TEST(CheckMain, IsSurprisedByAMistakeThatHolds) {
  EXPECT_EQ(call({}, {{"right", right, {}, Verdict::race}}).status, 1);
}

TEST(CheckMain, SaysOfAMutationWhatItLookedForInVain) {
  const auto answer = call({}, {{"right", right}},
                           {{.name = "store relaxed",
                             .file = "check_main_test.cpp",
                             .function = "publish_by",
                             .text = "ready.stroe("}});
  EXPECT_EQ(answer.status, 1);
  EXPECT_TRUE(has(answer.out,
                  "of what was reached in check_main_test.cpp, no statement of "
                  "a function 'publish_by' contains 'ready.stroe('"))
      << answer.out;
}

TEST(CheckMain, SaysNoMoreOfAMutationThatNobodyFound) {
  const auto answer = call({}, {{"right", right}},
                           {{.name = "load stronger",
                             .file = "check_main_test.cpp",
                             .function = "",
                             .text = "ready.load(acquire)",
                             .weaker = seq_cst}});
  EXPECT_EQ(answer.status, 1);
  EXPECT_TRUE(has(answer.out, "ALIVE   load stronger")) << answer.out;
  EXPECT_FALSE(has(answer.out, "contains")) << answer.out;
}

TEST(CheckMain, PrintsTheTraceOfAKnownMistakeIfAsked) {
  EXPECT_FALSE(has(call({}).out, "store ready"));
  EXPECT_TRUE(has(call({"--traces"}).out, "store ready"));
}

TEST(CheckMain, RunsWhatHasTheName) {
  const auto answer = call({"rig"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_TRUE(has(answer.out, "flag/right")) << answer.out;
  EXPECT_FALSE(has(answer.out, "flag/wrong")) << answer.out;
}

TEST(CheckMain, ReplaysTheFirstFailureOrAPath) {
  const auto first = call({"--replay", "flag/wrong"});
  EXPECT_EQ(first.status, 1);
  const std::string mark = "--replay 'flag/wrong' ";
  const auto path = first.out.substr(first.out.find(mark) + mark.size());
  const auto again =
      call({"--replay", "flag/wrong", path.substr(0, path.find('\n'))});
  EXPECT_EQ(again.out, first.out);
  EXPECT_EQ(call({"--replay", "flag/right"}).status, 0);
}

TEST(CheckMain, ReplaysAProgramWithoutAChoice) {
  const auto lonely = [](Program& p) {
    p.thread("one", [] { expect(false, "never"); });
  };
  const auto first = call({"--replay", "flag/lonely"}, {{"lonely", lonely}});
  EXPECT_TRUE(has(first.out, "--replay 'flag/lonely' -\n")) << first.out;
  EXPECT_EQ(call({"--replay", "flag/lonely", "-"}, {{"lonely", lonely}}).out,
            first.out);
}

TEST(CheckMain, ListsAndHelps) {
  EXPECT_EQ(call({"--list"}).out, "flag/right\nflag/wrong\n");
  EXPECT_TRUE(has(call({"--help"}).out, "usage: "));
  EXPECT_EQ(call({"--help"}).status, 0);
}

TEST(CheckMain, RefusesWhatItDoesNotKnow) {
  expect_refused({"--bogus"}, "--bogus");
  expect_refused({"--list", "more"}, "--list");
  expect_refused({"--replay"}, "--replay");
  expect_refused({"--nightly", "--traces"}, "one option at a time: --traces");
  expect_refused({"nothing"}, "no scenario has such a name (--list): nothing");
  expect_refused({"right", "nothing"}, "nothing");
  expect_refused({"--audit", "nothing"}, "no protocol has such a name");
  expect_refused({"--replay", "right"}, "no scenario of this name");
  expect_refused({"--replay", "flag/right", "0.x"},
                 "not a path (as in 0.2.1): 0.x");
}

TEST(CheckMain, RefusesAPathThatDoesNotFit) {
  const std::string why = "this path does not fit flag/right, which changed";
  expect_refused({"--replay", "flag/right", "9"}, why);
  expect_refused({"--replay", "flag/right", "0.9.0"}, why);
  expect_refused({"--replay", "flag/right", "99999999999999999999"}, why);
  expect_refused({"--replay", "flag/right", "0.0.0.0.0.0.0.0"}, why);
  expect_refused({"--replay", "flag/right", "-"}, why);
}

TEST(CheckMainDeathTest, SaysHowManyThreadsAreTooMany) {
  const auto crowd = [](Program& p) {
    for (int i = 0; i < 8; ++i) p.thread("one of many", [] {});
  };
  EXPECT_DEATH((void)explore({}, crowd), "8 threads: the checker takes 7");
}

TEST(CheckMainDeathTest, SaysThatTheBuilderIsNoThread) {
  EXPECT_DEATH((void)explore({}, [](Program&) { expect(false, "too early"); }),
               "expect.. outside of a model's threads");
}

}  // namespace
}  // namespace weft::model
