// control_word_look_test.cpp: the control word of a fiber that is told to look
// at its scopes.

#include <gtest/gtest.h>

#include "fiber/control_word.hpp"
#include "unit/fiber/word_states.hpp"

namespace weft::fiber {
namespace {

using test::bring;
using test::has_token;
using test::is_live;
using test::kOwner;
using test::kStates;
using test::kTicket;

// Wakes it for nothing: what has to be done is the fiber's to decide.
void expect_told(ControlWord& word, State was) {
  const bool was_parked = was == State::parked;
  EXPECT_EQ(word.must_look(), is_live(was)) << was;
  EXPECT_EQ(word.state_now(), was_parked ? State::queued : was) << was;
  if (was == State::parking) {
    EXPECT_EQ(word.commit(), Committed::resume_now);
    EXPECT_EQ(word.rewait(), Who::open);
  } else if (was_parked) {
    word.resume(kOwner);
    EXPECT_EQ(word.rewait(), Who::open);
  } else if (is_live(was)) {
    EXPECT_TRUE(has_token(word)) << was;
  }
}

// R-UNPARK-07 R-TRANS-03
TEST(ControlWord, IsCancelledInEveryState) {
  for (const State state : kStates) {
    ControlWord word;
    bring(word, state);
    EXPECT_EQ(word.cancel(),
              state == State::parked ? Unparked::owns : Unparked::nothing)
        << state;
    EXPECT_EQ(word.cancelled(), is_live(state)) << state;
    EXPECT_EQ(word.cancel(), Unparked::nothing) << state;
    expect_told(word, state);
    EXPECT_EQ(word.cancelled(), is_live(state)) << state;
  }
}

TEST(ControlWord, IsToldToLookInEveryState) {
  for (const State state : kStates) {
    ControlWord word;
    bring(word, state);
    EXPECT_EQ(word.nudge(),
              state == State::parked ? Unparked::owns : Unparked::nothing)
        << state;
    EXPECT_EQ(word.nudge(), Unparked::nothing) << state;
    EXPECT_FALSE(word.cancelled()) << state;
    expect_told(word, state);
  }
}

TEST(ControlWord, LooksInEveryStateThatAGuestMayFindItIn) {
  for (const State state : {State::running, State::parking, State::hosting}) {
    ControlWord word;
    bring(word, state);
    EXPECT_FALSE(word.must_look()) << state;
    word.look_again();
    EXPECT_TRUE(word.must_look()) << state;
    EXPECT_EQ(word.state_now(), state);
    word.begin_look();
    EXPECT_FALSE(word.must_look()) << state;
    EXPECT_EQ(word.state_now(), state);
    EXPECT_FALSE(has_token(word)) << state;  // neither wakes
  }
}

TEST(ControlWord, StaysCancelledWhenItLooks) {
  ControlWord word;
  bring(word, State::running);
  EXPECT_EQ(word.cancel(), Unparked::nothing);
  word.begin_look();
  EXPECT_FALSE(word.must_look());
  EXPECT_TRUE(word.cancelled());
  EXPECT_TRUE(has_token(word));  // what woke it stays as well
}

TEST(ControlWord, KeepsAWaitOpenForItsSourcesWhenTold) {
  for (const State state : {State::parking, State::parked}) {
    for (const bool shield : {false, true}) {
      ControlWord word;
      bring(word, state, kTicket, shield);
      EXPECT_EQ(word.is_shielded(), shield);
      (void)word.cancel();
      EXPECT_EQ(word.claim(kTicket, source(0)), Claimed::won);
      EXPECT_EQ(word.withdraw(Who::cancelled), source(0));  // too late
    }
  }
}

TEST(ControlWord, EndsItsOwnWaitAsCancelled) {
  ControlWord word;
  bring(word, State::parked);
  EXPECT_EQ(word.cancel(), Unparked::owns);
  word.resume(kOwner);
  EXPECT_EQ(word.rewait(), Who::open);
  EXPECT_EQ(word.withdraw(Who::cancelled), Who::cancelled);
  EXPECT_EQ(word.claim(kTicket, source(0)), Claimed::lost);
  EXPECT_EQ(word.withdraw(), Who::cancelled);
  EXPECT_EQ(word.rewait(), Who::cancelled);
  word.end_wait();
  EXPECT_EQ(word.state_now(), State::running);
  EXPECT_TRUE(word.must_look());  // until it looks, or ends
}

TEST(ControlWord, ParksAgainWhenToldForNothing) {
  ControlWord word;
  bring(word, State::parked);
  EXPECT_EQ(word.nudge(), Unparked::owns);
  word.resume(kOwner);
  EXPECT_EQ(word.rewait(), Who::open);
  word.begin_look();
  EXPECT_EQ(word.commit(), Committed::parked);
  EXPECT_EQ(word.claim(kTicket, source(0)), Claimed::won_and_owns);
}

TEST(ControlWord, DoesNotParkWhenToldWhileItLooks) {
  ControlWord word;
  bring(word, State::parked);
  EXPECT_EQ(word.nudge(), Unparked::owns);
  word.resume(kOwner);
  EXPECT_EQ(word.rewait(), Who::open);
  word.begin_look();
  EXPECT_EQ(word.nudge(), Unparked::nothing);
  EXPECT_EQ(word.commit(), Committed::resume_now);
  EXPECT_TRUE(word.must_look());
}

TEST(ControlWord, IsPublishedSoThatItLooksFirst) {
  for (const bool look : {false, true}) {
    ControlWord word;
    word.reserve();
    word.publish(look);
    EXPECT_EQ(word.must_look(), look);
    EXPECT_FALSE(word.cancelled());
    EXPECT_EQ(word.start(kOwner), Started::run);  // the body runs
    EXPECT_EQ(word.begin_wait(1, false),
              look ? Begun::cancelled : Begun::go_on);
  }
}

TEST(ControlWord, RunsItsBodyUnlessItIsCancelledItself) {
  ControlWord word;
  bring(word, State::fresh);
  EXPECT_EQ(word.nudge(), Unparked::nothing);
  EXPECT_EQ(word.start(kOwner), Started::run);
  EXPECT_TRUE(word.must_look());
}

}  // namespace
}  // namespace weft::fiber
