// channel_life_test.cpp: channels without a runtime, longer than one, between
// two; beside fibers that need a turn; and as the environment wants them.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>

#include "support/channel_test.hpp"
#include "support/death_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::numbers;
using test::take_all;

class ChannelLifeTest : public test::RuntimeTest {};

TEST_F(ChannelLifeTest, NeedsNoRuntimeAndOutlivesOne) {
  auto channel = make_channel<int>(2);
  EXPECT_TRUE(channel.sender.send(1));
  {
    Runtime runtime = start(2);
    ASSERT_TRUE(runtime.run([&] {
      EXPECT_EQ(channel.receiver.receive().value(), 1);
      EXPECT_TRUE(channel.sender.send(2));
    }));
  }
  Runtime another = start(1);
  ASSERT_TRUE(another.run([&] { EXPECT_TRUE(channel.sender.send(3)); }));
  EXPECT_EQ(channel.receiver.receive().value(), 2);
  EXPECT_EQ(channel.receiver.receive().value(), 3);
}

// One that never has to wait keeps its worker to itself for a while only.
TEST_F(ChannelLifeTest, LetsOthersRunWhileItNeedNotWait) {
  Runtime runtime = start(1);
  for (const bool lock_free : {false, true}) {
    int values[1] = {};
    const auto until_others_ran = [&](auto exchange) {
      ASSERT_TRUE(runtime.run([&] {
        auto channel = make_channel<int>(2, {.lock_free = lock_free});
        int others = 0;
        Nursery nursery;
        for (int i = 0; i < 2; ++i) nursery.spawn([&] { ++others; });
        while (others < 2) exchange(channel);
        EXPECT_TRUE(nursery.join());
      }));
    };
    until_others_ran([](Channel<int>& channel) {
      EXPECT_TRUE(channel.sender.send(1));
      EXPECT_TRUE(channel.receiver.receive());
    });
    until_others_ran([&](Channel<int>& channel) {
      EXPECT_TRUE(channel.sender.send_many(values));
      EXPECT_TRUE(channel.receiver.try_receive());
    });
    until_others_ran([&](Channel<int>& channel) {
      EXPECT_TRUE(channel.sender.try_send(1));
      EXPECT_TRUE(channel.receiver.receive_many(values, 1));
    });
    until_others_ran([](Channel<int>& channel) {
      EXPECT_TRUE(channel.sender.try_send(1));
      EXPECT_TRUE(select(on_receive(channel.receiver, [](Result<int>) {})));
    });
  }
}

// Fibers of two runtimes meet.
TEST_F(ChannelLifeTest, JoinsTwoRuntimes) {
  for (const std::size_t capacity : {0u, 1u}) {
    auto channel = make_channel<int>(capacity);
    Runtime one = start(1);
    Runtime other = start(1);
    Nursery nursery(one);
    nursery.spawn([&] {
      for (int i = 0; i < 500; ++i) EXPECT_TRUE(channel.sender.send(i));
      channel.sender.close();
    });
    ASSERT_TRUE(other.run(
        [&] { EXPECT_EQ(take_all(channel.receiver), numbers(0, 500)); }));
    EXPECT_TRUE(nursery.join());
  }
}

#if !defined(WEFT_TEST_EMULATED)  // no process there that has no channel yet

class ChannelEnvironmentTest : public test::FreshProcessTest {
 protected:
  // The environment is asked once, by the first channel of a process.
  [[noreturn]] static void expect_lock(const char* no_lock_free, bool expected,
                                       bool lock_free = true) {
    ::setenv("CC_CHAN_NO_LOCKFREE", no_lock_free, 1);
    auto channel = make_channel<int>(2, {.lock_free = lock_free});
    const auto* const ends = detail::ChannelAccess::channel(channel.sender);
    const auto tail = ends->tail.word.load();
    const auto head = ends->head.word.load();
    const bool works = channel.sender.send(1) && channel.receiver.receive();
    const auto want = expected ? detail::kRingLocked : 0;
    std::_Exit(works && tail == want && head == want ? 0 : 1);
  }
};

// R-CHBUF-06
TEST_F(ChannelEnvironmentTest, TakesTheLockIfTheEnvironmentSaysSo) {
  const auto well = ::testing::ExitedWithCode(0);
  EXPECT_EXIT(expect_lock("1", true), well, "");
  EXPECT_EXIT(expect_lock("0", false), well, "");
  EXPECT_EXIT(expect_lock("", false), well, "");
  EXPECT_EXIT(expect_lock("0", true, /*lock_free=*/false), well, "");
}

#endif

}  // namespace
}  // namespace weft
