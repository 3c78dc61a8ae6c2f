// hungry_actor_test.cpp: actors that run out, and what their supervisor does.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "support/runtime_test.hpp"
#include "unit/scope/office.hpp"
#include <weft/gtest.hpp>
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Diary;
using test::kSpend;
using test::kTalk;
using test::kWork;
using test::Message;
using test::Office;
using test::Worker;

class HungryActorTest : public test::WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, HungryActorTest, ::testing::Values(1u, 2u));

// R-PROF-03

constexpr ActorOptions kPoor{.budget = Budget{.ops = 100, .channel_ops = 20}};

TEST_P(HungryActorTest, RechargesWhoRunsOut) {
  in_fiber([] {
    Office office({.on_exhausted = OnExhausted::recharge}, kPoor);
    for (int i = 2; i < 12; ++i) EXPECT_EQ(office.ask(0, kSpend), i);
    // Also at its mailbox, where it is not waited for by others.
    for (int i = 2; i < 60; ++i) EXPECT_EQ(office.ask(1, kWork), i);
    EXPECT_EQ(office.supervisor.restarts(), 0u);
    office.end();
  });
}

// Each gets what suits a child, of a supervisor that is limited itself.
TEST_P(HungryActorTest, StartsInALimitedNurseryByDefault) {
  in_fiber([] {
    const Budget all{.ops = 100'000,
                     .memory = std::size_t{10} << 20,
                     .spawn_count = 20,
                     .channel_ops = 1'000,
                     .syscalls = 100};
    Diary diary;
    NurseryIn<profile::Cluster> nursery({.budget = all});
    Supervisor supervisor(nursery);
    std::vector<ActorRef<Message>> actors;
    for (const char* const name : {"a", "b", "c"}) {
      actors.push_back(supervisor.start<Message>(
          {.name = name}, [&diary, name] { return Worker(diary, name); }));
      Future<int> done;
      ASSERT_TRUE(actors.back().send({kWork, &done}));
      EXPECT_EQ(done.wait().value(), 1);
    }
    EXPECT_EQ(supervisor.restarts(), 0u);
    actors.clear();
    nursery.cancel();
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(HungryActorTest, EndsWhoRunsOutForGood) {
  in_fiber([] {
    auto each = kPoor;
    each.restart = Restart::always;
    Office office({.on_exhausted = OnExhausted::cancel}, each);
    office.tell(0, kSpend);
    office.tell(0, kSpend);
    while (!office.actor[0].closed()) this_fiber::yield();
    EXPECT_EQ(office.supervisor.live(), 2u);
    while (!office.actor[1].closed()) {
      (void)office.actor[1].try_send({kWork, nullptr});
      this_fiber::yield();
    }
    EXPECT_EQ(office.ask(2, kWork), 2);
    EXPECT_EQ(office.supervisor.restarts(), 0u);
    office.end();
  });
}

TEST_P(HungryActorTest, LeavesWhoRunsOutAlone) {
  in_fiber([] {
    std::atomic<int> asked{0};
    Office office({}, kPoor);
    office.supervisor.on_exhausted([&](const Exhausted& who) {
      EXPECT_EQ(who.resource, Resource::ops);
      EXPECT_EQ(who.fiber, office.actor[0].id());
      ++asked;
      return OnExhausted::ignore;
    });
    office.tell(0, kSpend);
    office.tell(0, kSpend);
    while (asked == 0) this_fiber::yield();
    EXPECT_EQ(office.ask(2, kWork), 2);
    EXPECT_EQ(asked, 1);  // once a time
    EXPECT_EQ(office.supervisor.live(), 3u);
    office.end();
  });
}

TEST_P(HungryActorTest, AsksBeforeEachRecharge) {
  in_fiber([] {
    std::atomic<int> asked{0};
    Office office({.on_exhausted = OnExhausted::cancel}, kPoor);
    office.supervisor.on_exhausted([&](const Exhausted&) {
      return ++asked <= 2 ? OnExhausted::recharge : OnExhausted::cancel;
    });
    for (int i = 0; i < 12; ++i) {
      (void)office.actor[0].try_send({kSpend, nullptr});
    }
    while (!office.actor[0].closed()) this_fiber::yield();
    EXPECT_EQ(asked, 3);
    office.end();
  });
}

TEST_P(HungryActorTest, FailsByAnExceptionOfTheDecision) {
  in_fiber([] {
    Office office({}, kPoor);
    office.supervisor.on_exhausted([](const Exhausted&) -> OnExhausted {
      throw std::runtime_error("undecided");
    });
    office.tell(0, kSpend);
    office.tell(0, kSpend);
    EXPECT_THROW((void)office.nursery.join(), std::runtime_error);
  });
}

// A handler that runs out of what is refused fails, as by any other error.
TEST_P(HungryActorTest, StartsAgainWhoIsRefused) {
  in_fiber([] {
    Diary diary;
    NurseryIn<profile::Cluster> nursery;
    Supervisor supervisor(nursery);
    auto actor = supervisor.start<Message>(
        {.budget = Budget{.ops = 100, .channel_ops = 5}},
        [&] { return Worker(diary, "a"); });
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(actor.send({kTalk, nullptr}));
    Future<int> done;
    EXPECT_TRUE(actor.send({kWork, &done}));
    EXPECT_EQ(done.wait().value(), 1);
    EXPECT_EQ(supervisor.restarts(), 1u);
    nursery.cancel();
    EXPECT_TRUE(nursery.join());
  });
}

// In a limited nursery all is paid for by the supervisor's share.
TEST_P(HungryActorTest, PaysFromItsNursery) {
  in_fiber([] {
    const Budget pool{.ops = 1000, .spawn_count = 10, .channel_ops = 500};
    NurseryIn<profile::Cluster> nursery({.budget = pool});
    {
      Diary diary;
      Supervisor supervisor(
          nursery,
          {.budget = Budget{.ops = 300, .spawn_count = 4, .channel_ops = 40}});
      auto actor =
          supervisor.start<Message>(kPoor, [&] { return Worker(diary, "a"); });
      EXPECT_LE(nursery.budget().ops, 700u);
      Future<int> done[2];
      EXPECT_TRUE(actor.send({kSpend, &done[0]}));
      EXPECT_EQ(done[0].wait().value(), 1);
      EXPECT_TRUE(actor.send({kSpend, &done[1]}));
      EXPECT_EQ(done[1].wait().value(), 2);  // recharged from the 300
      for (int i = 0; i < 4; ++i) (void)actor.send({kSpend, nullptr});
      while (!actor.closed()) this_fiber::yield();  // there is no more
      EXPECT_TRUE(supervisor.join());
    }
    EXPECT_TRUE(nursery.join());
  });
}

// ---- What comes back to the supervisor, and from it.

TEST_P(HungryActorTest, CostsItsSupervisorOnlyWhatItSpends) {
  in_fiber([] {
    NurseryIn<profile::Cluster> nursery(
        {.budget = Budget{.ops = 40'000,
                          .memory = 1 << 21,
                          .spawn_count = 1'100,
                          .channel_ops = 3'000}});
    Supervisor supervisor(nursery, {.max_restarts = 2'000,
                                    .budget = Budget{.ops = 30'000,
                                                     .memory = 1 << 20,
                                                     .spawn_count = 1'050,
                                                     .channel_ops = 2'500}});
    std::atomic<std::uint32_t> least{UINT32_MAX};
    struct Failing {
      static Status handle(int& /*order*/) { return Error::user(1); }
    };
    auto actor = supervisor.start<int>(
        {.budget = Budget{.ops = 10'000, .memory = 1 << 20, .channel_ops = 2}},
        [&] {
          least = std::min(least.load(), this_fiber::ledger().left.ops);
          return Failing();
        });
    for (unsigned i = 0; i < 1'000; ++i) ASSERT_TRUE(actor.send(1)) << i;
    actor = {};
    const Status end = supervisor.join();
    EXPECT_TRUE(end) << end.error();
    EXPECT_GE(supervisor.restarts(), 999u);
    EXPECT_EQ(least, 10'000u);
    EXPECT_TRUE(nursery.join());
  });
}

// Of a fiber that can pay for one session at a time.
TEST(HungryActors, AreOfASessionThatHasWhatTheLastOneHad) {
  const auto body = [](testing::Simulation& /*sim*/) {
    NurseryIn<profile::Cluster> nursery({.budget = Budget::cluster()});
    Supervisor supervisor(nursery, {.max_restarts = 0});
    for (int session = 0; session < 3; ++session) {
      Future<std::uint32_t> ops;
      struct Idle {
        static Status handle(int& /*order*/) { return {}; }
      };
      auto actor = supervisor.start<int>({}, [&] {
        ops.set(this_fiber::ledger().left.ops);
        return Idle();
      });
      EXPECT_EQ(ops.wait().value(), 10'000u);
      actor = {};
      EXPECT_TRUE(supervisor.join());
    }
    EXPECT_TRUE(nursery.join());
  };
  EXPECT_TRUE(testing::explore({.schedules = 200}, body));
}

}  // namespace
}  // namespace weft
