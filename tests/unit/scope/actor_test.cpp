// actor_test.cpp: actors and their mailboxes.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "support/death_test.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using namespace std::chrono_literals;

using Cluster = NurseryIn<profile::Cluster>;

class ActorTest : public test::WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ActorTest, ::testing::Values(1u, 2u, 4u));

// Calls a function with each message.
template <typename F>
struct Calls {
  Status handle(int& message) { return function(message); }
  F function;
};
template <typename F>
Calls(F) -> Calls<F>;

struct Ping {
  int left;
  ActorRef<Ping>* to;
};

// R-PROF-03
TEST_P(ActorTest, PlaysPingPong) {
  in_fiber([] {
    struct Player {
      Status handle(Ping& ping) {
        ++*count;
        if (ping.left == 0) {
          done->set();
          return {};
        }
        return ping.to->send({ping.left - 1, own});
      }
      ActorRef<Ping>* own;
      std::atomic<int>* count;
      Event* done;
    };
    std::atomic<int> count{0};
    Event done;
    ActorRef<Ping> left;
    ActorRef<Ping> right;
    Cluster nursery;
    Supervisor supervisor(nursery);
    left = supervisor.start<Ping>({.name = "left"}, [&] {
      return Player{&left, &count, &done};
    });
    right = supervisor.start<Ping>({.name = "right"}, [&] {
      return Player{&right, &count, &done};
    });
    EXPECT_TRUE(left.send({99, &right}));
    EXPECT_TRUE(done.wait());
    EXPECT_EQ(count, 100);
    EXPECT_NE(left.id(), right.id());
    EXPECT_EQ(supervisor.live(), 2u);
    nursery.cancel();
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(supervisor.live(), 0u);
    EXPECT_EQ(left.send({1, &left}).error(), Errc::closed);
  });
}

// R-PROF-06
TEST_P(ActorTest, EndsWhenTheLastAddressIsGone) {
  in_fiber([] {
    int sum = 0;
    Cluster nursery;
    Supervisor supervisor(nursery);
    {
      auto adder = supervisor.start<int>({}, [&] {
        return Calls{[&](int n) -> Status {
          sum += n;
          return {};
        }};
      });
      const auto other = adder;
      for (int i = 1; i <= 10; ++i) EXPECT_TRUE(adder.send(i));
    }
    EXPECT_TRUE(supervisor.join());  // what was inside is handled
    EXPECT_EQ(sum, 55);
    EXPECT_EQ(supervisor.restarts(), 0u);
    EXPECT_TRUE(nursery.join());
  });
}

// R-PROF-06
TEST_P(ActorTest, EndsWellByTheHandlersWish) {
  in_fiber([] {
    Cluster nursery;
    Supervisor supervisor(nursery);
    auto actor = supervisor.start<int>(
        {}, [] { return Calls{[](int) -> Status { return Errc::closed; }}; });
    EXPECT_TRUE(actor.send(1));
    EXPECT_TRUE(supervisor.join());
    EXPECT_TRUE(actor.closed());
    EXPECT_EQ(actor.send(2).error(), Errc::closed);
    EXPECT_EQ(supervisor.restarts(), 0u);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ActorTest, KeepsItsMailboxOverARestart) {
  in_fiber([] {
    std::string seen;
    std::atomic<int> made{0};
    Event go;
    Cluster nursery;
    Supervisor supervisor(nursery);
    {
      auto actor = supervisor.start<int>({.name = "actor"}, [&] {
        ++made;
        return Calls{[&](int n) -> Status {
          (void)go.wait();
          seen += std::to_string(n);
          if (n == 2) return Error::user(n);
          if (n == 3) throw std::runtime_error("three");
          return {};
        }};
      });
      EXPECT_EQ(actor.name(), "actor");
      for (int i = 1; i <= 5; ++i) EXPECT_TRUE(actor.send(i));
      go.set();
    }
    EXPECT_TRUE(supervisor.join());
    EXPECT_EQ(seen, "12345");  // each once: what it failed at is lost
    EXPECT_EQ(made, 3);
    EXPECT_EQ(supervisor.restarts(), 2u);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ActorTest, IsAnotherFiberAfterARestart) {
  in_fiber([] {
    Cluster nursery;
    Supervisor supervisor(nursery);
    auto [ids, heard] = make_channel<FiberId>(4);
    auto actor = supervisor.start<int>({.name = "one"}, [ids = ids] {
      return Calls{[ids](int n) mutable -> Status {
        EXPECT_EQ(this_fiber::name(), "one");
        WEFT_TRY(ids.send(this_fiber::id()));
        return n == 0 ? Status(Error::user(1)) : Status();
      }};
    });
    EXPECT_TRUE(actor.send(0));
    const auto first = heard.receive().value();
    EXPECT_TRUE(actor.send(1));
    const auto second = heard.receive().value();
    EXPECT_NE(first, second);
    EXPECT_EQ(actor.id(), second);
    nursery.cancel();
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ActorTest, TakesOneByOneWithoutAMailbox) {
  in_fiber([] {
    Cluster nursery;
    Supervisor supervisor(nursery);
    int sum = 0;
    {
      auto actor = supervisor.start<int>({.mailbox = 0}, [&] {
        return Calls{[&](int n) -> Status {
          sum += n;
          return n == 1 ? Status(Errc::invalid) : Status();
        }};
      });
      for (int i = 1; i <= 3; ++i) EXPECT_TRUE(actor.send(i));
    }
    EXPECT_TRUE(supervisor.join());
    EXPECT_EQ(sum, 6);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ActorTest, RefusesOrDropsWhatDoesNotFit) {
  in_fiber([] {
    Cluster nursery;
    Supervisor supervisor(nursery);
    Event go;
    Latch inside(1);
    auto actor = supervisor.start<int>(
        {.mailbox = 1, .on_full = OnFull::drop_newest}, [&] {
          return Calls{[&](int) -> Status {
            if (!inside.try_wait()) inside.count_down();
            return go.wait();
          }};
        });
    EXPECT_TRUE(actor.send(1));
    EXPECT_TRUE(inside.wait());
    EXPECT_TRUE(actor.try_send(2));
    EXPECT_EQ(actor.try_send(3).error(), Errc::would_block);
    EXPECT_EQ(actor.send(3).error(), Errc::would_block);
    nursery.cancel();
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ActorTest, AddressOfNobody) {
  ActorRef<int> nobody;
  EXPECT_EQ(nobody.send(1).error(), Errc::invalid);
  EXPECT_EQ(nobody.id(), FiberId());
  EXPECT_TRUE(nobody.closed());
}

// An actor waits in a handler, another at its mailbox: both end.
TEST_P(ActorTest, EndsWithItsNursery) {
  in_fiber([] {
    const auto wait = [] {
      return Calls{[](int) -> Status { return Event().wait(); }};
    };
    for (const bool by_deadline : {false, true}) {
      Cluster nursery;
      Supervisor supervisor(nursery);
      auto busy = supervisor.start<int>({.restart = Restart::always}, wait);
      auto idle = supervisor.start<int>({.restart = Restart::always}, wait);
      EXPECT_TRUE(busy.send(1));
      if (by_deadline) {
        nursery.set_deadline(Deadline::after(1ms));
      } else {
        nursery.cancel();
      }
      const Status end = nursery.join();
      EXPECT_EQ(end.has_value(), !by_deadline);
      EXPECT_EQ(supervisor.restarts(), 0u);
      EXPECT_EQ(supervisor.live(), 0u);
      EXPECT_TRUE(idle.closed());
      EXPECT_TRUE(supervisor.join());
      // Too late: closed at once.
      auto late = supervisor.start<int>({}, wait);
      EXPECT_EQ(late.send(1).error(), Errc::closed);
    }
  });
}

TEST_P(ActorTest, EndsWithItsSupervisor) {
  in_fiber([] {
    Cluster nursery;
    ActorRef<int> actor;
    {
      Supervisor supervisor(nursery);
      actor = supervisor.start<int>({}, [] {
        return Calls{[](int) -> Status { return Event().wait(); }};
      });
      EXPECT_TRUE(actor.send(1));
    }
    EXPECT_TRUE(actor.closed());
    { Supervisor unused(nursery); }
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ActorTest, IsStartedByAPlainThread) {
  Cluster nursery(runtime());
  Supervisor supervisor(nursery);
  std::atomic<int> sum{0};
  {
    auto actor = supervisor.start<int>({}, [&] {
      return Calls{[&](int n) -> Status {
        sum += n;
        return {};
      }};
    });
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(actor.send(i));
  }
  EXPECT_TRUE(supervisor.join());
  EXPECT_EQ(sum, 3);
  // The supervisor's fiber has ended; it comes back for another actor.
  auto again = supervisor.start<int>(
      {}, [] { return Calls{[](int) -> Status { return Errc::closed; }}; });
  EXPECT_TRUE(again.send(1));
  EXPECT_TRUE(supervisor.join());
  EXPECT_TRUE(nursery.join());
}

class SupervisorDeathTest : public test::FreshProcessTest {};

TEST_F(SupervisorDeathTest, ReportsAnotherThanItsOwner) {
  EXPECT_DEATH((void)run(Config{.workers = 1},
                         [] {
                           Cluster nursery;
                           Supervisor supervisor(nursery);
                           Nursery other;
                           other.spawn([&] { (void)supervisor.join(); });
                           (void)other.join();
                         }),
               "used by another fiber than the one that made it");
}

}  // namespace
}  // namespace weft
