// Bugs of earlier runtimes as the one interleaving that shows each: a thread is
// held between two steps while the other side does all of its own.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
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

  // How many fibers have ended and told their joiners.
  std::uint64_t ended() const {
    std::uint64_t count = 0;
    for (const auto& worker : runtime_.ref().stats().workers) {
      count += worker.finished;
    }
    return count;
  }

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

// B-01: the child has ended when its joiner comes to say that it waits.
TEST_F(HeldPointTest, AChildThatEndsBeforeItsJoinerRegistersIsJoined) {
  std::atomic<bool> may_end{false};
  Hold joining(Point::joining);
  std::thread other([&] {
    joining.await();
    may_end = true;
    while (ended() == 0) std::this_thread::yield();
    joining.let_go();
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

// B-01, the other way: it registers while the child is between "done" and the
// look for a joiner, and has not committed its park when that look comes.
TEST_F(HeldPointTest, AJoinerThatRegistersWhileTheChildEndsIsWoken) {
  Hold at_its_end(Point::ended);
  Hold parking(Point::parking);
  std::thread other([&] {
    parking.await();  // registered
    at_its_end.let_go();
    while (ended() == 0) std::this_thread::yield();
    parking.let_go();
  });
  EXPECT_TRUE(runtime_.run([&](Nursery& nursery) {
    auto child = nursery.spawn([] {});
    at_its_end.await();  // on the other worker
    EXPECT_TRUE(child.join());
  }));
  other.join();
}

// One worker, which goes to sleep, and work from outside. Nobody else could do
// it, and nobody else comes to a point.
class HeldSleepTest : public test::RuntimeTest {
 protected:
  void TearDown() override { expect_empty(runtime_); }

  // The worker is awake when the hold is made, and then goes to sleep.
  void hold_worker_at(Point where, std::optional<Hold>& hold) {
    EXPECT_TRUE(runtime_.run([&] { hold.emplace(where); }));
    hold->await();
  }
  // Meanwhile all that a spawn does is done.
  void spawn_while_held_at(Point where) {
    bool done = false;
    std::optional<Hold> worker;
    hold_worker_at(where, worker);
    Nursery nursery(runtime_);
    nursery.spawn([&] { done = true; });
    worker->let_go();
    EXPECT_TRUE(nursery.join());
    EXPECT_TRUE(done);
  }

  Runtime runtime_ = start(1);
};

// B-07, B-16
TEST_F(HeldSleepTest, WorkThatComesBeforeTheWorkerSaysThatItSleepsIsFound) {
  spawn_while_held_at(Point::tired);
}
TEST_F(HeldSleepTest, WorkThatComesBeforeTheLastLookIsFound) {
  spawn_while_held_at(Point::announced);
}
TEST_F(HeldSleepTest, WorkThatComesAfterTheLastLookWakes) {
  spawn_while_held_at(Point::dozing);
}

// B-07: the worker has fallen asleep before the pusher looks who sleeps.
TEST_F(HeldSleepTest, WhoPushedTellsAWorkerThatFellAsleepMeanwhile) {
  std::atomic<bool> done{false};
  std::optional<Hold> dozing;
  hold_worker_at(Point::dozing, dozing);  // it has looked for the last time
  Hold pushed(Point::pushed);
  std::thread outsider(
      [&] { EXPECT_TRUE(runtime_.run([&] { done = true; })); });
  pushed.await();
  dozing->let_go();  // and sleeps, with nobody told
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
