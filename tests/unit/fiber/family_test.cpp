#include "fiber/family.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "fiber/fiber.hpp"
#include "support/watchdog.hpp"

namespace weft::fiber {
namespace {

using weft::test::Watchdog;

TEST(Family, IsSettledWithoutMembers) {
  Family family(nullptr);
  EXPECT_TRUE(family.settled());
  EXPECT_EQ(family.count(), 0);
  EXPECT_EQ(family.owner(), nullptr);
  EXPECT_FALSE(family.failure());
}

// R-SPAWN-08
TEST(Family, CountsTheMembersOfOwnerAndOthersTogether) {
  Fiber owner;
  Fiber other;
  Family family(&owner);
  family.enter(&owner);
  family.enter(&other);
  family.enter(&owner);
  family.enter(nullptr);
  EXPECT_EQ(family.count(), 4);
  EXPECT_FALSE(family.settled());
  family.left_here();
  EXPECT_EQ(family.count(), 3);
  EXPECT_FALSE(family.leave(2));
  EXPECT_EQ(family.count(), 1);
  EXPECT_FALSE(family.leave(1));  // nobody joins: nobody is last
  EXPECT_TRUE(family.settled());
}

TEST(Family, LetsAJoinOfNobodyGoOn) {
  Fiber owner;
  Family family(&owner);
  family.enter(&owner);
  EXPECT_FALSE(family.leave(1));
  WaitNode node;
  EXPECT_TRUE(family.open_join(node));
  family.reset();
  EXPECT_TRUE(family.settled());
}

TEST(Family, HandsTheJoinerToTheLastMember) {
  Fiber owner;
  Family family(&owner);
  family.enter(&owner);
  family.enter(nullptr);
  WaitNode node;
  EXPECT_FALSE(family.open_join(node));
  EXPECT_EQ(family.count(), 2);
  EXPECT_FALSE(family.leave(1));
  EXPECT_TRUE(family.leave(1));
  EXPECT_EQ(family.take_joiner(), &node);
  EXPECT_FALSE(family.give_up(node));  // too late: wait for gone
  family.reset();
  family.enter(&owner);
  EXPECT_EQ(family.count(), 1);  // may be used again
}

TEST(Family, LetsAJoinGiveUpAndComeBack) {
  Fiber owner;
  Family family(&owner);
  family.enter(&owner);
  family.enter(&owner);
  WaitNode node;
  EXPECT_FALSE(family.open_join(node));
  EXPECT_TRUE(family.give_up(node));
  EXPECT_EQ(family.count(), 2);
  EXPECT_FALSE(family.leave(1));
  EXPECT_FALSE(family.open_join(node));
  EXPECT_TRUE(family.leave(1));
  EXPECT_EQ(family.take_joiner(), &node);
}

TEST(Family, GrowsWhileItsJoinWaits) {
  Family family(nullptr);
  family.enter(nullptr);
  WaitNode node;
  EXPECT_FALSE(family.open_join(node));
  family.enter(nullptr);  // a member starts another
  EXPECT_FALSE(family.leave(1));
  EXPECT_TRUE(family.leave(1));
  EXPECT_EQ(family.take_joiner(), &node);
}

TEST(Family, KeepsTheFirstFailure) {
  Family family(nullptr);
  family.fail({Error::user(1)}, nullptr);
  family.fail({Errc::timed_out}, nullptr);
  EXPECT_TRUE(family.failure());
  EXPECT_EQ(family.failure().error, Error::user(1));
}

TEST(Family, KeepsTheExceptionOfTheFirstFailure) {
  Family family(nullptr);
  family.fail(
      {Errc::panicked, std::make_exception_ptr(std::runtime_error("first"))},
      nullptr);
  family.fail({Errc::panicked, std::make_exception_ptr(7)}, nullptr);
  EXPECT_THROW(std::rethrow_exception(family.failure().exception),
               std::runtime_error);
}

// R-SPAWN-08: no early end. Invariant J4
TEST(Family, HasOneLastMemberAmongManyThreads) {
  Watchdog watchdog;
  constexpr int kThreads = 4;
  constexpr int kEach = 50;
  for (int round = 0; round < 200; ++round) {
    Fiber owner;
    Family family(&owner);
    for (int i = 0; i < kThreads * kEach; ++i) family.enter(&owner);
    std::atomic<int> last{0};
    std::atomic<WaitNode*> taken{nullptr};
    std::vector<std::thread> members;
    for (int i = 0; i < kThreads; ++i) {
      members.emplace_back([&] {
        for (int n = 0; n < kEach; ++n) {
          if (!family.leave(1)) continue;
          ++last;
          taken = family.take_joiner();
        }
      });
    }
    WaitNode node;
    const bool at_once = family.open_join(node);
    for (auto& member : members) member.join();
    ASSERT_EQ(last + int{at_once}, 1);
    ASSERT_EQ(taken == &node, !at_once);
  }
}

// Invariant J5
TEST(Family, AgreesWithTheLastMemberWhetherItsJoinGaveUp) {
  Watchdog watchdog;
  for (int round = 0; round < 3000; ++round) {
    auto family = std::make_unique<Family>(nullptr);  // ends right after
    family->enter(nullptr);
    WaitNode node;
    ASSERT_FALSE(family->open_join(node));
    std::atomic<bool> gone{false};
    std::thread member([&gone, f = family.get()] {
      if (f->leave(1) && f->take_joiner() != nullptr) gone = true;
    });
    if (family->give_up(node)) {
      // The member may still have to leave; then a second join waits for it.
      while (!family->settled()) std::this_thread::yield();
      family.reset();
      member.join();
      ASSERT_FALSE(gone);
    } else {
      while (!gone) std::this_thread::yield();
      family.reset();
      member.join();
    }
  }
}

}  // namespace
}  // namespace weft::fiber
