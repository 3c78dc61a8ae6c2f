#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "support/gives_up.hpp"
#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/ordered.hpp>
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;
using test::expect_gives_up;
using test::WorkersTest;
using namespace std::chrono_literals;

class OrderedTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, OrderedTest, ::testing::Values(1u, 2u));

// R-ORD-01
TEST_P(OrderedTest, GivesResultsInTheOrderOfSubmission) {
  in_fiber([] {
    const int count = explored() ? 40 : 400;
    Nursery nursery;
    auto [jobs, results] = make_ordered<int>(nursery, 8);
    auto reader = nursery.spawn([results = std::move(results)]() mutable {
      int next = 0;
      while (auto result = results.receive()) EXPECT_EQ(*result, next++);
      return next;
    });
    base::Rng random(7);
    for (int i = 0; i < count; ++i) {
      const auto yields = random.next() % 12;
      const auto sleeps = std::chrono::microseconds(random.next() % 200);
      ASSERT_TRUE(jobs.spawn([i, yields, sleeps]() -> Result<int> {
        for (std::uint64_t n = 0; n < yields; ++n) this_fiber::yield();
        if (yields == 0) WEFT_TRY(this_fiber::sleep_for(sleeps));
        return i;
      }));
    }
    jobs.close();
    EXPECT_EQ(reader.join().value(), count);
    EXPECT_TRUE(nursery.join());
  });
}

// R-ORD-02
TEST_P(OrderedTest, IsHeldUpByTheFirst) {
  in_fiber([] {
    Event first_may_end;
    Latch others(4);
    Nursery nursery;
    auto [jobs, results] = make_ordered<int>(nursery, 8);
    ASSERT_TRUE(jobs.spawn([&]() -> Result<int> {
      WEFT_TRY(first_may_end.wait());
      return 0;
    }));
    for (int i = 1; i < 5; ++i) {
      ASSERT_TRUE(jobs.spawn([&, i] {
        others.count_down();
        return i;
      }));
    }
    jobs.close();
    std::atomic<int> received{0};
    auto reader = nursery.spawn([&, results = results]() mutable {
      while (auto result = results.receive()) EXPECT_EQ(*result, received++);
    });
    ASSERT_TRUE(others.wait());
    await_parked(reader);
    EXPECT_EQ(received, 0);
    EXPECT_EQ(results.receive(Deadline::after(-1s)).error(), Errc::timed_out);
    first_may_end.set();
    EXPECT_TRUE(reader.join());
    EXPECT_EQ(received, 5);
    EXPECT_TRUE(nursery.join());
  });
}

// R-ORD-03: the frame of a child is used again once it was received.
TEST_P(OrderedTest, CopiesResultsOut) {
  in_fiber([] {
    using Words = std::array<std::string, 4>;
    const auto words = [](int i) {
      Words made;
      made.fill("a result that is not short, of child " + std::to_string(i));
      return made;
    };
    Nursery nursery;
    auto [jobs, results] = make_ordered<Words>(nursery, 1);
    std::vector<Words> kept;
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(jobs.spawn(words, i));
      kept.push_back(results.receive().value());
    }
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(kept[static_cast<std::size_t>(i)], words(i));
    }
    EXPECT_TRUE(nursery.join());
  });
}

// R-ORD-04
TEST_P(OrderedTest, JoinsTheChildThatItCannotQueue) {
  in_fiber([] {
    Nursery nursery;
    auto [jobs, results] = make_ordered<std::shared_ptr<int>>(nursery, 4);
    const auto alive = std::make_shared<int>(7);
    bool ended = false;
    const auto child = [&] {
      for (int i = 0; i < 5; ++i) this_fiber::yield();
      ended = true;
      return alive;
    };
    jobs.close();
    EXPECT_EQ(jobs.spawn(child).error(), Errc::closed);
    EXPECT_TRUE(ended);
    EXPECT_EQ(alive.use_count(), 1);

    auto [more, taken] = make_ordered<std::shared_ptr<int>>(nursery, 4);
    taken.close(Error::user(3));
    ended = false;
    EXPECT_EQ(more.spawn(child).error(), Error::user(3));
    EXPECT_TRUE(ended);
    EXPECT_EQ(alive.use_count(), 1);
    EXPECT_EQ(nursery.live(), 0u);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(OrderedTest, JoinsTheChildOfASenderThatIsCancelled) {
  in_fiber([] {
    Event may_end;
    Nursery nursery;
    auto [jobs, results] = make_ordered<int>(nursery, 1);
    ASSERT_TRUE(jobs.spawn([] { return 0; }));
    std::atomic<bool> runs{false};
    bool ended = false;
    auto sender = nursery.spawn([&, jobs = jobs]() mutable {
      const Status sent = jobs.spawn([&]() -> Result<int> {
        runs = true;
        WEFT_TRY(may_end.wait());
        ended = true;
        return 1;
      });
      EXPECT_EQ(sent.error(), Errc::cancelled);
      EXPECT_TRUE(ended);
    });
    while (!runs) this_fiber::yield();
    await_parked(sender);
    sender.cancel();
    for (int i = 0; i < 20; ++i) this_fiber::yield();
    EXPECT_FALSE(sender.done());
    may_end.set();
    EXPECT_TRUE(sender.join());
    EXPECT_EQ(results.receive().value(), 0);
    jobs.close();
    EXPECT_EQ(results.receive().error(), Errc::closed);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(OrderedTest, BoundsWhatIsOutstanding) {
  in_fiber([] {
    Nursery nursery;
    auto [jobs, results] = make_ordered<int>(nursery, 2);
    std::atomic<int> queued{0};
    auto sender = nursery.spawn([&, jobs = jobs]() mutable {
      for (int i = 0; i < 5; ++i) {
        EXPECT_TRUE(jobs.spawn([i] { return i; }));
        ++queued;
      }
    });
    while (queued < 2) this_fiber::yield();
    for (int i = 0; i < 20; ++i) this_fiber::yield();
    EXPECT_EQ(queued, 2);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(results.receive().value(), i);
    EXPECT_TRUE(sender.join());
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(OrderedTest, HandsOverWithoutRoom) {
  in_fiber([] {
    Nursery nursery;
    auto [jobs, results] = make_ordered<int>(nursery, 0);
    nursery.spawn([jobs = std::move(jobs)]() mutable {
      for (int i = 0; i < 20; ++i) EXPECT_TRUE(jobs.spawn([i] { return i; }));
    });  // its sender dies with it
    for (int i = 0; i < 20; ++i) EXPECT_EQ(results.receive().value(), i);
    EXPECT_EQ(results.receive().error(), Errc::closed);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(OrderedTest, PassesOnErrorsAndExceptionsInTheirPlace) {
  in_fiber([] {
    Nursery nursery;
    auto [jobs, results] = make_ordered<int>(nursery, 8);
    EXPECT_TRUE(jobs.spawn([] { return 1; }));
    EXPECT_TRUE(jobs.spawn([]() -> Result<int> { return Error::user(2); }));
    EXPECT_TRUE(jobs.spawn([]() -> int { throw std::out_of_range("three"); }));
    EXPECT_TRUE(jobs.spawn([] { return 4; }));
    jobs.close(Error::user(5));
    EXPECT_EQ(results.receive().value(), 1);
    EXPECT_EQ(results.receive().error(), Error::user(2));
    EXPECT_THROW((void)results.receive(), std::out_of_range);
    EXPECT_EQ(results.receive().value(), 4);
    EXPECT_EQ(results.receive().error(), Error::user(5));
    EXPECT_EQ(results.receive().error(), Error::user(5));
    try {
      EXPECT_EQ(nursery.join().error(), Error::user(2));
    } catch (const std::out_of_range&) {  // it failed first
    }
  });
}

// Also if the child fails with what the end of the line looks like.
TEST_P(OrderedTest, TellsAFailedChildFromTheEnd) {
  in_fiber([] {
    Nursery nursery;
    auto [jobs, results] = make_ordered<int>(nursery, 8);
    EXPECT_TRUE(jobs.spawn([]() -> Result<int> { return Errc::closed; }));
    EXPECT_TRUE(jobs.spawn([] { return 2; }));
    EXPECT_TRUE(jobs.spawn([]() -> Result<int> { return Error::user(5); }));
    EXPECT_TRUE(jobs.spawn([] { return 4; }));
    jobs.close(Error::user(5));
    std::vector<Result<int>> ends;
    Error end{Errc{}};
    for (;;) {
      auto child = results.next();
      if (!child) {
        end = child.error();
        break;
      }
      ends.push_back(child->join());
    }
    EXPECT_EQ(end, Error::user(5));
    ASSERT_EQ(ends.size(), 4u);
    EXPECT_EQ(ends[0].error(), Errc::closed);
    EXPECT_EQ(ends[1].value(), 2);
    EXPECT_EQ(ends[2].error(), Error::user(5));
    EXPECT_EQ(ends[3].value(), 4);
    EXPECT_FALSE(nursery.join());  // either of the two failed first
  });
}

TEST_P(OrderedTest, TriesWithoutAWait) {
  in_fiber([] {
    Nursery nursery;
    auto [jobs, results] = make_ordered<int>(nursery, 2);
    EXPECT_EQ(results.try_next().error(), Errc::would_block);
    Event go;
    ASSERT_TRUE(jobs.spawn([&]() -> Result<int> {
      WEFT_TRY(go.wait());
      return 1;
    }));
    auto served = nursery.spawn([&results = results] {
      return results.receive();  // which waits for the child
    });
    await_parked(served);
    ASSERT_TRUE(jobs.spawn([] { return 2; }));
    EXPECT_EQ(results.try_next().error(), Errc::would_block);
    go.set();
    EXPECT_EQ(served.join().value(), 1);
    auto child = results.try_next();
    ASSERT_TRUE(child);
    EXPECT_EQ(child->join().value(), 2);
    jobs.close(Error::user(4));
    EXPECT_EQ(results.try_next().error(), Error::user(4));
    EXPECT_EQ(OrderedReceiver<int>().try_next().error(), Errc::invalid);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(OrderedTest, GivesTheChildThatAReceiveGaveUpNext) {
  in_fiber([] {
    Event may_end;
    Nursery nursery;
    auto [jobs, results] = make_ordered<int>(nursery, 4);
    expect_gives_up(
        [&results = results](Deadline by) { return results.next(by); });
    ASSERT_TRUE(jobs.spawn([&]() -> Result<int> {
      WEFT_TRY(may_end.wait());
      return 1;
    }));
    ASSERT_TRUE(jobs.spawn([] { return 2; }));
    EXPECT_EQ(results.receive(Deadline::after(1us)).error(), Errc::timed_out);
    auto first = results.next();
    ASSERT_TRUE(first);
    EXPECT_EQ(results.receive().value(),
              2);  // the first one is not its any more
    may_end.set();
    EXPECT_EQ(first->join().value(), 1);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(OrderedTest, KeepsThePlaceOfAResultWhoseReceiverGaveUp) {
  in_fiber([] {
    Event may_end;
    Nursery nursery;
    auto [jobs, results] = make_ordered<int>(nursery, 4);
    ASSERT_TRUE(jobs.spawn([&]() -> Result<int> {
      WEFT_TRY(may_end.wait());
      return 1;
    }));
    ASSERT_TRUE(jobs.spawn([] { return 2; }));
    expect_gives_up(
        [&results = results](Deadline by) { return results.receive(by); });
    may_end.set();
    EXPECT_EQ(results.receive().value(), 1);
    EXPECT_EQ(results.receive().value(), 2);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(OrderedTest, DropsWhatIsInLineWithItsLastReceiver) {
  in_fiber([] {
    std::atomic<int> ran{0};
    Nursery nursery;
    auto ordered = make_ordered<std::string>(nursery, 8);
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(ordered.sender.spawn([&] {
        ++ran;
        return std::string(100, 'x');
      }));
    }
    EXPECT_FALSE(ordered.sender.closed());
    ordered.receiver = OrderedReceiver<std::string>();
    EXPECT_TRUE(ordered.sender.closed());
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(ran, 5);
  });
}

TEST_P(OrderedTest, RefusesAnEmptyHandleAndAClosedNursery) {
  in_fiber([] {
    OrderedSender<int> no_jobs;
    OrderedReceiver<int> no_results;
    EXPECT_FALSE(no_jobs);
    EXPECT_FALSE(no_results);
    EXPECT_EQ(no_jobs.spawn([] { return 1; }).error(), Errc::invalid);
    EXPECT_EQ(no_results.receive().error(), Errc::invalid);
    EXPECT_EQ(no_results.next().error(), Errc::invalid);
    no_jobs.close();
    no_results.close();

    Nursery nursery;
    auto [jobs, results] = make_ordered<>(nursery, 1);
    EXPECT_TRUE(jobs.spawn({.name = "named"},
                           [] { EXPECT_EQ(this_fiber::name(), "named"); }));
    EXPECT_TRUE(results.receive());
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(jobs.spawn([] {}).error(), Errc::closed);
    jobs.close();
    EXPECT_EQ(results.receive().error(), Errc::closed);
  });
}

class OrderedThreadTest : public WorkersTest {};
INSTANTIATE_TEST_SUITE_P(RealWorkers, OrderedThreadTest,
                         ::testing::Values(1u, 2u));

TEST_P(OrderedThreadTest, ServesPlainThreads) {
  constexpr int kCount = 200;
  Nursery nursery(runtime());
  auto [jobs, results] = make_ordered<int>(nursery, 4);
  std::thread sender([jobs = std::move(jobs)]() mutable {
    for (int i = 0; i < kCount; ++i) {
      EXPECT_TRUE(jobs.spawn([i] { return i; }));
    }
  });
  for (int i = 0; i < kCount; ++i) EXPECT_EQ(results.receive().value(), i);
  EXPECT_EQ(results.receive().error(), Errc::closed);
  sender.join();
  EXPECT_TRUE(nursery.join());
}

}  // namespace
}  // namespace weft
