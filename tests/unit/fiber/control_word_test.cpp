#include "fiber/control_word.hpp"

#include <gtest/gtest.h>

#include <array>

#include "unit/fiber/word_states.hpp"

namespace weft::fiber {
namespace {

using test::bring;
using test::has_token;
using test::is_live;
using test::kOwner;
using test::kStates;
using test::kTicket;

// R-CTRL-02
TEST(ControlWord, ShowsTheValuesOfTheSpecification) {
  constexpr std::array<std::int64_t, 9> kValues = {0,      -5, -1, -1, kOwner,
                                                   kOwner, -2, -3, -4};
  for (const State state : kStates) {
    ControlWord word;
    bring(word, state);
    EXPECT_EQ(word.state_now(), state);
    EXPECT_EQ(word.spec_value(), kValues[static_cast<std::size_t>(state)])
        << state;
  }
}

// R-CTRL-02
TEST(ControlWord, HoldsOwnersUpToFifteenBits) {
  for (const unsigned owner : {1u, 2u, 255u, 256u, 1024u, 32767u}) {
    ControlWord word;
    bring(word, State::fresh);
    EXPECT_EQ(word.start(owner), Started::run);
    EXPECT_EQ(word.spec_value(), owner);
    word.yielded();
    EXPECT_EQ(word.spec_value(), -1);
    word.resume(owner);
    EXPECT_EQ(word.spec_value(), owner);
  }
}

// R-CTRL-07
TEST(ControlWord, MapsEachStateToALogicalOne) {
  constexpr std::array kLogical = {
      Logical::init,     Logical::init,    Logical::runnable,
      Logical::runnable, Logical::running, Logical::parking,
      Logical::parked,   Logical::parked,  Logical::done};
  for (const State state : kStates) {
    ControlWord word;
    bring(word, state);
    EXPECT_EQ(word.logical(), kLogical[static_cast<std::size_t>(state)])
        << state;
  }
}

// R-UNPARK-02 R-UNPARK-03 R-UNPARK-05 R-UNPARK-06 R-PARK-09
TEST(ControlWord, IsUnparkedInEveryState) {
  for (const State state : kStates) {
    ControlWord word;
    bring(word, state);
    const bool was_parked = state == State::parked;
    EXPECT_EQ(word.unpark(), was_parked ? Unparked::owns : Unparked::nothing)
        << state;
    EXPECT_EQ(word.state_now(), was_parked ? State::queued : state) << state;
    if (was_parked) {
      EXPECT_EQ(word.unpark(), Unparked::nothing);  // the second one latches
      word.resume(kOwner);
      EXPECT_EQ(word.rewait(), Who::open);  // and is taken by the re-wait
      EXPECT_EQ(word.commit(), Committed::parked);
    } else if (is_live(state)) {
      EXPECT_EQ(word.unpark(), Unparked::nothing);
      EXPECT_TRUE(has_token(word)) << state;
      EXPECT_FALSE(has_token(word)) << state;  // once only
    }
  }
}

// R-CTRL-10 R-UNPARK-06 R-TICKET-02
TEST(ControlWord, IsClaimedInEveryState) {
  for (const State state : kStates) {
    ControlWord word;
    bring(word, state);
    const auto answer = word.claim(kTicket, source(2));
    switch (state) {
      case State::parking:
        EXPECT_EQ(answer, Claimed::won);
        EXPECT_EQ(word.state_now(), State::parking);
        EXPECT_EQ(word.commit(), Committed::resume_now);
        EXPECT_EQ(word.rewait(), source(2));
        break;
      case State::parked:
        EXPECT_EQ(answer, Claimed::won_and_owns);
        EXPECT_EQ(word.state_now(), State::queued);
        word.resume(kOwner);
        EXPECT_EQ(word.rewait(), source(2));
        break;
      default:
        EXPECT_EQ(answer, Claimed::lost) << state;
        EXPECT_EQ(word.state_now(), state);
    }
  }
}

TEST(ControlWord, BeginsNoWaitOnceCancelled) {
  ControlWord word;
  bring(word, State::running);
  EXPECT_EQ(word.cancel(), Unparked::nothing);
  EXPECT_EQ(word.begin_wait(1, false), Begun::cancelled);
  EXPECT_EQ(word.begin_park(2), Begun::had_token);  // what told it
  EXPECT_EQ(word.begin_park(2), Begun::cancelled);
  EXPECT_EQ(word.state_now(), State::running);
  EXPECT_EQ(word.begin_wait(3, true), Begun::go_on);
  EXPECT_EQ(word.state_now(), State::parking);
}

TEST(ControlWord, StartsACancelledFiberWithoutItsBody) {
  ControlWord word;
  bring(word, State::fresh);
  EXPECT_EQ(word.cancel(), Unparked::nothing);
  EXPECT_EQ(word.start(kOwner), Started::run_cancelled);
  EXPECT_TRUE(word.cancelled());
  ControlWord alone;
  bring(alone, State::fresh);
  EXPECT_EQ(alone.cancel(), Unparked::nothing);
  EXPECT_EQ(alone.start_alone(kOwner), Started::run_cancelled);
  EXPECT_TRUE(alone.cancelled());
}

TEST(ControlWord, IsTheSameHoweverItStarted) {
  ControlWord word;
  ControlWord alone;
  bring(word, State::fresh);
  bring(alone, State::fresh);
  EXPECT_EQ(word.start(kOwner), Started::run);
  EXPECT_EQ(alone.start_alone(kOwner), Started::run);
  EXPECT_EQ(alone.spec_value(), word.spec_value());
  EXPECT_EQ(alone.state_now(), State::running);
}

// R-PARK-03 R-PARK-09
TEST(ControlWord, SkipsOneParkForATokenThatCameBefore) {
  ControlWord word;
  bring(word, State::running);
  EXPECT_EQ(word.unpark(), Unparked::nothing);
  EXPECT_EQ(word.unpark(), Unparked::nothing);
  EXPECT_EQ(word.begin_park(1), Begun::had_token);
  EXPECT_EQ(word.state_now(), State::running);
  EXPECT_EQ(word.begin_park(2), Begun::go_on);
  EXPECT_EQ(word.commit(), Committed::parked);
}

// R-PARK-04 R-UNPARK-04 R-WAITABLE-06
TEST(ControlWord, RefusesTheCommitAfterATokenInBetween) {
  ControlWord word;
  bring(word, State::running);
  EXPECT_EQ(word.begin_park(1), Begun::go_on);
  EXPECT_EQ(word.unpark(), Unparked::nothing);
  EXPECT_EQ(word.commit(), Committed::resume_now);
  EXPECT_EQ(word.state_now(), State::parking);
  EXPECT_EQ(word.rewait(), Who::open);  // for nothing: parks again
  EXPECT_EQ(word.commit(), Committed::parked);
}

// R-PARK-10
TEST(ControlWord, ForgetsAnOldTokenWhenAWaitBegins) {
  ControlWord word;
  bring(word, State::running);
  EXPECT_EQ(word.unpark(), Unparked::nothing);
  EXPECT_EQ(word.begin_wait(1, false), Begun::go_on);
  EXPECT_EQ(word.commit(), Committed::parked);
}

// R-PARK-02
TEST(ControlWord, StaysClaimableOverAWakeForNothing) {
  ControlWord word;
  bring(word, State::parked);
  EXPECT_EQ(word.unpark(), Unparked::owns);
  EXPECT_EQ(word.claim(kTicket, source(1)), Claimed::won);  // still queued
  EXPECT_EQ(word.state_now(), State::queued);
  word.resume(kOwner);
  EXPECT_EQ(word.rewait(), source(1));
  word.end_wait();
  EXPECT_EQ(word.state_now(), State::running);
}

TEST(ControlWord, WithdrawsAWaitThatNobodyClaimed) {
  ControlWord word;
  bring(word, State::parking);
  EXPECT_EQ(word.withdraw(), Who::withdrawn);
  EXPECT_EQ(word.claim(kTicket, source(0)), Claimed::lost);
  EXPECT_EQ(word.withdraw(), Who::withdrawn);
  word.end_wait();
  EXPECT_EQ(word.state_now(), State::running);
}

TEST(ControlWord, LearnsWhoWasFasterThanItsWithdrawal) {
  ControlWord word;
  bring(word, State::parking);
  EXPECT_EQ(word.claim(kTicket, Who::deadline), Claimed::won);
  EXPECT_EQ(word.withdraw(), Who::deadline);
}

// R-TRANS-05: C5
TEST(ControlWord, IsClaimedOncePerWait) {
  for (const State state : {State::parking, State::parked}) {
    ControlWord word;
    bring(word, state);
    EXPECT_NE(word.claim(kTicket, source(0)), Claimed::lost);
    EXPECT_EQ(word.claim(kTicket, source(0)), Claimed::lost);
    EXPECT_EQ(word.claim(kTicket, Who::deadline), Claimed::lost);
    EXPECT_EQ(word.cancel(), Unparked::nothing);
    EXPECT_EQ(word.withdraw(Who::cancelled), source(0));
  }
}

// R-TICKET-02
TEST(ControlWord, IgnoresAClaimOfAnEarlierWait) {
  ControlWord word;
  bring(word, State::parking, 41);
  EXPECT_EQ(word.withdraw(), Who::withdrawn);
  word.end_wait();
  EXPECT_EQ(word.begin_wait(42, false), Begun::go_on);
  EXPECT_EQ(word.commit(), Committed::parked);
  EXPECT_EQ(word.claim(41, source(0)), Claimed::lost);
  EXPECT_EQ(word.claim(43, source(0)), Claimed::lost);
  EXPECT_EQ(word.state_now(), State::parked);
  EXPECT_EQ(word.claim(42, source(0)), Claimed::won_and_owns);
}

// R-TICKET-02
TEST(ControlWord, IgnoresAClaimMadeForThePreviousFiberOfItsFrame) {
  ControlWord word;
  bring(word, State::parked, 5);
  EXPECT_EQ(word.claim(5, source(0)), Claimed::won_and_owns);
  word.resume(kOwner);
  word.end_wait();
  word.done(false);
  word.reclaim();
  bring(word, State::parked, 6);
  EXPECT_EQ(word.claim(5, source(0)), Claimed::lost);
  EXPECT_EQ(word.state_now(), State::parked);
}

// R-TICKET-01
TEST(ControlWord, WrapsItsTicketsAroundTwentyFourAndSixtyFourBits) {
  for (const std::uint64_t last :
       {std::uint64_t{0xFFFFFF}, std::uint64_t{0xFFFFFFFFFF},
        ~std::uint64_t{0}}) {
    ControlWord word;
    bring(word, State::parking, last);
    EXPECT_EQ(word.claim(last, Who::deadline), Claimed::won);
    word.end_wait();
    EXPECT_EQ(word.begin_wait(last + 1, false), Begun::go_on);
    EXPECT_EQ(word.claim(last, source(0)), Claimed::lost);
    EXPECT_EQ(word.commit(), Committed::parked);
    EXPECT_EQ(word.claim(last + 1, source(0)), Claimed::won_and_owns);
    word.resume(kOwner);
    word.end_wait();
    word.done(false);
    word.reclaim();
    EXPECT_EQ(word.state_now(), State::free);
    word.reserve();  // counts the ticket on, past its wrap
    EXPECT_EQ(word.state_now(), State::reserved);
  }
}

TEST(ControlWord, KeepsSourcesUpToTheLargestIndexApart) {
  for (const unsigned index : {0u, 1u, 1000u, 65530u}) {
    ControlWord word;
    bring(word, State::parking);
    EXPECT_EQ(word.claim(kTicket, source(index)), Claimed::won);
    EXPECT_EQ(word.withdraw(), source(index));
    EXPECT_EQ(word.spec_value(), kOwner);
  }
}

// Invariant C6
TEST(ControlWord, LosesNoTokenAndNoCancelOverAnyTransition) {
  ControlWord word;
  bring(word, State::fresh);
  EXPECT_EQ(word.unpark(), Unparked::nothing);
  (void)word.start(1);
  EXPECT_EQ(word.cancel(), Unparked::nothing);
  word.yielded();
  word.resume(2);
  EXPECT_TRUE(word.host());
  EXPECT_FALSE(word.host());  // already
  word.unhost(1);
  EXPECT_TRUE(word.cancelled());
  EXPECT_TRUE(word.must_look());
  EXPECT_EQ(word.begin_wait(9, true), Begun::go_on);
  EXPECT_EQ(word.commit(), Committed::parked);  // a wait clears the token only
  EXPECT_EQ(word.claim(9, source(0)), Claimed::won_and_owns);
  word.resume(1);
  word.end_wait();
  EXPECT_TRUE(word.cancelled());
  word.done(false);
  word.reclaim();
  EXPECT_FALSE(word.cancelled());
  EXPECT_FALSE(word.must_look());
}

TEST(ControlWord, ComesBackFreeWhenAbandoned) {
  ControlWord word;
  bring(word, State::reserved);
  word.abandon();
  EXPECT_EQ(word.state_now(), State::free);
  bring(word, State::running);
  EXPECT_EQ(word.state_now(), State::running);
}

}  // namespace
}  // namespace weft::fiber
