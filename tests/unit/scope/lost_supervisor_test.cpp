// lost_supervisor_test.cpp: a supervisor whose fiber is given up.
#include <gtest/gtest.h>

#include <memory>

#include "support/runtime_test.hpp"
#include "support/spending.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class LostSupervisorTest : public test::WorkersTest {
 protected:
  struct Spender {
    static Status handle(int& ops) {
      test::spend(static_cast<std::uint32_t>(ops));
      return {};
    }
  };
  static constexpr Budget kFew{.ops = 5, .channel_ops = 10};
  static constexpr Budget kOfSupervisor{
      .ops = 1'000, .spawn_count = 10, .channel_ops = 100};

  // Starts two actors, one of which runs out; the supervisor asks what to do,
  // for ever. Answers when it has run out as well.
  static void start_and_starve(NurseryIn<profile::Cluster>& nursery,
                               Supervisor& supervisor, ActorRef<int>& hungry,
                               ActorRef<int>& idle) {
    supervisor.on_exhausted(
        [](const Exhausted&) -> OnExhausted { test::compute_for_ever(); });
    hungry = supervisor.start<int>({.budget = kFew}, [] { return Spender(); });
    idle = supervisor.start<int>({.budget = kFew}, [] { return Spender(); });
    EXPECT_TRUE(hungry.send(100));
    EXPECT_TRUE(nursery.wait_exhausted());
  }
};
INSTANTIATE_TEST_SUITE_P(Workers, LostSupervisorTest,
                         ::testing::Values(1u, 2u));

TEST_P(LostSupervisorTest, IsOver) {
  in_fiber([] {
    NurseryIn<profile::Cluster> nursery({.budget = Budget::cluster()});
    ActorRef<int> hungry;
    ActorRef<int> idle;
    {
      Supervisor supervisor(nursery, {.budget = kOfSupervisor});
      start_and_starve(nursery, supervisor, hungry, idle);
      nursery.cancel();
      {
        const Shield shield;
        EXPECT_EQ(supervisor.join().error(), Error::out_of(Resource::ops));
      }
      EXPECT_EQ(supervisor.live(), 0u);
      EXPECT_TRUE(hungry.closed());
      EXPECT_TRUE(idle.closed());
    }
    EXPECT_EQ(nursery.join().error(), Error::out_of(Resource::ops));
    EXPECT_EQ(idle.try_send(1).error(), Errc::closed);
  });
}

TEST_P(LostSupervisorTest, IsWaitedForByItsDestructor) {
  in_fiber([] {
    NurseryIn<profile::Cluster> nursery({.budget = Budget::cluster()});
    ActorRef<int> hungry;
    ActorRef<int> idle;
    {
      Supervisor supervisor(nursery, {.budget = kOfSupervisor});
      start_and_starve(nursery, supervisor, hungry, idle);
      nursery.cancel();
    }
    EXPECT_TRUE(idle.closed());
    EXPECT_FALSE(nursery.join());
  });
}

// Each end is told of once, also of a session that goes as it should.
TEST_P(LostSupervisorTest, AnotherSessionIsNoneOfItsBusiness) {
  in_fiber([] {
    NurseryIn<profile::Cluster> nursery({.budget = Budget::cluster()});
    Supervisor supervisor(nursery, {.budget = kOfSupervisor});
    for (int session = 0; session < 5; ++session) {
      auto actor =
          supervisor.start<int>({.budget = kFew}, [] { return Spender(); });
      EXPECT_TRUE(actor.send(1));
      EXPECT_FALSE(actor.closed());
      actor = {};
      EXPECT_TRUE(supervisor.join());
      EXPECT_EQ(supervisor.live(), 0u);
    }
    EXPECT_TRUE(nursery.join());
  });
}

// Nobody cancels the nursery, and nobody recharges.
TEST_P(LostSupervisorTest, IsCancelledByItsDestructor) {
  in_fiber([] {
    NurseryIn<profile::Cluster> nursery({.budget = Budget::cluster()});
    ActorRef<int> hungry;
    ActorRef<int> idle;
    {
      Supervisor supervisor(nursery, {.budget = kOfSupervisor});
      start_and_starve(nursery, supervisor, hungry, idle);
    }
    EXPECT_TRUE(hungry.closed());
    EXPECT_TRUE(idle.closed());
    EXPECT_EQ(nursery.join().error(), Error::out_of(Resource::ops));
  });
}

}  // namespace
}  // namespace weft
