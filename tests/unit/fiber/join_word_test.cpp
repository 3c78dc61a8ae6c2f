#include "fiber/join_word.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "support/watchdog.hpp"

namespace weft::fiber {
namespace {

using Entered = JoinWord::Entered;

// R-JOIN-01 R-JOIN-03
TEST(JoinWord, TellsAJoinerThatComesAfterTheEnd) {
  JoinWord word;
  WaitNode node;
  const auto owed = word.finish();
  EXPECT_EQ(owed.joiner, nullptr);
  EXPECT_FALSE(owed.reclaim);
  EXPECT_TRUE(word.is_done());
  EXPECT_EQ(word.enter(node), Entered::done);
  EXPECT_TRUE(word.drop());  // the holder reclaims
}

// R-JOIN-02 R-JOIN-03
TEST(JoinWord, HandsTheWaitingJoinerToTheEnd) {
  JoinWord word;
  WaitNode node;
  EXPECT_EQ(word.enter(node), Entered::waiting);
  EXPECT_FALSE(word.is_done());
  const auto owed = word.finish();
  EXPECT_EQ(owed.joiner, &node);
  EXPECT_FALSE(owed.reclaim);
  EXPECT_FALSE(word.leave(node));  // the waker has it
  EXPECT_TRUE(word.is_done());
}

// R-JOIN-07
TEST(JoinWord, RefusesASecondJoiner) {
  JoinWord word;
  WaitNode first;
  WaitNode second;
  EXPECT_EQ(word.enter(first), Entered::waiting);
  EXPECT_EQ(word.enter(second), Entered::taken);
  EXPECT_FALSE(word.leave(second));
  EXPECT_EQ(word.finish().joiner, &first);
}

TEST(JoinWord, LetsAJoinerLeaveAndComeBack) {
  JoinWord word;
  WaitNode node;
  EXPECT_EQ(word.enter(node), Entered::waiting);
  EXPECT_TRUE(word.leave(node));
  EXPECT_EQ(word.enter(node), Entered::waiting);
  EXPECT_TRUE(word.leave(node));
  EXPECT_EQ(word.finish().joiner, nullptr);
}

// Invariant J1
TEST(JoinWord, LeavesADroppedFrameToTheWorker) {
  JoinWord word;
  EXPECT_FALSE(word.drop());
  EXPECT_FALSE(word.is_done());
  const auto owed = word.finish();
  EXPECT_EQ(owed.joiner, nullptr);
  EXPECT_TRUE(owed.reclaim);
}

TEST(JoinWord, IsDoneAfterAnEndInPlace) {
  JoinWord word;
  EXPECT_TRUE(word.begin_in_place());
  EXPECT_FALSE(word.is_done());
  word.finish_in_place();
  EXPECT_TRUE(word.is_done());
  EXPECT_TRUE(word.drop());
  word.reset();
  EXPECT_FALSE(word.is_done());
}

// R-JOIN-07
TEST(JoinWord, RunsNothingInPlaceThatSomebodyWaitsFor) {
  JoinWord word;
  WaitNode node;
  ASSERT_EQ(word.enter(node), Entered::waiting);
  EXPECT_FALSE(word.begin_in_place());
  EXPECT_EQ(word.finish().joiner, &node);
}

// R-JOIN-07
TEST(JoinWord, RefusesAJoinerOfWhatRunsInPlace) {
  JoinWord word;
  WaitNode node;
  ASSERT_TRUE(word.begin_in_place());
  EXPECT_EQ(word.enter(node), Entered::taken);
  EXPECT_FALSE(word.is_dropped());
  word.finish_in_place();
  EXPECT_EQ(word.enter(node), Entered::done);
}

TEST(JoinWordDeathTest, DiesOfADropBeforeTheStartWhileSomebodyWaits) {
  JoinWord word;
  WaitNode node;
  ASSERT_EQ(word.enter(node), Entered::waiting);
  EXPECT_DEATH(word.drop_unstarted(), "destroyed while somebody waits for it");
}

TEST(JoinWordDeathTest, DiesOfADropOfWhatRunsInPlace) {
  JoinWord word;
  ASSERT_TRUE(word.begin_in_place());
  EXPECT_DEATH((void)word.drop(), "destroyed while somebody waits for it");
}

TEST(JoinWordDeathTest, DiesOfADropWhileSomebodyWaits) {
  JoinWord word;
  WaitNode node;
  ASSERT_EQ(word.enter(node), JoinWord::Entered::waiting);
  EXPECT_DEATH((void)word.drop(), "destroyed while somebody waits for it");
}

// Invariant J1; R-CTRL-06
TEST(JoinWord, NamesExactlyOneToReclaim) {
  weft::test::Watchdog watchdog;
  for (int round = 0; round < 2000; ++round) {
    JoinWord word;
    std::atomic<int> reclaimers{0};
    std::thread worker([&] { reclaimers += word.finish().reclaim; });
    reclaimers += word.drop();
    worker.join();
    ASSERT_EQ(reclaimers, 1);
  }
}

// R-JOIN-03 R-MEMORD-03
TEST(JoinWord, LosesNoJoinerThatRacesWithTheEnd) {
  weft::test::Watchdog watchdog;
  for (int round = 0; round < 2000; ++round) {
    JoinWord word;
    WaitNode node;
    int result = 0;  // ordered by the word alone
    WaitNode* found = nullptr;
    std::thread worker([&] {
      result = 42;
      found = word.finish().joiner;
    });
    const auto entered = word.enter(node);
    if (entered == Entered::done) {
      ASSERT_EQ(result, 42);
      worker.join();
      ASSERT_EQ(found, nullptr);
    } else {
      ASSERT_EQ(entered, Entered::waiting);
      worker.join();
      ASSERT_EQ(found, &node);
    }
  }
}

}  // namespace
}  // namespace weft::fiber
