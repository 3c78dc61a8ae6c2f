// broadcast_misuse_test.cpp: what is reported of broadcasts, watches and
// selectors, and ends the process.

#include <gtest/gtest.h>

#include "support/death_test.hpp"
#include <weft/broadcast.hpp>
#include <weft/weft.hpp>

namespace weft {
namespace {

class BroadcastDeathTest : public test::FreshProcessTest {};

TEST_F(BroadcastDeathTest, ReportsOneWithoutRoom) {
  EXPECT_DEATH(Broadcast<int>(0), "a Broadcast of capacity 0");
}

// As a channel does.
TEST_F(BroadcastDeathTest, ReportsACloseWithoutAReason) {
  EXPECT_DEATH(Broadcast<int>(1).close(Errc{}),
               "a Broadcast is closed with no error as the reason");
  EXPECT_DEATH(Watch<int>(1).close(Errc{}),
               "a Watch is closed with no error as the reason");
  EXPECT_DEATH(
      {
        Watch<int> watch(1);
        watch.close();
        watch.close(Status().error());
      },
      "a Watch is closed with no error as the reason");
}

TEST_F(BroadcastDeathTest, ReportsASelectorOfTooManyCases) {
  EXPECT_DEATH(Selector(60'001), "a Selector for 60001 cases; at most 60000");
  EXPECT_DEATH(Selector(~std::size_t{0}), "at most 60000");
  const Selector most(60'000);
}

}  // namespace
}  // namespace weft
