// B-30: a cancel did not free a fiber that waited for room in a full channel,
// and children that were queued by then started all the same.

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/testing.hpp>
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;

class BackpressureTest : public test::WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, BackpressureTest,
                         ::testing::Values(1u, 2u, 4u));

// R-NURS-06
TEST_P(BackpressureTest, ACancelFreesAllWhoWaitForRoom) {
  in_fiber([] {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{2}}) {
      auto [sender, receiver] = make_channel<std::unique_ptr<int>>(capacity);
      for (std::size_t i = 0; i < capacity; ++i) {
        ASSERT_TRUE(sender.send(std::make_unique<int>(0)));
      }
      Nursery nursery;
      std::vector<Task<>> waiting;
      for (int i = 1; i <= 5; ++i) {
        waiting.push_back(nursery.spawn([i, sender = sender]() mutable {
          auto value = std::make_unique<int>(i);
          EXPECT_EQ(sender.send(std::move(value)).error(), Errc::cancelled);
          ASSERT_NE(value, nullptr);  // and still its own
          EXPECT_EQ(*value, i);
        }));
      }
      for (const auto& task : waiting) await_parked(task);
      nursery.cancel();
      EXPECT_TRUE(nursery.join());
      // Nobody is left behind in the channel, which goes on.
      EXPECT_EQ(receiver.size(), capacity);
      for (std::size_t i = 0; i < capacity; ++i) {
        EXPECT_EQ(*receiver.receive().value(), 0);
      }
      EXPECT_EQ(receiver.try_receive().error(), Errc::would_block);
    }
  });
}

// As a pipeline ends: its last stage fails, and all before it wait for room.
TEST_P(BackpressureTest, AFailureDownstreamFreesTheWholePipeline) {
  in_fiber([] {
    Nursery nursery;
    std::vector<Task<>> stages;
    auto [first, next] = make_channel<int>(1);
    stages.push_back(nursery.spawn([out = std::move(first)]() mutable {
      for (;;) {
        if (!out.send(1)) return;
      }
    }));
    for (int stage = 0; stage < 4; ++stage) {
      auto [out, in] = make_channel<int>(1);
      stages.push_back(nursery.spawn(
          [from = std::move(next), to = std::move(out)]() mutable {
            while (auto value = from.receive()) {
              if (!to.send(*value)) return;
            }
          }));
      next = std::move(in);
    }
    for (const auto& stage : stages) await_parked(stage);
    nursery.spawn([]() -> Status { return Error::user(3); });
    EXPECT_EQ(nursery.join().error(), Error::user(3));
  });
}

// R-NURS-11. All workers are busy, so all that is spawned is queued.
TEST_P(BackpressureTest, QueuedChildrenOfACancelledNurseryDoNotStart) {
  if (explored()) GTEST_SKIP() << "holds real workers";
  const unsigned others = GetParam() - 1;
  in_fiber([&] {
    std::atomic<unsigned> busy{0};
    std::atomic<bool> over{false};
    Nursery holders;
    for (unsigned i = 0; i < others; ++i) {
      holders.spawn([&] {
        ++busy;
        while (!over) std::this_thread::yield();
      });
    }
    while (busy != others) this_fiber::yield();
    std::atomic<int> began{0};
    Nursery nursery;
    std::vector<Task<>> queued;
    for (int i = 0; i < 1'000; ++i) {
      queued.push_back(nursery.spawn([&] { ++began; }));
    }
    nursery.cancel();
    over = true;
    for (auto& task : queued) {
      EXPECT_EQ(task.join().error(), Errc::cancelled);
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(began, 0);
    EXPECT_TRUE(holders.join());
  });
}

// What a sender holds when the cancel and a receiver meet is sent, or its own.
TEST(ExploredBackpressure, LosesNoValueToACancel) {
  using testing::Search;
  using testing::Simulation;
  const auto result = testing::explore(
      {.search = Search::pct, .schedules = 2'000}, [](Simulation& sim) {
        const auto end = sim.run([&](Nursery& outer) {
          auto channel = make_channel<int>(1);
          auto& receiver = channel.receiver;
          constexpr int kSenders = 3;
          int sent = 0;
          int kept = 0;
          int never_began = kSenders;
          Nursery nursery;
          for (int i = 0; i < kSenders; ++i) {
            nursery.spawn([&, sender = channel.sender]() mutable {
              --never_began;
              ++(sender.send(1) ? sent : kept);
            });
          }
          auto cancels = outer.spawn([&] { nursery.cancel(); });
          int received = 0;
          for (int i = 0; i < 2; ++i) {
            if (receiver.try_receive()) ++received;
            this_fiber::yield();
          }
          sim.check(nursery.join().has_value(), "the nursery is joined");
          sim.check(cancels.join().has_value(), "nobody cancels what is gone");
          sim.check(sent + kept + never_began == kSenders, "each ends once");
          while (receiver.try_receive()) ++received;
          sim.check(received == sent, "what was sent arrives, and no more");
        });
        sim.check(end.has_value(), "all ends well");
      });
  EXPECT_TRUE(result) << result;
}

}  // namespace
}  // namespace weft
