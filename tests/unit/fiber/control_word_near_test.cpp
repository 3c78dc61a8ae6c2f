// control_word_near_test.cpp: waits that begin as the fiber leaves its stack,
// and claims that keep it on the worker of its waker.

#include <gtest/gtest.h>

#include <initializer_list>

#include "fiber/control_word.hpp"
#include "unit/fiber/word_states.hpp"

namespace weft::fiber {
namespace {

using test::bring;
using test::has_token;
using test::kOwner;
using test::kStates;
using test::kTicket;

constexpr unsigned kNear = 5;

TEST(ControlWord, BeginsItsWaitAsItLeaves) {
  ControlWord word;
  bring(word, State::running);
  EXPECT_EQ(word.commit_wait(kTicket), Committed::parked);
  EXPECT_EQ(word.state_now(), State::parked);
  EXPECT_EQ(word.spec_value(), -2);  // and nobody's
  EXPECT_EQ(word.claim(kTicket - 1, source(1)), Claimed::lost);
  EXPECT_EQ(word.claim(kTicket, source(1)), Claimed::won_and_owns);
  word.resume(kOwner);
  EXPECT_EQ(word.rewait(), source(1));
}

// As a wait that begins before: it may have been claimed once.
TEST(ControlWord, OpensEachWaitAnewAsItLeaves) {
  ControlWord word;
  bring(word, State::parked);
  EXPECT_EQ(word.claim(kTicket, source(0)), Claimed::won_and_owns);
  word.resume(kOwner);
  word.end_wait();
  EXPECT_EQ(word.commit_wait(kTicket + 1), Committed::parked);
  EXPECT_EQ(word.claim(kTicket, source(0)), Claimed::lost);
  EXPECT_EQ(word.claim(kTicket + 1, source(3)), Claimed::won_and_owns);
}

// The wait has begun then, so that who looks finds it as any other.
TEST(ControlWord, LooksFirstIfItWasToldBeforeItLeft) {
  for (const bool alone : {false, true}) {
    ControlWord word;
    bring(word, State::running);
    (void)(alone ? word.cancel() : word.nudge());
    EXPECT_EQ(word.commit_wait(kTicket), Committed::resume_now);
    EXPECT_EQ(word.state_now(), State::parking);
    EXPECT_EQ(word.spec_value(), kOwner);  // still its worker's
    EXPECT_TRUE(word.must_look());
    EXPECT_EQ(word.cancelled(), alone);
    EXPECT_EQ(word.claim(kTicket, source(2)), Claimed::won);
    EXPECT_EQ(word.rewait(), source(2));
    word.end_wait();
    EXPECT_EQ(word.state_now(), State::running);
    EXPECT_TRUE(word.must_look());
  }
}

// R-PARK-10
TEST(ControlWord, ForgetsAnOldTokenAsItLeaves) {
  ControlWord word;
  bring(word, State::running);
  EXPECT_EQ(word.unpark(), Unparked::nothing);
  EXPECT_EQ(word.commit_wait(kTicket), Committed::parked);
  EXPECT_EQ(word.claim(kTicket, source(0)), Claimed::won_and_owns);
  EXPECT_FALSE(has_token(word));
}

TEST(ControlWord, StaysMeteredAsItLeaves) {
  ControlWord word;
  word.reserve();
  word.be_metered();
  word.publish();
  (void)word.start(kOwner);
  EXPECT_EQ(word.commit_wait(kTicket), Committed::parked);
  EXPECT_TRUE(word.is_metered());
}

TEST(ControlWord, RunsNearWhoClaimedItInEveryState) {
  for (const State state : kStates) {
    ControlWord word;
    bring(word, state);
    const auto answer = word.claim(kTicket, source(1), kNear);
    if (state == State::parked) {
      EXPECT_EQ(answer, Claimed::won_and_owns);
      EXPECT_TRUE(word.is_running_on(kNear));
      EXPECT_FALSE(word.is_running_on(kNear + 1));
      EXPECT_EQ(word.spec_value(), kNear);
      EXPECT_EQ(word.rewait(), source(1));
      word.yielded();  // given to others after all
      EXPECT_FALSE(word.is_running_on(kNear));
      word.resume(kOwner);
      EXPECT_TRUE(word.is_running_on(kOwner));
    } else {
      EXPECT_EQ(answer, state == State::parking ? Claimed::won : Claimed::lost)
          << state;
      EXPECT_EQ(word.state_now(), state);
      EXPECT_FALSE(word.is_running_on(kNear)) << state;
    }
  }
}

// What comes between the claim and the run stays for the fiber to find.
TEST(ControlWord, IsToldWhileItWaitsToRunNear) {
  ControlWord word;
  bring(word, State::parked);
  EXPECT_EQ(word.claim(kTicket, source(0), kNear), Claimed::won_and_owns);
  EXPECT_EQ(word.cancel(), Unparked::nothing);
  EXPECT_EQ(word.unpark(), Unparked::nothing);
  EXPECT_TRUE(word.is_running_on(kNear));
  EXPECT_EQ(word.rewait(), source(0));
  EXPECT_TRUE(word.must_look());
  EXPECT_TRUE(word.cancelled());
}

}  // namespace
}  // namespace weft::fiber
