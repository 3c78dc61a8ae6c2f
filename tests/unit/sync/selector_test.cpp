// selector_test.cpp: a select of so many cases as there happen to be.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <vector>

#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;
using namespace std::chrono_literals;

class SelectorTest : public test::WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, SelectorTest, ::testing::Values(1u, 2u));

constexpr auto kNothing = [] {};

TEST_P(SelectorTest, WaitsForACountKnownAtRunTime) {
  in_fiber([] {
    constexpr std::size_t kChannels = 40;
    std::vector<Channel<int>> channels;
    Selector selector(kChannels);
    std::vector<int> got(kChannels);
    for (std::size_t i = 0; i < kChannels; ++i) {
      channels.push_back(make_channel<int>(i % 3));
    }
    for (std::size_t i = 0; i < kChannels; ++i) {
      EXPECT_EQ(selector
                    .add(on_receive(channels[i].receiver,
                                    [&got, i](Result<int> value) {
                                      got[i] += value.value();
                                    }))
                    .value(),
                i);
    }
    EXPECT_EQ(selector.try_wait().error(), Errc::would_block);
    EXPECT_EQ(selector.wait(Deadline::after(-1s)).error(), Errc::timed_out);
    EXPECT_EQ(selector.wait(Deadline::after(10us)).error(), Errc::timed_out);
    Nursery nursery;
    for (std::size_t i = 0; i < kChannels; ++i) {
      auto waits = nursery.spawn([&] { return selector.wait(); });
      await_parked(waits);
      EXPECT_TRUE(channels[i].sender.send(3));
      EXPECT_EQ(waits.join().value(), i);
    }
    EXPECT_EQ(got, std::vector<int>(kChannels, 3));
    for (auto& channel : channels) EXPECT_EQ(channel.sender.size(), 0u);
  });
}

// What a case is about may have changed since it was added.
TEST_P(SelectorTest, FindsHandlesThatBecameEmptyReady) {
  in_fiber([] {
    Nursery nursery;
    auto task = nursery.spawn([] { return 1; });
    auto channel = make_channel<int>(1);
    std::vector<Error> errors;
    Selector selector(1);
    EXPECT_TRUE(selector.add(on_done(task, [&](Result<int> end) {
      errors.push_back(end ? Error(Errc{}) : end.error());
    })));
    EXPECT_TRUE(selector.wait());
    auto other = nursery.spawn([] { return 2; });  // in the same frame, maybe
    EXPECT_TRUE(selector.wait());
    EXPECT_EQ(other.join().value(), 2);
    selector.remove(0);
    EXPECT_TRUE(selector.add(on_receive(channel.receiver, [&](Result<int> end) {
      errors.push_back(end ? Error(Errc{}) : end.error());
    })));
    EXPECT_TRUE(channel.sender.send(3));
    EXPECT_TRUE(selector.wait());
    channel.sender = {};
    channel.receiver = {};
    EXPECT_TRUE(selector.wait());
    EXPECT_EQ(errors, (std::vector<Error>{Errc{}, Errc::invalid, Errc{},
                                          Errc::invalid}));
  });
}

TEST_P(SelectorTest, ForgetsWhatIsRemoved) {
  in_fiber([] {
    Event one;
    Event other;
    Selector selector(2);
    EXPECT_EQ(selector.add(on_event(one, kNothing)).value(), 0u);
    auto value = std::make_shared<int>(0);
    EXPECT_EQ(selector.add(on_event(other, [value] { ++*value; })).value(), 1u);
    EXPECT_EQ(selector.add(on_event(other, kNothing)).error(), Errc::exhausted);
    one.set();
    other.set();
    selector.remove(0);
    selector.remove(7);
    EXPECT_EQ(selector.wait().value(), 1u);
    EXPECT_EQ(selector.try_wait().value(), 1u);
    EXPECT_EQ(*value, 2);
    EXPECT_EQ(value.use_count(), 2);
    selector.remove(1);
    EXPECT_EQ(value.use_count(), 1);
    EXPECT_EQ(selector.wait().error(), Errc::invalid);
    EXPECT_EQ(selector.wait(Deadline::after(-1s)).error(), Errc::timed_out);
    EXPECT_EQ(selector.add(on_event(one, kNothing)).value(), 0u);
    EXPECT_EQ(selector.wait().value(), 0u);
  });
}

}  // namespace
}  // namespace weft
