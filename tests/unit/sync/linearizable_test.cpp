// linearizable_test.cpp: the checker rejects what no channel does, and accepts
// what one may do.

#include "support/linearizable.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace weft::test {
namespace {

constexpr auto kSend = Call::send;
constexpr auto kReceive = Call::receive;
constexpr auto kClose = Call::close_sender;
constexpr auto kHangUp = Call::close_receiver;
constexpr Errc kOk{};

bool is_legal(std::size_t capacity, std::initializer_list<Operation> calls,
              OnFull on_full = OnFull::wait) {
  History history;
  for (const auto& one : calls) history.add(one);
  return Linearizer(capacity, history, on_full).is_legal();
}

TEST(Linearizable, AcceptsOneCallAfterTheOther) {
  EXPECT_TRUE(is_legal(2, {{kSend, false, 1, kOk, 1, 2},
                           {kSend, true, 2, kOk, 3, 4},
                           {kSend, true, 3, Errc::would_block, 5, 6},
                           {kReceive, false, 1, kOk, 7, 8},
                           {kClose, false, 0, kOk, 9, 10},
                           {kSend, false, 4, Errc::closed, 11, 12},
                           {kReceive, true, 2, kOk, 13, 14},
                           {kReceive, false, 0, Errc::closed, 15, 16}}));
}

TEST(Linearizable, AcceptsAnyOrderOfWhatIsAtTheSameTime) {
  EXPECT_TRUE(is_legal(2, {{kSend, false, 1, kOk, 1, 4},
                           {kSend, false, 2, kOk, 2, 3},
                           {kReceive, false, 2, kOk, 5, 6},
                           {kReceive, false, 1, kOk, 7, 8}}));
  EXPECT_TRUE(is_legal(2, {{kSend, false, 1, kOk, 1, 4},
                           {kReceive, true, 0, Errc::would_block, 2, 3},
                           {kReceive, false, 1, kOk, 5, 6}}));
}

TEST(Linearizable, RejectsALostValue) {
  EXPECT_FALSE(is_legal(2, {{kSend, false, 1, kOk, 1, 2},
                            {kReceive, true, 0, Errc::would_block, 3, 4}}));
  EXPECT_FALSE(is_legal(2, {{kSend, false, 1, kOk, 1, 2},
                            {kClose, false, 0, kOk, 3, 4},
                            {kReceive, false, 0, Errc::closed, 5, 6}}));
  EXPECT_FALSE(is_legal(2, {{kSend, false, 1, kOk, 1, 2},
                            {kSend, false, 2, kOk, 3, 4},
                            {kReceive, false, 2, kOk, 5, 6}}));
}

TEST(Linearizable, RejectsAValueThatComesTwiceOrFromNowhere) {
  EXPECT_FALSE(is_legal(2, {{kSend, false, 1, kOk, 1, 2},
                            {kReceive, false, 1, kOk, 3, 4},
                            {kReceive, false, 1, kOk, 5, 6}}));
  EXPECT_FALSE(is_legal(2, {{kReceive, false, 1, kOk, 1, 2}}));
  EXPECT_FALSE(is_legal(
      2, {{kReceive, false, 1, kOk, 1, 2}, {kSend, false, 1, kOk, 3, 4}}));
}

TEST(Linearizable, RejectsAnotherOrder) {
  EXPECT_FALSE(is_legal(2, {{kSend, false, 1, kOk, 1, 2},
                            {kSend, false, 2, kOk, 3, 4},
                            {kReceive, false, 2, kOk, 5, 6},
                            {kReceive, false, 1, kOk, 7, 8}}));
  // Those who waited, too: the first entered before the second began.
  EXPECT_FALSE(is_legal(1, {{kSend, false, 1, kOk, 1, 2},
                            {kSend, false, 2, kOk, 3, 4},
                            {kReceive, false, 1, kOk, 5, 6},
                            {kReceive, false, 2, kOk, 7, 8}}));
}

TEST(Linearizable, DropsAsItIsTold) {
  const std::initializer_list<Operation> oldest = {
      {kSend, false, 1, kOk, 1, 2},
      {kSend, false, 2, kOk, 3, 4},
      {kSend, true, 3, Errc::would_block, 5, 6},
      {kReceive, false, 2, kOk, 7, 8}};
  EXPECT_TRUE(is_legal(1, oldest, OnFull::drop_oldest));
  EXPECT_FALSE(is_legal(2, oldest, OnFull::drop_oldest));
  EXPECT_FALSE(is_legal(1, oldest, OnFull::drop_newest));
  EXPECT_FALSE(is_legal(1, oldest));
  const std::initializer_list<Operation> newest = {
      {kSend, false, 1, kOk, 1, 2},
      {kSend, false, 2, Errc::would_block, 3, 4},
      {kReceive, false, 1, kOk, 5, 6}};
  EXPECT_TRUE(is_legal(1, newest, OnFull::drop_newest));
  EXPECT_FALSE(is_legal(2, newest, OnFull::drop_newest));
  EXPECT_FALSE(is_legal(1, newest, OnFull::drop_oldest));
  EXPECT_FALSE(is_legal(1, newest));
}

// There was room by then, or it was closed: nothing may be gone.
TEST(Linearizable, RejectsADropForNothing) {
  EXPECT_FALSE(is_legal(1,
                        {{kSend, false, 1, kOk, 1, 2},
                         {kSend, false, 2, Errc::closed, 3, 6},
                         {kClose, false, 0, kOk, 4, 5},
                         {kReceive, false, 0, Errc::closed, 7, 8}},
                        OnFull::drop_oldest));
  EXPECT_FALSE(is_legal(2,
                        {{kSend, false, 1, kOk, 1, 2},
                         {kSend, false, 2, kOk, 3, 4},
                         {kSend, false, 3, kOk, 5, 8},
                         {kReceive, false, 1, kOk, 6, 7},
                         {kReceive, false, 3, kOk, 9, 10}},
                        OnFull::drop_oldest));
  EXPECT_FALSE(is_legal(1,
                        {{kSend, false, 1, kOk, 1, 2},
                         {kSend, false, 2, kOk, 3, 6},
                         {kReceive, true, 0, Errc::would_block, 4, 5}},
                        OnFull::drop_oldest));
}

TEST(Linearizable, RejectsASendAfterTheClose) {
  EXPECT_FALSE(is_legal(
      2, {{kClose, false, 0, kOk, 1, 2}, {kSend, false, 1, kOk, 3, 4}}));
  EXPECT_FALSE(is_legal(2, {{kHangUp, false, 0, kOk, 1, 2},
                            {kSend, true, 1, Errc::would_block, 3, 4}}));
  EXPECT_TRUE(is_legal(
      2, {{kClose, false, 0, kOk, 1, 4}, {kSend, false, 1, kOk, 2, 3}}));
}

TEST(Linearizable, RejectsTooManyInside) {
  EXPECT_FALSE(is_legal(
      1, {{kSend, false, 1, kOk, 1, 2}, {kSend, false, 2, kOk, 3, 4}}));
  EXPECT_FALSE(is_legal(1, {{kSend, true, 1, Errc::would_block, 1, 2}}));
}

TEST(Linearizable, RejectsARendezvousThatNobodyCameTo) {
  EXPECT_FALSE(is_legal(
      0, {{kSend, false, 1, kOk, 1, 2}, {kReceive, false, 1, kOk, 3, 4}}));
  EXPECT_TRUE(is_legal(
      0, {{kSend, false, 1, kOk, 1, 3}, {kReceive, false, 1, kOk, 2, 4}}));
  EXPECT_TRUE(is_legal(
      0, {{kReceive, false, 1, kOk, 1, 4}, {kSend, true, 1, kOk, 2, 3}}));
  EXPECT_FALSE(is_legal(
      0, {{kReceive, true, 1, kOk, 1, 4}, {kSend, true, 1, kOk, 2, 3}}));
  EXPECT_FALSE(is_legal(0, {{kSend, true, 1, kOk, 1, 2}}));
}

// C-12
TEST(Linearizable, KnowsWhatACloseDoesToSendersWhoWait) {
  EXPECT_TRUE(is_legal(1, {{kSend, false, 1, kOk, 1, 2},
                           {kSend, false, 2, kOk, 3, 6},
                           {kClose, false, 0, kOk, 4, 5},
                           {kReceive, false, 1, kOk, 7, 8},
                           {kReceive, false, 2, kOk, 9, 10},
                           {kReceive, false, 0, Errc::closed, 11, 12}}));
  EXPECT_FALSE(is_legal(1, {{kSend, false, 1, kOk, 1, 2},
                            {kSend, false, 2, kOk, 3, 6},
                            {kClose, false, 0, kOk, 4, 5},
                            {kReceive, false, 1, kOk, 7, 8},
                            {kReceive, false, 0, Errc::closed, 9, 10}}));
  EXPECT_TRUE(is_legal(0, {{kSend, false, 2, Errc::closed, 3, 6},
                           {kClose, false, 0, kOk, 4, 5}}));
  EXPECT_FALSE(is_legal(
      0, {{kSend, false, 2, kOk, 3, 6}, {kClose, false, 0, kOk, 4, 5}}));
  EXPECT_FALSE(is_legal(1, {{kSend, false, 2, Errc::closed, 1, 2},
                            {kClose, false, 0, kOk, 3, 4}}));
}

TEST(Linearizable, KnowsWhatTheReceiverThrowsAway) {
  EXPECT_TRUE(is_legal(2, {{kSend, false, 1, kOk, 1, 2},
                           {kHangUp, false, 0, kOk, 3, 4},
                           {kReceive, false, 0, Errc::closed, 5, 6},
                           {kSend, false, 2, Errc::closed, 7, 8}}));
  EXPECT_FALSE(is_legal(2, {{kSend, false, 1, kOk, 1, 2},
                            {kHangUp, false, 0, kOk, 3, 4},
                            {kReceive, false, 1, kOk, 5, 6}}));
}

TEST(Linearizable, LetsWhoGaveUpHaveNoEffect) {
  EXPECT_TRUE(is_legal(1, {{kSend, false, 1, Errc::cancelled, 1, 2},
                           {kReceive, false, 0, Errc::timed_out, 3, 4},
                           {kReceive, true, 0, Errc::would_block, 5, 6}}));
  EXPECT_FALSE(is_legal(1, {{kSend, false, 1, Errc::cancelled, 1, 2},
                            {kReceive, false, 1, kOk, 3, 4}}));
}

}  // namespace
}  // namespace weft::test
