// Whoever changes a broadcast or a watch tells who waits for that, wherever a
// check stops him for lack of ops.

#include "unit/diag/checked_news.hpp"

#include <gtest/gtest.h>

#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::CheckedNews;
using test::CheckedWatch;

constexpr Deadline kAtOnce{Clock::time_point{}};

class CheckedNewsTest : public test::WorkersTest {
 protected:
  // One waits, another acts with so many ops, and stops where they end; then
  // has it happened, as it was not told? False: it was enough.
  template <typename Waits, typename Acts, typename Happened>
  static bool stops_after(std::uint32_t ops, Waits waits, Acts acts,
                          Happened happened) {
    Nursery service;
    auto waiter = service.spawn(waits);
    while (waiter.state() != FiberState::parked) this_fiber::yield();
    Nursery sandbox;
    auto actor =
        sandbox.spawn({.budget = Budget{.ops = ops, .channel_ops = 10}}, acts);
    while (!actor.done() && actor.state() != FiberState::exhausted) {
      this_fiber::yield();
    }
    const bool is_enough = actor.done();
    const bool still_waits = waiter.state() == FiberState::parked;
    EXPECT_FALSE(happened() && still_waits) << ops << " ops";
    if (!is_enough) {
      EXPECT_TRUE(sandbox.recharge(actor.id(), {.ops = 100'000}));
    }
    EXPECT_TRUE(sandbox.join());
    EXPECT_TRUE(waiter.join());
    return !is_enough;
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, CheckedNewsTest, ::testing::Values(1u, 4u));

TEST_P(CheckedNewsTest, TellsOfWhatIsSent) {
  in_fiber([] {
    const auto stops = [](std::uint32_t ops) {
      CheckedNews news(4, OnFull::drop_oldest);
      return stops_after(
          ops, [&] { EXPECT_TRUE(news.receive()); }, [&] { (void)news.send(); },
          [&] { return news.try_receive(); });
    };
    for (std::uint32_t ops = 1; stops(ops);) ++ops;
  });
}

TEST_P(CheckedNewsTest, TellsOfWhatIsTaken) {
  in_fiber([] {
    const auto stops = [](std::uint32_t ops) {
      CheckedNews news(1, OnFull::wait);
      EXPECT_TRUE(news.send());
      EXPECT_TRUE(news.try_receive());
      return stops_after(
          ops, [&] { EXPECT_TRUE(news.send()); }, [&] { (void)news.receive(); },
          [&] {  // there is room; and again, for who waits
            return news.send(kAtOnce) && news.receive() && news.try_receive();
          });
    };
    for (std::uint32_t ops = 1; stops(ops);) ++ops;
  });
}

TEST_P(CheckedNewsTest, TellsOfWhoLeaves) {
  in_fiber([] {
    const auto stops = [](std::uint32_t ops) {
      CheckedNews news(1, OnFull::wait);
      EXPECT_TRUE(news.send());
      EXPECT_TRUE(news.try_receive());
      return stops_after(
          ops, [&] { EXPECT_TRUE(news.send()); }, [&] { news.leave(); },
          [&] { return news.send(kAtOnce) && news.try_receive(); });
    };
    for (std::uint32_t ops = 1; stops(ops);) ++ops;
  });
}

TEST_P(CheckedNewsTest, TellsOfTheEnd) {
  in_fiber([] {
    const auto stops = [](std::uint32_t ops) {
      CheckedNews news(4, OnFull::drop_oldest);
      return stops_after(
          ops, [&] { EXPECT_FALSE(news.receive()); }, [&] { news.close(); },
          [&] { return news.closed(); });
    };
    for (std::uint32_t ops = 1; stops(ops);) ++ops;
  });
}

TEST_P(CheckedNewsTest, TellsOfANewVersion) {
  in_fiber([] {
    const auto stops = [](std::uint32_t ops) {
      CheckedWatch watch;
      return stops_after(
          ops, [&] { EXPECT_TRUE(watch.changed()); }, [&] { watch.set(); },
          [&] { return watch.version() > 1; });
    };
    for (std::uint32_t ops = 1; stops(ops);) ++ops;
  });
}

TEST_P(CheckedNewsTest, TellsOfTheEndOfAWatch) {
  in_fiber([] {
    const auto stops = [](std::uint32_t ops) {
      CheckedWatch watch;
      return stops_after(
          ops, [&] { EXPECT_FALSE(watch.changed()); }, [&] { watch.close(); },
          [&] { return watch.closed(); });
    };
    for (std::uint32_t ops = 1; stops(ops);) ++ops;
  });
}

}  // namespace
}  // namespace weft
