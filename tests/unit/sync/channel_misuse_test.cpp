// channel_misuse_test.cpp: what is reported of channels and selects, and ends
// the process.

#include <gtest/gtest.h>

#include <mutex>
#include <utility>

#include "support/channel_test.hpp"
#include "support/death_test.hpp"
#include "support/parked.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;
using test::kNothing;

class ChannelDeathTest : public test::FreshProcessTest {
 protected:
  template <typename F>
  static void in_fiber(F&& body) {
    (void)run(Config{.workers = 1}, std::forward<F>(body));
  }
};

TEST_F(ChannelDeathTest, ReportsACloseWithoutAReason) {
  EXPECT_DEATH(
      {
        auto channel = make_channel<int>(1);
        channel.sender.close(Errc{});
      },
      "closed with no error as the reason");
  EXPECT_DEATH(
      {
        auto channel = make_channel<int>(1);
        channel.receiver.close(Errc{});
      },
      "closed with no error as the reason");
}

TEST_F(ChannelDeathTest, ReportsASelectOfATaskThatSomebodyWaitsFor) {
  EXPECT_DEATH(in_fiber([](Nursery& nursery) {
                 Event never;
                 auto task = nursery.spawn([&] { (void)never.wait(); });
                 auto other = nursery.spawn([&] { (void)task.wait(); });
                 await_parked(task);
                 await_parked(other);
                 (void)select(on_done(task, kNothing));
               }),
               "a task is selected on while somebody waits for it");
}

TEST_F(ChannelDeathTest, ReportsASelectOfAFutureThatSomebodyWaitsFor) {
  EXPECT_DEATH(in_fiber([](Nursery& nursery) {
                 Future<> done;
                 auto other = nursery.spawn([&] { (void)done.wait(); });
                 await_parked(other);
                 (void)select(on_set(done, kNothing));
               }),
               "a future is selected on while somebody waits for it");
  EXPECT_DEATH(in_fiber([] {
                 Future<> done;
                 (void)select(on_set(done, kNothing), on_set(done, kNothing));
               }),
               "a future is selected on while somebody waits for it");
}

TEST_F(ChannelDeathTest, ReportsASelectOfTheFiberItself) {
  EXPECT_DEATH(in_fiber([](Nursery& nursery) {
                 Task<> self;
                 Event ready;
                 self = nursery.spawn([&] {
                   (void)ready.wait();
                   (void)select(on_done(self, kNothing));
                 });
                 ready.set();
                 (void)nursery.join();
               }),
               "a fiber selects on its own end");
}

// Also if they would not have to wait.
TEST_F(ChannelDeathTest, ReportsACallUnderASpinLock) {
  EXPECT_DEATH(in_fiber([] {
                 auto channel = make_channel<int>(1);
                 SpinLock lock;
                 const std::lock_guard hold(lock);
                 (void)channel.sender.send(1);
               }),
               "PARK-UNDER-LOCK");
  EXPECT_DEATH(in_fiber([] {
                 auto channel = make_channel<int>(1);
                 SpinLock lock;
                 const std::lock_guard hold(lock);
                 (void)channel.receiver.receive();
               }),
               "PARK-UNDER-LOCK");
  EXPECT_DEATH(in_fiber([] {
                 Event event;
                 event.set();
                 SpinLock lock;
                 const std::lock_guard hold(lock);
                 (void)select(on_event(event, kNothing));
               }),
               "PARK-UNDER-LOCK");
}

// Who may not wait may try.
TEST_F(ChannelDeathTest, AllowsTriesUnderASpinLock) {
  in_fiber([] {
    auto channel = make_channel<int>(1);
    SpinLock lock;
    const std::lock_guard hold(lock);
    EXPECT_TRUE(channel.sender.try_send(1));
    EXPECT_TRUE(channel.receiver.try_receive());
    channel.sender.close();
  });
}

// The same of a select: also if it is cancelled, when others would run first.
TEST_F(ChannelDeathTest, AllowsSelectsThatDoNotWaitUnderASpinLock) {
  in_fiber([] {
    auto channel = make_channel<int>(1);
    int others = 0;
    const auto look = [&] {
      SpinLock lock;
      const std::lock_guard hold(lock);
      return select(on_receive(channel.receiver, [](Result<int>) {}),
                    otherwise([&] { ++others; }));
    };
    EXPECT_EQ(look().value(), 1u);
    EXPECT_TRUE(channel.sender.send(1));
    EXPECT_EQ(look().value(), 0u);
    EXPECT_EQ(others, 1);
    Selector selector(1);
    ASSERT_TRUE(selector.add(on_receive(channel.receiver, [](Result<int>) {})));
    {
      SpinLock lock;
      const std::lock_guard hold(lock);
      EXPECT_EQ(selector.try_wait().error(), Errc::would_block);
    }
    Nursery nursery;
    nursery.spawn([] { this_fiber::yield(); });
    test::as_cancelled([&] {
      for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(look().error(), Errc::cancelled);
      }
    });
    EXPECT_EQ(others, 1);
    EXPECT_TRUE(nursery.join());
  });
}

}  // namespace
}  // namespace weft
