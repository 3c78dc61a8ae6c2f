// charged_signal_test.cpp: checks in a signal handler, which may have
// interrupted whoever has a lock.
#include <gtest/gtest.h>
#include <signal.h>

#include "support/runtime_test.hpp"
#include "wait/purse.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class ChargedSignalTest : public test::WorkersTest {
 protected:
  // The handler has a stack of its own: the worker's, for overflows.
  void SetUp() override {
    WorkersTest::SetUp();
    struct sigaction how {};
    how.sa_handler = [](int /*number*/) {
      yield_check();
      paid_ = charge_syscall();
      ++handled_;
    };
    how.sa_flags = SA_ONSTACK;
    ASSERT_EQ(::sigaction(SIGUSR1, &how, &former_), 0);
    handled_ = 0;
  }
  void TearDown() override {
    ::sigaction(SIGUSR1, &former_, nullptr);
    WorkersTest::TearDown();
  }

  // Interrupts the fiber when it counts itself as exhausted, under the lock of
  // its pool.
  struct Interrupt final : detail::License {
    void give_back() noexcept override {}
    void lacks(Resource /*what*/) noexcept override { ::raise(SIGUSR1); }
  };

  static inline int handled_ = 0;
  static inline Status paid_;

 private:
  struct sigaction former_ {};
};
INSTANTIATE_TEST_SUITE_P(Workers, ChargedSignalTest, ::testing::Values(1u, 2u));

TEST_P(ChargedSignalTest, TakesNoLock) {
  in_fiber([] {
    Interrupt interrupt;
    Nursery nursery({.budget = Budget::service()});
    auto child = nursery.spawn({.budget = Budget{.syscalls = 1}}, [&] {
      waiting::Purse::of(*sched::carrier().current)->hold(interrupt);
      yield_check();
    });
    EXPECT_EQ(nursery.wait_exhausted().value().resource, Resource::ops);
    EXPECT_GE(handled_, 1);
    EXPECT_EQ(paid_.error(), Error::out_of(Resource::ops));
    EXPECT_TRUE(nursery.recharge(child.id(), {.ops = 1}));
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ChargedSignalTest, PaysWithWhatTheFiberHas) {
  in_fiber([] {
    Nursery nursery({.budget = Budget::service()});
    nursery.spawn({.budget = Budget{.ops = 5, .syscalls = 1}}, [] {
      ::raise(SIGUSR1);
      EXPECT_TRUE(paid_);
      EXPECT_EQ(this_fiber::ledger().left, Budget{.ops = 3});
    });
    EXPECT_TRUE(nursery.join());
  });
}

}  // namespace
}  // namespace weft
