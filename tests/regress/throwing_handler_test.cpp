// Cases were made and moved by constructors that were noexcept, whatever their
// handler does when it is moved: one that throws ended the process.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <stdexcept>

#include "support/channel_test.hpp"
#include "support/gate.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

struct Throwing {  // when it is moved for the last time
  std::shared_ptr<int> left;
  explicit Throwing(int moves) : left(std::make_shared<int>(moves)) {}
  Throwing(Throwing&& other) noexcept(false) : left(other.left) {
    if (--*left == 0) throw std::runtime_error("move");
  }
  void operator()(auto&&) const {}
};

class ThrowingHandlerTest : public testing::Test {
 protected:
  // Its moves are into the call, into the case, and with that into a Selector.
  template <typename Make>
  void expect_passes_on(Make make) {
    for (int moves = 1; moves <= 3; ++moves) {
      EXPECT_THROW((void)selector_.add(make(Throwing(moves))),
                   std::runtime_error)
          << moves;
    }
    EXPECT_EQ(selector_.add(make(Throwing(100))).value(), 0u);
    selector_.remove(0);
  }
  Selector selector_{1};
};

TEST_F(ThrowingHandlerTest, IsTheCallersException) {
  auto channel = make_channel<int>(1);
  Broadcast<int> news(1);
  auto mine = news.subscribe();
  const Watch<int> watch(1);
  std::uint64_t seen = 1;
  Task<int> task;
  Future<int> future;
  Sequencer sequencer;
  Event event;
  test::Gate gate;
  int value = 1;
  using std::move;
  expect_passes_on([&](Throwing handler) {
    return on_receive(channel.receiver, move(handler));
  });
  expect_passes_on([&](Throwing handler) {
    return on_send(channel.sender, std::ref(value), move(handler));
  });
  expect_passes_on(
      [&](Throwing handler) { return on_done(task, move(handler)); });
  expect_passes_on(
      [&](Throwing handler) { return on_set(future, move(handler)); });
  expect_passes_on([&](Throwing handler) {
    return on_reached(sequencer, 1, move(handler));
  });
  expect_passes_on(
      [&](Throwing handler) { return on_event(event, move(handler)); });
  expect_passes_on([&](Throwing handler) { return on(gate, move(handler)); });
  expect_passes_on(
      [&](Throwing handler) { return on_receive(mine, move(handler)); });
  expect_passes_on(
      [&](Throwing handler) { return on_changed(watch, seen, move(handler)); });
}

}  // namespace
}  // namespace weft
