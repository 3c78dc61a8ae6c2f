// A select on token 0 of a sequencer, which is reached from the start, waited
// for its next odd value.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

#include "support/channel_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::kNothing;
using namespace std::chrono_literals;

TEST(ReachedTokenTest, ZeroIsReachedByEveryValue) {
  for (const std::uint64_t value : {0u, 1u, 2u, 7u}) {
    Sequencer sequencer(value);
    const auto now = Deadline::after(-1s);
    EXPECT_TRUE(sequencer.wait(0, now));
    EXPECT_EQ(select_in_order(on_reached(sequencer, 0, kNothing),
                              on_deadline(now, kNothing))
                  .value(),
              0u)
        << value;
    Selector selector(1);
    EXPECT_TRUE(selector.add(on_reached(sequencer, 0, kNothing)));
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(selector.try_wait().value_or(1), 0u) << value;
    }
  }
}

// The token of an event is another one each time.
TEST(ReachedTokenTest, AnEventWaitsForItsNextSet) {
  Event event;
  Selector selector(1);
  EXPECT_TRUE(selector.add(on_event(event, kNothing)));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(selector.try_wait().error(), Errc::would_block);
    event.set();
    EXPECT_EQ(selector.try_wait().value_or(1), 0u);
    event.reset();
  }
}

}  // namespace
}  // namespace weft
