#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/gives_up.hpp"
#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/broadcast.hpp>
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::as_cancelled;
using test::await_parked;
using test::expect_gives_up;
using test::WorkersTest;
using namespace std::chrono_literals;

class WatchTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, WatchTest, ::testing::Values(1u, 2u));

TEST_P(WatchTest, GivesTheLatestAndItsVersion) {
  in_fiber([] {
    Watch<std::string> watch("first");
    EXPECT_EQ(watch.version(), 1u);
    EXPECT_EQ(watch.get(), "first");
    std::uint64_t seen = 0;
    EXPECT_EQ(watch.changed(seen).value(), "first");
    EXPECT_EQ(seen, 1u);
    watch.set("second");
    watch.update([](std::string& value) { value += " and third"; });
    EXPECT_EQ(watch.version(), 3u);
    EXPECT_EQ(watch.changed(seen, Deadline::after(-1s)).value(),
              "second and third");
    EXPECT_EQ(seen, 3u);
    EXPECT_EQ(watch.get(), "second and third");
  });
}

TEST_P(WatchTest, WaitsForAChange) {
  in_fiber([] {
    Watch<int> watch(0);
    Nursery nursery;
    std::vector<Task<>> readers;
    for (int i = 0; i < 3; ++i) {
      readers.push_back(nursery.spawn([&] {
        std::uint64_t seen = watch.version();
        EXPECT_EQ(watch.changed(seen).value(), 7);
        EXPECT_EQ(seen, 2u);
      }));
    }
    for (auto& reader : readers) await_parked(reader);
    watch.set(7);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(WatchTest, LeavesSeenAsItWasIfItGivesUp) {
  in_fiber([] {
    Watch<int> watch(0);
    std::uint64_t seen = 1;
    expect_gives_up([&](Deadline by) { return watch.changed(seen, by); });
    watch.set(1);
    as_cancelled([&] {
      EXPECT_EQ(watch.changed(seen).error(), Errc::cancelled);
      watch.set(2);  // no cancel point
      EXPECT_EQ(watch.get(), 2);
    });
    EXPECT_EQ(seen, 1u);
    EXPECT_EQ(watch.changed(seen).value(), 2);
    EXPECT_EQ(seen, 3u);
  });
}

TEST_P(WatchTest, EndsOnceTheLatestWasSeen) {
  in_fiber([] {
    Watch<int> watch(0);
    std::uint64_t seen = 1;
    std::uint64_t far = 1'000;
    Nursery nursery;
    auto waiter = nursery.spawn(
        [&] { EXPECT_EQ(watch.changed(far).error(), Error::user(5)); });
    await_parked(waiter);
    watch.set(1);
    watch.close(Error::user(5));
    watch.close();
    EXPECT_TRUE(watch.closed());
    watch.set(2);
    watch.update([](int&) { ADD_FAILURE() << "of a closed watch"; });
    EXPECT_TRUE(waiter.join());
    EXPECT_EQ(watch.get(), 1);
    EXPECT_EQ(watch.version(), 2u);
    EXPECT_EQ(watch.changed(seen).value(), 1);
    EXPECT_EQ(watch.changed(seen).error(), Error::user(5));
    EXPECT_EQ(seen, 2u);
    std::uint64_t last = ~std::uint64_t{0};
    EXPECT_EQ(watch.changed(last).error(), Error::user(5));
    EXPECT_TRUE(nursery.join());
  });
}

// Whose readers would wait for ever: it is older than their nursery.
TEST_P(WatchTest, IsClosedByItsGuardOnTheWayOut) {
  in_fiber([] {
    Watch<int> watch(0);
    const auto throws = [&] {
      Nursery nursery;
      const CloseGuard guard(watch);
      auto reader = nursery.spawn([&] {
        std::uint64_t seen = 0;
        while (watch.changed(seen)) {
        }
        EXPECT_EQ(seen, 1u);
      });
      await_parked(reader);
      throw std::runtime_error("on the way");
    };
    EXPECT_THROW(throws(), std::runtime_error);
    EXPECT_TRUE(watch.closed());
  });
}

TEST_P(WatchTest, ChangesNothingIfTheChangeThrows) {
  in_fiber([] {
    Watch<int> watch(1);
    EXPECT_THROW(watch.update([](int& value) {
      value = 9;
      throw std::runtime_error("change");
    }),
                 std::runtime_error);
    EXPECT_EQ(watch.get(), 1);
    EXPECT_EQ(watch.version(), 1u);
    watch.set(2);
    EXPECT_EQ(watch.get(), 2);
  });
}

TEST_P(WatchTest, IsReadWhileItIsWritten) {
  in_fiber([] {
    Watch<int> watch(1);
    Event changing;
    Event go_on;
    Nursery nursery;
    auto writer = nursery.spawn([&] {
      watch.update([&](int& value) {
        value = 2;
        changing.set();
        EXPECT_TRUE(go_on.wait());
      });
    });
    auto second = nursery.spawn([&] {
      EXPECT_TRUE(changing.wait());
      watch.update([](int& value) { value *= 10; });
    });
    ASSERT_TRUE(changing.wait());
    await_parked(second);
    EXPECT_EQ(watch.get(), 1);
    EXPECT_EQ(watch.version(), 1u);
    go_on.set();
    EXPECT_TRUE(writer.join());
    EXPECT_TRUE(second.join());
    EXPECT_EQ(watch.get(), 20);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(WatchTest, LosesNoUpdate) {
  in_fiber([] {
    const int rounds = explored() ? 10 : 200;
    Watch<int> watch(0);
    Nursery nursery;
    for (int i = 0; i < 4; ++i) {
      nursery.spawn([&] {
        for (int n = 0; n < rounds; ++n) watch.update([](int& v) { ++v; });
      });
    }
    auto reader = nursery.spawn([&] {
      std::uint64_t seen = 0;
      int last = -1;
      while (auto value = watch.changed(seen)) {
        EXPECT_GT(*value, last);
        EXPECT_EQ(static_cast<std::uint64_t>(*value) + 1, seen);
        last = *value;
        if (last == 4 * rounds) break;
      }
    });
    EXPECT_TRUE(reader.join());
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(watch.get(), 4 * rounds);
  });
}

TEST_P(WatchTest, IsACaseOfASelect) {
  in_fiber([] {
    Watch<int> watch(1);
    Event stop;
    std::uint64_t seen = 0;
    int last = 0;
    Error end{Errc{}};
    const auto step = [&] {
      return select(on_event(stop, [] {}),
                    on_changed(watch, seen, [&](Result<int> value) {
                      if (value) last = *value;
                      if (!value) end = value.error();
                    }));
    };
    EXPECT_EQ(step().value(), 1u);
    EXPECT_EQ(last, 1);
    EXPECT_EQ(seen, 1u);
    Nursery nursery;
    auto waiter = nursery.spawn([&] { EXPECT_EQ(step().value(), 1u); });
    await_parked(waiter);
    watch.set(2);
    EXPECT_TRUE(waiter.join());
    EXPECT_EQ(last, 2);
    auto stopped = nursery.spawn([&] { EXPECT_EQ(step().value(), 0u); });
    await_parked(stopped);
    stop.set();
    EXPECT_TRUE(stopped.join());
    EXPECT_EQ(seen, 2u);
    stop.reset();
    Selector several(1);
    ASSERT_TRUE(several.add(
        on_changed(watch, seen, [&](Result<int> value) { last = *value; })));
    EXPECT_EQ(several.try_wait().error(), Errc::would_block);
    watch.set(3);
    EXPECT_EQ(several.wait().value(), 0u);
    EXPECT_EQ(last, 3);
    watch.close();
    EXPECT_EQ(step().value(), 1u);
    EXPECT_EQ(end, Errc::closed);
    EXPECT_TRUE(nursery.join());
  });
}

class WatchThreadTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(RealWorkers, WatchThreadTest,
                         ::testing::Values(1u, 2u));

TEST_P(WatchThreadTest, ServesThreadsAndFibersTogether) {
  constexpr int kCount = 500;
  Watch<int> watch(0);
  const auto read = [&] {
    std::uint64_t seen = 0;
    int last = 0;
    while (auto value = watch.changed(seen)) {
      EXPECT_GE(*value, last);
      last = *value;
    }
    EXPECT_EQ(last, kCount);
  };
  {
    Nursery nursery(runtime());
    nursery.spawn(read);
    std::thread reader(read);
    for (int i = 1; i <= kCount; ++i) watch.set(i);
    watch.close();
    reader.join();
    EXPECT_TRUE(nursery.join());
  }
}

}  // namespace
}  // namespace weft
