// explored_actor_test.cpp: supervisors and their actors, over schedules.
#include <gtest/gtest.h>

#include <utility>

#include "unit/sync/searches.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Fault;
using test::search_all;
using test::Simulation;

// Fails at 1, ends at 2.
struct Fragile {
  Status handle(int& what) {
    ++*handled;
    if (what == 1) return Error::user(1);
    return what == 2 ? Status(Errc::closed) : Status();
  }
  int* handled;
};

TEST(ExploredSupervisor, HandlesEachMessageOnce) {
  const auto body = [](Simulation&) {
    int handled = 0;
    NurseryIn<profile::Cluster> nursery;
    Supervisor supervisor(nursery);
    {
      auto actor = supervisor.start<int>({}, [&] { return Fragile{&handled}; });
      EXPECT_TRUE(actor.send(1));
      EXPECT_TRUE(actor.send(0));
    }
    EXPECT_TRUE(supervisor.join());
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(handled, 2);
    EXPECT_LE(supervisor.restarts(), 1u);
  };
  search_all({}, 1, body);
  search_all({Fault::spurious_wake}, 1, body);
}

TEST(ExploredSupervisor, StopsAllForOneWhileTheyEnd) {
  search_all({}, 1, [](Simulation&) {
    int handled = 0;
    NurseryIn<profile::Cluster> nursery;
    Supervisor supervisor(nursery, {.strategy = Strategy::one_for_all});
    auto first = supervisor.start<int>({}, [&] { return Fragile{&handled}; });
    auto second = supervisor.start<int>({}, [&] { return Fragile{&handled}; });
    EXPECT_TRUE(first.send(1));
    EXPECT_TRUE(second.send(2));
    EXPECT_TRUE(first.send(2));
    EXPECT_TRUE(supervisor.join());
    EXPECT_EQ(handled, 3);
    EXPECT_TRUE(nursery.join());
  });
}

TEST(ExploredSupervisor, EndsWheneverItIsCancelled) {
  search_all({}, 1, [](Simulation&) {
    int handled = 0;
    NurseryIn<profile::Cluster> nursery;
    Supervisor supervisor(nursery);
    auto actor = supervisor.start<int>({}, [&] { return Fragile{&handled}; });
    (void)actor.try_send(1);
    nursery.cancel();
    EXPECT_TRUE(nursery.join());
    EXPECT_TRUE(actor.closed());
    EXPECT_EQ(supervisor.live(), 0u);
  });
}

TEST(ExploredSupervisor, RechargesOnce) {
  const auto body = [](Simulation&) {
    int handled = 0;
    int asked = 0;
    NurseryIn<profile::Cluster> nursery;
    Supervisor supervisor(nursery);
    supervisor.on_exhausted([&](const Exhausted&) {
      ++asked;
      return OnExhausted::recharge;
    });
    {
      auto actor =
          supervisor.start<int>({.budget = Budget{.ops = 2, .channel_ops = 9}},
                                [&] { return Fragile{&handled}; });
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(actor.send(0));
    }
    EXPECT_TRUE(supervisor.join());
    EXPECT_EQ(handled, 3);
    EXPECT_EQ(asked, 1);
    EXPECT_TRUE(nursery.join());
  };
  search_all({}, 1, body);
  search_all({Fault::spurious_wake}, 1, body);
}

TEST(ExploredSupervisor, TakesAnActorWhileItIsAboutToEnd) {
  search_all({}, 1, [](Simulation&) {
    int handled = 0;
    NurseryIn<profile::Cluster> nursery;
    Supervisor supervisor(nursery);
    for (int i = 0; i < 2; ++i) {
      auto actor = supervisor.start<int>({}, [&] { return Fragile{&handled}; });
      EXPECT_TRUE(actor.send(2));
    }
    EXPECT_TRUE(supervisor.join());
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(handled, 2);
  });
}

}  // namespace
}  // namespace weft
