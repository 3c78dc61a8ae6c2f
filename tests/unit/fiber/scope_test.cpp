#include "fiber/scope.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "fiber/fiber.hpp"
#include "support/watchdog.hpp"
#include "unit/fiber/runner.hpp"
#include "unit/fiber/word_states.hpp"

namespace weft::fiber {
namespace {

using weft::test::Watchdog;
using Kind = Scope::Kind;

TEST(Scope, IsOnTheStackOfWhomItCovers) {
  Runner self;
  Scope outer(Kind::plain, &self.fiber);
  EXPECT_EQ(self.fiber.scope, &outer);
  EXPECT_EQ(outer.parent(), nullptr);
  {
    Scope inner(Kind::shield, &self.fiber);
    EXPECT_EQ(self.fiber.scope, &inner);
    EXPECT_EQ(inner.parent(), &outer);
    EXPECT_TRUE(inner.is_shield());
    inner.close();
  }
  EXPECT_EQ(self.fiber.scope, &outer);
  outer.close();
  EXPECT_EQ(self.fiber.scope, nullptr);
  Scope nobodys(Kind::nursery, nullptr);
  nobodys.close();
}

TEST(ScopeDeathTest, DiesIfOneInsideIsStillOpen) {
  Runner self;
  Scope outer(Kind::plain, &self.fiber);
  Scope inner(Kind::plain, &self.fiber);
  EXPECT_DEATH(outer.close(), "opened inside of it is still open");
}

// Invariant P1
TEST(Scope, KeepsTheFirstCause) {
  Scope scope(Kind::plain, nullptr);
  EXPECT_EQ(scope.cause(), Cause::none);
  EXPECT_EQ(scope.stopped(), Stop::none);
  EXPECT_EQ(scope.stop(Cause::deadline), nullptr);
  EXPECT_EQ(scope.stop(Cause::cancel), nullptr);
  EXPECT_EQ(scope.cause(), Cause::deadline);
  EXPECT_EQ(scope.stopped(), Stop::timed_out);
}

TEST(Scope, SaysWhyByItsCause) {
  for (const Cause cause : {Cause::cancel, Cause::failure, Cause::deadline,
                            Cause::outer_cancel, Cause::outer_deadline}) {
    Scope scope(Kind::plain, nullptr);
    (void)scope.stop(cause);
    const bool late =
        cause == Cause::deadline || cause == Cause::outer_deadline;
    EXPECT_EQ(scope.stopped(), late ? Stop::timed_out : Stop::cancelled);
    EXPECT_EQ(to_errc(scope.stopped()),
              late ? Errc::timed_out : Errc::cancelled);
  }
}

// Invariant P1
TEST(Scope, IsNotStoppedOnceItIsOver) {
  Runner self;
  Scope scope(Kind::plain, &self.fiber);
  scope.be_over();
  EXPECT_EQ(scope.stop(Cause::cancel), nullptr);
  EXPECT_EQ(scope.stopped(), Stop::none);
  EXPECT_FALSE(self.fiber.word.must_look());
  Scope stopped(Kind::plain, nullptr);
  (void)stopped.stop(Cause::failure);
  stopped.be_over();
  EXPECT_EQ(stopped.stopped(), Stop::none);
  EXPECT_EQ(stopped.cause(), Cause::failure);  // stays for who asks
}

TEST(Scope, KeepsItsDeadline) {
  Scope scope(Kind::plain, nullptr);
  EXPECT_EQ(scope.deadline(), time::kNever);
  scope.set_deadline(17);
  EXPECT_EQ(scope.deadline(), 17);
}

TEST(Scope, WakesWhomItCovers) {
  Runner self;
  Scope scope(Kind::plain, &self.fiber);
  self.park();
  EXPECT_EQ(all(scope.stop(Cause::cancel)), Fibers{&self.fiber});
  EXPECT_TRUE(self.fiber.word.must_look());
  self.fiber.word.resume(1);
  EXPECT_EQ(self.fiber.word.rewait(), Who::open);
  EXPECT_EQ(self.looks(), Stop::cancelled);
  EXPECT_TRUE(self.fiber.word.must_look());  // the next cancel point, too
}

TEST(Scope, TellsTheChildrenInItsList) {
  Scope nursery(Kind::nursery, nullptr);
  std::vector<std::unique_ptr<Runner>> children;
  constexpr std::size_t kChildren = 200;  // several holds of the lock
  for (std::size_t i = 0; i < kChildren; ++i) {
    children.push_back(std::make_unique<Runner>(&nursery));
    EXPECT_EQ(children.back()->looks(), Stop::none);
    EXPECT_TRUE(children.back()->fiber.listed);
    children.back()->park();
  }
  EXPECT_EQ(all(nursery.stop(Cause::failure)).size(), kChildren);
  for (auto& child : children) {
    EXPECT_TRUE(child->listing.told);
    child->fiber.word.resume(1);
    EXPECT_EQ(child->looks(), Stop::cancelled);
    child->fiber.delist();
    EXPECT_FALSE(child->fiber.listed);
  }
}

TEST(Scope, StopsAChildThatComesLater) {
  Scope nursery(Kind::nursery, nullptr);
  (void)nursery.stop(Cause::cancel);
  Runner child(&nursery);
  EXPECT_EQ(child.looks(), Stop::cancelled);
  EXPECT_TRUE(child.listing.told);
  child.fiber.delist();
}

TEST(Scope, TellsNobodyWhoHasLeft) {
  Scope nursery(Kind::nursery, nullptr);
  Runner stays(&nursery);
  Runner leaves(&nursery);
  EXPECT_EQ(leaves.looks(), Stop::none);
  EXPECT_EQ(stays.looks(), Stop::none);
  leaves.fiber.delist();
  leaves.fiber.scope = nullptr;
  (void)nursery.stop(Cause::cancel);
  EXPECT_TRUE(stays.fiber.word.must_look());
  EXPECT_FALSE(leaves.fiber.word.must_look());
  stays.fiber.delist();
}

TEST(Look, ClearsTheBitOfWhoIsToldForNothing) {
  Runner self;
  (void)self.fiber.word.nudge();
  EXPECT_EQ(self.looks(), Stop::none);
  EXPECT_FALSE(self.fiber.word.must_look());
}

TEST(Look, StopsWhatIsInsideOfTheStoppedScope) {
  Runner self;
  Scope out(Kind::plain, &self.fiber);
  Scope stopped(Kind::plain, &self.fiber);
  Scope nursery(Kind::nursery, &self.fiber);
  Runner child(&nursery);
  EXPECT_EQ(child.looks(), Stop::none);
  child.park();
  EXPECT_EQ(stopped.stop(Cause::deadline), nullptr);
  Fiber* owned = nullptr;
  EXPECT_EQ(look(self.fiber, owned), Stop::timed_out);
  EXPECT_EQ(all(owned), Fibers{&child.fiber});
  EXPECT_EQ(nursery.cause(), Cause::outer_deadline);
  EXPECT_EQ(out.cause(), Cause::none);
  EXPECT_EQ(stop_of(child.fiber), Stop::timed_out);
  child.fiber.delist();
}

TEST(Look, AnswersTheInnermostStop) {
  Runner self;
  Scope outer(Kind::plain, &self.fiber);
  Scope inner(Kind::plain, &self.fiber);
  (void)outer.stop(Cause::deadline);
  EXPECT_EQ(stop_of(self.fiber), Stop::timed_out);
  (void)inner.stop(Cause::cancel);
  EXPECT_EQ(stop_of(self.fiber), Stop::cancelled);
}

TEST(Look, SeesNothingThroughAShield) {
  Runner self;
  Scope outer(Kind::plain, &self.fiber);
  Scope shield(Kind::shield, &self.fiber);
  Scope inner(Kind::plain, &self.fiber);
  (void)outer.stop(Cause::cancel);
  EXPECT_EQ(cancel(self.fiber), nullptr);
  EXPECT_EQ(self.looks(), Stop::none);
  (void)inner.stop(Cause::cancel);
  EXPECT_EQ(self.looks(), Stop::cancelled);
  inner.close();
  shield.close();
  EXPECT_EQ(self.looks(), Stop::cancelled);
}

TEST(Look, StopsEverythingOfAFiberThatIsCancelled) {
  Scope base(Kind::nursery, nullptr);
  Runner self(&base);
  Scope own(Kind::nursery, &self.fiber);
  self.fiber.word.begin_look();
  self.park();
  EXPECT_EQ(all(cancel(self.fiber)), Fibers{&self.fiber});
  EXPECT_EQ(stop_of(self.fiber), Stop::cancelled);
  self.fiber.word.resume(1);
  EXPECT_EQ(self.looks(), Stop::cancelled);
  EXPECT_EQ(own.cause(), Cause::outer_cancel);
  EXPECT_EQ(base.cause(), Cause::none);
  own.close();
  self.fiber.delist();
}

TEST(Look, KnowsWhichChildrenStopWithIt) {
  Runner self;
  Scope out(Kind::nursery, &self.fiber);
  Scope stopped(Kind::plain, &self.fiber);
  Scope in(Kind::nursery, &self.fiber);
  Scope foreign(Kind::nursery, nullptr);
  EXPECT_FALSE(stops_with(self.fiber, &in));  // nothing is stopped
  (void)stopped.stop(Cause::cancel);
  EXPECT_TRUE(stops_with(self.fiber, &in));
  EXPECT_FALSE(stops_with(self.fiber, &out));
  EXPECT_FALSE(stops_with(self.fiber, &foreign));
  EXPECT_FALSE(stops_with(self.fiber, nullptr));
}

TEST(Look, DoesNotCountItsBaseAsItsOwn) {
  Scope base(Kind::nursery, nullptr);
  Runner self(&base);
  Scope own(Kind::nursery, &self.fiber);
  (void)base.stop(Cause::cancel);
  EXPECT_TRUE(stops_with(self.fiber, &own));
  EXPECT_FALSE(stops_with(self.fiber, &base));
}

// An owner, its child, and that one's child: each on a stack of its own.
struct Family3 {
  Runner owner;
  Scope scope{Kind::plain, &owner.fiber};
  Scope nursery{Kind::nursery, &owner.fiber};
  Runner child{&nursery};
  Scope inner{Kind::nursery, &child.fiber};
  Runner grandchild{&inner};

  // Asked by nobody whom the stop told.
  Stop asks() {
    const auto why = stop_around(grandchild.fiber.scope, grandchild.fiber);
    EXPECT_EQ(why, stop_of(grandchild.fiber));
    return why;
  }
};

// Invariants P5, P6
TEST(Look, GoesPastAnOwnerWhoDidNotLook) {
  Family3 f;
  EXPECT_EQ(f.asks(), Stop::none);
  EXPECT_EQ(f.asks(), Stop::none);  // by the count
  EXPECT_EQ(f.scope.stop(Cause::deadline), nullptr);
  EXPECT_EQ(f.asks(), Stop::timed_out);
  EXPECT_EQ(f.nursery.cause(), Cause::none);
  EXPECT_EQ(f.grandchild.looks(), Stop::timed_out);
  EXPECT_EQ(f.inner.cause(), Cause::outer_deadline);
  EXPECT_EQ(f.nursery.cause(), Cause::outer_deadline);
  f.grandchild.fiber.delist();
}

TEST(Look, StopsNothingOutsideOfTheFiberThatIsCancelled) {
  Family3 f;
  EXPECT_EQ(f.asks(), Stop::none);
  EXPECT_EQ(cancel(f.child.fiber), nullptr);
  EXPECT_EQ(f.asks(), Stop::cancelled);
  EXPECT_EQ(f.grandchild.looks(), Stop::cancelled);
  EXPECT_EQ(f.inner.cause(), Cause::outer_cancel);
  EXPECT_EQ(f.nursery.cause(), Cause::none);
  f.grandchild.fiber.delist();
}

// The owner's shield holds off even from who goes through shields of its own.
TEST(Look, DoesNotGoThroughTheShieldOfAnOwner) {
  Runner owner;
  Scope scope(Kind::plain, &owner.fiber);
  Scope shield(Kind::shield, &owner.fiber);
  Scope nursery(Kind::nursery, &owner.fiber);
  Runner child(&nursery);
  (void)scope.stop(Cause::cancel);
  EXPECT_EQ(stop_from(child.fiber.scope, child.fiber, true), Stop::none);
  Scope own(Kind::shield, &child.fiber);
  (void)nursery.stop(Cause::deadline);
  EXPECT_EQ(stop_from(child.fiber.scope, child.fiber), Stop::none);
  EXPECT_EQ(stop_from(child.fiber.scope, child.fiber, true), Stop::timed_out);
}

// H runs G in place, and G runs T: the tower of the tests below.
struct Tower {
  Runner host;
  Scope scope{Kind::plain, &host.fiber};
  Scope nursery{Kind::nursery, &host.fiber};
  Runner guest{&nursery};
  Scope inner{Kind::nursery, &guest.fiber};
  Runner top{&inner};

  Tower() { host.lend(guest); }
};

// Invariant P4
TEST(Guest, IsToldInItsHostsPlace) {
  Tower t;
  EXPECT_EQ(t.guest.looks(), Stop::none);
  EXPECT_TRUE(t.host.fiber.word.must_look());  // for who told it before
  t.guest.park();
  EXPECT_EQ(all(t.scope.stop(Cause::cancel)), Fibers{&t.guest.fiber});
  EXPECT_EQ(stop_of(t.guest.fiber), Stop::cancelled);
  EXPECT_EQ(t.nursery.cause(), Cause::none);
  t.guest.fiber.word.resume(1);
  EXPECT_EQ(t.guest.looks(), Stop::cancelled);
  EXPECT_EQ(t.nursery.cause(), Cause::outer_cancel);
  t.host.take_back(t.guest);
}

// Invariant P4
TEST(Guest, IsToldWhenItsHostIsCancelled) {
  Tower t;
  EXPECT_EQ(t.guest.looks(), Stop::none);
  t.guest.park();
  EXPECT_EQ(all(cancel(t.host.fiber)), Fibers{&t.guest.fiber});
  EXPECT_FALSE(t.guest.fiber.word.cancelled());
  EXPECT_EQ(stop_of(t.guest.fiber), Stop::cancelled);
  t.host.take_back(t.guest);
}

// Invariant P4: whoever told the top has not told who goes on.
TEST(Guest, LooksAgainWhenItsOwnGuestHasEnded) {
  Tower t;
  EXPECT_EQ(t.guest.looks(), Stop::none);
  t.guest.lend(t.top);
  (void)t.scope.stop(Cause::cancel);
  EXPECT_FALSE(t.guest.fiber.word.must_look());
  t.guest.take_back(t.top);
  EXPECT_EQ(t.host.stack.owner.load(relaxed), &t.guest.fiber);
  EXPECT_TRUE(t.guest.fiber.word.must_look());
  EXPECT_EQ(t.guest.looks(), Stop::cancelled);
  t.host.take_back(t.guest);
  EXPECT_EQ(t.host.looks(), Stop::cancelled);
}

// Invariant P2
TEST(ScopeRace, MissesNoStop) {
  Watchdog watchdog;
  for (int round = 0; round < 3000; ++round) {
    Runner self;
    Scope scope(Kind::plain, &self.fiber);
    std::thread stopper([&] { (void)scope.stop(Cause::cancel); });
    std::thread other([&] { (void)self.fiber.word.nudge(); });
    auto why = Stop::none;
    while (why == Stop::none) {
      if (!self.fiber.word.must_look()) {
        std::this_thread::yield();
        continue;
      }
      why = self.looks();
    }
    stopper.join();
    other.join();
    ASSERT_EQ(why, Stop::cancelled);
  }
}

}  // namespace
}  // namespace weft::fiber
