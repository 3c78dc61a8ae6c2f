// Bugs of earlier runtimes as the one interleaving that shows each: a thread is
// held between two steps while the other side does all of its own.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/point.hpp"
#include "support/runtime_test.hpp"
#include "wait/park.hpp"
#include <weft/weft.hpp>

#if defined(WEFT_FAULTS)

namespace weft {
namespace {

using base::Hold;
using base::Point;
using namespace std::chrono_literals;

class HeldPointTest : public test::RuntimeTest {
 protected:
  void TearDown() override { expect_empty(runtime_); }

  Runtime runtime_ = start(2);
};

// B-04: a waker finds the fiber off its stack, and not yet committed.
TEST_F(HeldPointTest, AWakeBeforeTheCommitResumesOnce) {
  Atomic<std::uint32_t> flag{0};
  std::atomic<int> resumed{0};
  std::atomic<bool> ready{false};
  waiting::ParkHandle handle{};
  Hold hold(Point::parking);
  std::thread waker([&] {
    hold.await();
    EXPECT_TRUE(ready);
    flag.store(1, release);
    waiting::unpark(handle);
    hold.let_go();
  });
  EXPECT_TRUE(runtime_.run([&] {
    handle = waiting::park_handle();
    ready = true;
    while (flag.load(acquire) == 0) EXPECT_TRUE(waiting::park_if(flag, 0));
    ++resumed;
  }));
  waker.join();
  EXPECT_EQ(resumed, 1);
}

// B-01: the child has ended and its joiner is about to say that it waits.
TEST_F(HeldPointTest, AChildThatEndsBeforeItsJoinerRegistersIsJoined) {
  std::atomic<bool> may_end{false};
  Hold joining(Point::joining);
  std::thread other([&] {
    joining.await();
    Hold ended(Point::ended);
    may_end = true;
    ended.await();
    joining.let_go();  // both go on from between their steps
    ended.let_go();
  });
  EXPECT_TRUE(runtime_.run([&](Nursery& nursery) {
    std::atomic<bool> began{false};
    auto child = nursery.spawn([&] {
      began = true;
      while (!may_end) std::this_thread::yield();
      return 7;
    });
    while (!began) std::this_thread::yield();  // the other worker has it
    EXPECT_EQ(child.join().value(), 7);
  }));
  other.join();
}

// B-01, the other way: it registers while the child is between "done" and
// looking for a joiner.
TEST_F(HeldPointTest, AJoinerThatRegistersWhileTheChildEndsIsWoken) {
  std::atomic<bool> joins{false};
  Hold ended(Point::ended);
  std::thread other([&] {
    ended.await();
    while (!joins) std::this_thread::yield();
    ended.let_go();
  });
  EXPECT_TRUE(runtime_.run([&](Nursery& nursery) {
    std::atomic<bool> began{false};
    auto child = nursery.spawn([&] { began = true; });
    while (!began) std::this_thread::yield();
    joins = true;
    EXPECT_TRUE(child.join());
  }));
  other.join();
}

// B-07, B-16: work comes after a worker said that it sleeps, before it looks.
TEST_F(HeldPointTest, WorkThatComesBeforeTheLastLookIsFound) {
  std::atomic<bool> done{false};
  Hold announced(Point::announced);
  std::thread first([&] { EXPECT_TRUE(runtime_.run([] {})); });
  announced.await();
  std::thread second([&] { EXPECT_TRUE(runtime_.run([&] { done = true; })); });
  second.join();  // by the other worker
  announced.let_go();
  first.join();
  EXPECT_TRUE(done);
}

// B-07: and after it has looked.
TEST_F(HeldPointTest, WorkThatComesAfterTheLastLookWakes) {
  std::atomic<bool> done{false};
  Hold dozing(Point::dozing);
  std::thread first([&] { EXPECT_TRUE(runtime_.run([] {})); });
  dozing.await();
  std::thread second([&] { EXPECT_TRUE(runtime_.run([&] { done = true; })); });
  second.join();
  dozing.let_go();
  first.join();
  EXPECT_TRUE(done);
}

// B-07, from the other side: workers go to sleep between the push and the look
// at who sleeps, or find the work by themselves.
TEST_F(HeldPointTest, WhoPushedTellsThoseThatFellAsleepMeanwhile) {
  std::atomic<bool> done{false};
  Hold pushed(Point::pushed);
  std::thread outsider(
      [&] { EXPECT_TRUE(runtime_.run([&] { done = true; })); });
  pushed.await();
  pushed.let_go();
  outsider.join();
  EXPECT_TRUE(done);
}

// B-26: a sleep is over and its timer taken when the cancel comes.
TEST_F(HeldPointTest, ASleepThatEndsAndIsCancelledEndsOnce) {
  std::atomic<int> ends{0};
  Hold expired(Point::expired);
  EXPECT_TRUE(runtime_.run([&](Nursery& nursery) {
    auto sleeper = nursery.spawn([&] {
      const Status end = this_fiber::sleep_for(1ms);
      EXPECT_TRUE(end || end.error() == Errc::cancelled);
      ++ends;
    });
    std::thread other([&] {
      expired.await();
      sleeper.cancel();
      expired.let_go();
    });
    (void)sleeper.join();
    other.join();
  }));
  EXPECT_EQ(ends, 1);
}

}  // namespace
}  // namespace weft

#endif
