// control_word_race_test.cpp: the control word between real threads.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "fiber/control_word.hpp"
#include "support/watchdog.hpp"
#include "unit/fiber/word_states.hpp"

namespace weft::fiber {
namespace {

using test::bring;
using test::has_token;
using test::kOwner;
using test::kTicket;
using weft::test::Watchdog;

// R-CTRL-11 R-UNPARK-02
TEST(ControlWordRace, IsOwnedByOneOfManyWakers) {
  Watchdog watchdog;
  constexpr int kRounds = 300;
  constexpr int kWakers = 4;
  for (int round = 0; round < kRounds; ++round) {
    ControlWord word;
    bring(word, State::parked);
    std::atomic<int> owners{0};
    std::atomic<int> winners{0};
    std::vector<std::thread> wakers;
    for (int i = 0; i < kWakers; ++i) {
      wakers.emplace_back([&, i] {
        const auto claimed = word.claim(kTicket, source(unsigned(i)));
        winners += claimed != Claimed::lost;
        owners += claimed == Claimed::won_and_owns;
        owners += word.unpark() == Unparked::owns;
        owners += word.cancel() == Unparked::owns;
        owners += word.nudge() == Unparked::owns;
      });
    }
    for (auto& waker : wakers) waker.join();
    ASSERT_EQ(owners, 1);
    ASSERT_LE(winners, 1);
    ASSERT_EQ(word.state_now(), State::queued);
    ASSERT_TRUE(word.cancelled());
    ASSERT_TRUE(word.must_look());
  }
}

// R-PARK-01 R-MEMORD-01 R-MEMORD-06
TEST(ControlWordRace, LosesNoUnparkBetweenTwoThreads) {
  Watchdog watchdog;
  constexpr int kRounds = 20'000;
  ControlWord word;
  bring(word, State::running);
  int payload = 0;  // ordered by the word, or by the queue
  int missing = 0;
  std::atomic<int> asked{0};
  std::atomic<bool> owned{false};  // stands for the queue
  std::thread waker([&] {
    for (int round = 1; round <= kRounds; ++round) {
      while (asked.load(std::memory_order_acquire) < round) {
        std::this_thread::yield();
      }
      payload = round;
      if (word.unpark() == Unparked::owns) {
        owned.store(true, std::memory_order_release);
      }
    }
  });
  std::uint64_t ticket = 0;
  for (int round = 1; round <= kRounds; ++round) {
    asked.store(round, std::memory_order_release);
    if (word.begin_park(++ticket) == Begun::go_on) {
      if (word.commit() == Committed::parked) {
        while (!owned.exchange(false, std::memory_order_acquire)) {
          std::this_thread::yield();
        }
        word.resume(kOwner);
      }
      (void)word.withdraw();
      word.end_wait();
      (void)has_token(word);  // what refused the commit is still there
      (void)word.withdraw();
      word.end_wait();
    }
    missing += payload != round;
  }
  waker.join();
  EXPECT_EQ(missing, 0);
}

}  // namespace
}  // namespace weft::fiber
