// supervisor_test.cpp: who is started again, how often, and who gets more.
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <stdexcept>

#include "support/runtime_test.hpp"
#include "unit/scope/office.hpp"
#include <weft/gtest.hpp>
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Diary;
using test::kFail;
using test::kLeave;
using test::kThrow;
using test::kWork;
using test::Message;
using test::Office;
using test::Order;
using test::Worker;
using testing::Simulation;
using namespace std::chrono_literals;

class SupervisorTest : public test::WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, SupervisorTest, ::testing::Values(1u, 2u));

// ---- Strategies.

TEST_P(SupervisorTest, StartsOneForOne) {
  in_fiber([] {
    for (const auto how : {kFail, kThrow}) {
      Office office({.strategy = Strategy::one_for_one});
      office.tell(1, how);
      EXPECT_EQ(office.ask(1, kWork), 1);  // knows nothing
      EXPECT_EQ(office.ask(0, kWork), 2);
      EXPECT_EQ(office.ask(2, kWork), 2);
      EXPECT_EQ(office.diary.read(), "a+b+c+b-b+");
      EXPECT_EQ(office.supervisor.restarts(), 1u);
      office.end();
    }
  });
}

TEST_P(SupervisorTest, StartsAllForOne) {
  in_fiber([] {
    Office office({.strategy = Strategy::one_for_all});
    office.tell(1, kFail);
    EXPECT_EQ(office.ask(1, kWork), 1);
    EXPECT_EQ(office.ask(2, kWork), 1);
    EXPECT_EQ(office.ask(0, kWork), 1);
    EXPECT_EQ(office.diary.read().substr(0, 12), "a+b+c+b-c-a-");
    EXPECT_EQ(office.diary.read().size(), 18u);
    EXPECT_EQ(office.supervisor.restarts(), 3u);
    office.end();
  });
}

TEST_P(SupervisorTest, StartsTheRestForOne) {
  in_fiber([] {
    Office office({.strategy = Strategy::rest_for_one});
    office.tell(1, kFail);
    EXPECT_EQ(office.ask(1, kWork), 1);
    EXPECT_EQ(office.ask(2, kWork), 1);
    EXPECT_EQ(office.ask(0, kWork), 2);
    EXPECT_EQ(office.diary.read().substr(0, 10), "a+b+c+b-c-");
    EXPECT_EQ(office.diary.read().size(), 14u);
    EXPECT_EQ(office.supervisor.restarts(), 2u);
    office.end();
  });
}

// Who never starts again goes with the others, and stays away.
TEST_P(SupervisorTest, DismissesThoseThatNeverStartAgain) {
  in_fiber([] {
    Diary diary;
    NurseryIn<profile::Cluster> nursery;
    Supervisor supervisor(nursery, {.strategy = Strategy::one_for_all});
    auto stays =
        supervisor.start<Message>({}, [&] { return Worker(diary, "a"); });
    auto goes = supervisor.start<Message>({.restart = Restart::never},
                                          [&] { return Worker(diary, "b"); });
    Future<int> there;
    EXPECT_TRUE(goes.send({kWork, &there}));
    EXPECT_TRUE(there.wait());
    EXPECT_TRUE(stays.send({kFail, nullptr}));
    Future<int> done;
    EXPECT_TRUE(stays.send({kWork, &done}));
    EXPECT_EQ(done.wait().value(), 1);
    EXPECT_TRUE(goes.closed());
    EXPECT_EQ(supervisor.live(), 1u);
    EXPECT_EQ(supervisor.restarts(), 1u);
    nursery.cancel();
    EXPECT_TRUE(nursery.join());
  });
}

// ---- Who starts again at all.

TEST_P(SupervisorTest, StartsAgainAsTheOptionsSay) {
  struct Row {
    Restart restart;
    Order how;
    bool again;
  };
  for (const Row& row :
       {Row{Restart::always, kFail, true}, Row{Restart::always, kLeave, true},
        Row{Restart::on_failure, kFail, true},
        Row{Restart::on_failure, kThrow, true},
        Row{Restart::on_failure, kLeave, false},
        Row{Restart::never, kFail, false}, Row{Restart::never, kThrow, false},
        Row{Restart::never, kLeave, false}}) {
    in_fiber([&] {
      Diary diary;
      NurseryIn<profile::Cluster> nursery;
      Supervisor supervisor(nursery);
      auto actor = supervisor.start<Message>(
          {.restart = row.restart}, [&] { return Worker(diary, "a"); });
      EXPECT_TRUE(actor.send({row.how, nullptr}));
      if (row.again) {
        Future<int> done;
        EXPECT_TRUE(actor.send({kWork, &done}));
        EXPECT_EQ(done.wait().value(), 1);
        actor = {};  // and not any more when nobody can send
      }
      EXPECT_TRUE(supervisor.join());
      EXPECT_EQ(supervisor.restarts(), row.again ? 1u : 0u);
      EXPECT_EQ(diary.read(), row.again ? "a+a-a+a-" : "a+a-");
      EXPECT_TRUE(nursery.join());
    });
  }
}

// ---- Too many restarts.

TEST_P(SupervisorTest, FailsAsAChildOfItsNursery) {
  in_fiber([] {
    for (const unsigned most : {0u, 2u}) {
      Diary diary;
      NurseryIn<profile::Cluster> nursery;
      auto sibling = nursery.spawn([] { return Event().wait(); });
      Supervisor supervisor(nursery, {.max_restarts = most, .window = 1h});
      auto actor =
          supervisor.start<Message>({}, [&] { return Worker(diary, "a"); });
      for (unsigned i = 0; i <= most; ++i) {
        EXPECT_TRUE(actor.send({kFail, nullptr}));
      }
      EXPECT_EQ(nursery.join().error(), Error::user(7));
      EXPECT_EQ(supervisor.join().error(), Error::user(7));
      EXPECT_EQ(supervisor.restarts(), most);
      EXPECT_EQ(actor.send({kWork, nullptr}).error(), Errc::closed);
      EXPECT_EQ(sibling.join().error(), Error::user(7));
    }
  });
}

TEST_P(SupervisorTest, PassesOnTheException) {
  in_fiber([] {
    Diary diary;
    NurseryIn<profile::Cluster> nursery;
    Supervisor supervisor(nursery, {.max_restarts = 0});
    auto actor =
        supervisor.start<Message>({}, [&] { return Worker(diary, "a"); });
    EXPECT_TRUE(actor.send({kThrow, nullptr}));
    EXPECT_THROW((void)nursery.join(), std::runtime_error);
    EXPECT_EQ(supervisor.join().error(), Errc::panicked);
  });
}

// An actor that throws as it is made fails as any other.
TEST_P(SupervisorTest, CountsWhatCannotBeMade) {
  in_fiber([] {
    int tries = 0;
    NurseryIn<profile::Cluster> nursery;
    Supervisor supervisor(nursery, {.max_restarts = 2});
    auto actor = supervisor.start<Message>({}, [&]() -> Worker {
      ++tries;
      throw std::runtime_error("not made");
    });
    EXPECT_THROW((void)nursery.join(), std::runtime_error);
    EXPECT_EQ(tries, 3);
  });
}

TEST_P(SupervisorTest, CountsWhatCannotBeSpawned) {
  in_fiber([] {
    Diary diary;
    NurseryIn<profile::Cluster> nursery;
    Supervisor supervisor(nursery, {.max_restarts = 2});
    auto actor = supervisor.start<Message>({.stack_size = StackSize(1)},
                                           [&] { return Worker(diary, "a"); });
    EXPECT_EQ(nursery.join().error(), Errc::invalid);
    EXPECT_EQ(supervisor.restarts(), 2u);
    EXPECT_EQ(diary.read(), "");
  });
}

// It is refused at once each time, and never waits for anybody.
TEST_P(SupervisorTest, LetsOthersRunAndQuitsThoughEveryStartIsRefused) {
  in_fiber([] {
    Diary diary;
    NurseryIn<profile::Cluster> nursery({.budget = Budget::cluster()});
    {
      Supervisor supervisor(
          nursery, {.max_restarts = std::numeric_limits<unsigned>::max(),
                    .budget = Budget{.ops = 1000}});
      auto actor =
          supervisor.start<Message>({}, [&] { return Worker(diary, "a"); });
      while (supervisor.restarts() < 3) this_fiber::yield();
    }
    EXPECT_EQ(diary.read(), "");
    EXPECT_TRUE(nursery.join());
  });
}

// The window slides, by the clock of the runtime.
TEST(SupervisorWindow, CountsRestartsOfTheWindowOnly) {
  const auto body = [](Simulation& sim) {
    Diary diary;
    NurseryIn<profile::Cluster> nursery;
    Supervisor supervisor(nursery, {.max_restarts = 2, .window = 10s});
    auto actor =
        supervisor.start<Message>({}, [&] { return Worker(diary, "a"); });
    const auto fail = [&] {
      EXPECT_TRUE(actor.send({kFail, nullptr}));
      sim.wait_until_all_parked();
    };
    for (int i = 0; i < 6; ++i) {  // two in any ten seconds
      fail();
      sim.advance(i % 2 == 0 ? 1s : 9001ms);
    }
    EXPECT_EQ(supervisor.restarts(), 6u);
    fail();
    sim.advance(1s);
    fail();
    EXPECT_FALSE(nursery.cancelled());
    EXPECT_TRUE(this_fiber::checkpoint());
    sim.advance(9s);  // exactly ten seconds count as within
    EXPECT_TRUE(actor.send({kFail, nullptr}));
    EXPECT_EQ(nursery.join().error(), Error::user(7));
    EXPECT_EQ(supervisor.restarts(), 8u);
  };
  EXPECT_TRUE(testing::explore({.schedules = 20}, body));
}

}  // namespace
}  // namespace weft
