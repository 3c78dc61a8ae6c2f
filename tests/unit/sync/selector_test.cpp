// selector_test.cpp: a select of so many cases as there happen to be.

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/channel_test.hpp"
#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;
using test::kNothing;
using namespace std::chrono_literals;

class SelectorTest : public test::WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, SelectorTest, ::testing::Values(1u, 2u));

Event kNever;

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
    EXPECT_TRUE(nursery.join());
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
    EXPECT_TRUE(nursery.join());
  });
}

// A loop over inputs that end one after the other.
TEST_P(SelectorTest, LetsAHandlerRemoveItsOwnCase) {
  in_fiber([] {
    std::vector<Channel<int>> inputs;
    for (int i = 0; i < 3; ++i) inputs.push_back(make_channel<int>(4));
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t n = 0; n <= i; ++n) {
        EXPECT_TRUE(inputs[i].sender.send(10));
      }
      inputs[i].sender.close();
    }
    const auto alive = std::make_shared<int>(0);
    Selector selector(3);
    int open = 3;
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(selector.add(on_receive(
          inputs[i].receiver, [&, i, keeps = alive](Result<int> value) {
            if (value) {
              *keeps += *value;
              return;
            }
            selector.remove(i);
            selector.remove(i);  // once is enough
            EXPECT_EQ(alive.use_count(), 2 + open - 1);
            *keeps += 1;  // it is still there
            --open;
          })));
    }
    while (open != 0) EXPECT_TRUE(selector.wait());
    EXPECT_EQ(*alive, 63);
    EXPECT_EQ(alive.use_count(), 1);
    EXPECT_EQ(selector.wait().error(), Errc::invalid);
    EXPECT_EQ(selector.add(on_event(kNever, kNothing)).value(), 0u);
  });
}

TEST_P(SelectorTest, LetsAHandlerThatThrowsRemoveItsOwnCase) {
  in_fiber([] {
    Event event;
    event.set();
    const auto alive = std::make_shared<int>(0);
    Selector selector(1);
    EXPECT_TRUE(selector.add(on_event(event, [&, keeps = alive] {
      selector.remove(0);
      throw std::runtime_error("handler");
    })));
    EXPECT_THROW((void)selector.wait(), std::runtime_error);
    EXPECT_EQ(alive.use_count(), 1);
    EXPECT_EQ(selector.try_wait().error(), Errc::would_block);
  });
}

// What the inner wait removes is in use by the outer one.
TEST_P(SelectorTest, LetsAHandlerWaitAtIt) {
  in_fiber([] {
    Event outer;
    Event inner;
    outer.set();
    const auto alive = std::make_shared<int>(0);
    Selector selector(2);
    EXPECT_TRUE(selector.add(on_event(outer, [&, keeps = alive] {
      outer.reset();
      inner.set();
      EXPECT_EQ(selector.wait().value(), 1u);
      EXPECT_EQ(keeps.use_count(), 2);
      outer.set();
      EXPECT_EQ(selector.try_wait().error(), Errc::would_block);
      EXPECT_EQ(selector.add(on_event(kNever, kNothing)).error(),
                Errc::exhausted);  // its place is not free yet
      ++*keeps;
    })));
    EXPECT_TRUE(selector.add(on_event(inner, [&] {
      inner.reset();
      selector.remove(0);
    })));
    EXPECT_EQ(selector.wait().value(), 0u);
    EXPECT_EQ(*alive, 1);
    EXPECT_EQ(alive.use_count(), 1);
  });
}

TEST_P(SelectorTest, SendsAValueThatIsKept) {
  in_fiber([] {
    auto [to, from] = make_channel<std::string>(2);
    std::string line = "a line that is too long to be moved by its bytes";
    const std::string same = line;
    Selector selector(1);
    int sent = 0;
    EXPECT_TRUE(selector.add(on_send(to, std::ref(line), [&](Status end) {
      EXPECT_TRUE(end);
      line = std::to_string(++sent);
    })));
    EXPECT_EQ(line, same);
    EXPECT_TRUE(selector.wait());
    EXPECT_TRUE(selector.wait());
    EXPECT_EQ(selector.try_wait().error(), Errc::would_block);
    EXPECT_EQ(line, "2");
    EXPECT_EQ(from.receive().value(), same);
    EXPECT_EQ(from.receive().value(), "1");
    EXPECT_TRUE(select(on_send(to, std::ref(line), kNothing)));
    EXPECT_EQ(from.receive().value(), "2");
  });
}

TEST_P(SelectorTest, SaysThatItHasNoCases) {
  in_fiber([] {
    for (const std::size_t room : {0u, 3u}) {
      Selector selector(room);
      EXPECT_EQ(selector.wait().error(), Errc::invalid);
      EXPECT_EQ(selector.try_wait().error(), Errc::would_block);
      EXPECT_EQ(selector.wait(Deadline::after(-1s)).error(), Errc::timed_out);
      const auto when = Deadline::after(30us);
      EXPECT_EQ(selector.wait(when).error(), Errc::timed_out);
      EXPECT_TRUE(when.expired());
      selector.remove(0);
    }
    Selector none(0);
    EXPECT_EQ(none.add(on_event(kNever, kNothing)).error(), Errc::exhausted);
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

struct Door {  // that can be opened again
  bool try_complete(Waiter&) noexcept { return open; }
  bool publish(Waiter&) noexcept { return false; }
  void unpublish(Waiter&) noexcept {}
  bool open = false;
};

TEST_P(SelectorTest, AsksAgainWhatWasClosed) {
  in_fiber([] {
    Door door;
    std::vector<Errc> told;
    Selector selector(1);
    EXPECT_TRUE(selector.add(
        on(door, [&](Status how) { told.push_back(how.error().code()); })));
    EXPECT_TRUE(selector.wait());
    door.open = true;
    EXPECT_TRUE(selector.wait());
    EXPECT_EQ(told, (std::vector{Errc::closed, Errc{}}));
  });
}

}  // namespace
}  // namespace weft
