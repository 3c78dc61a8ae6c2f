// A result that nobody took was destroyed when its fiber had ended already and
// had no stack any more: a destructor that waits had nothing to leave.

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <utility>

#include "stress/scale.hpp"
#include "support/gate.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

std::atomic<int> destroyed{0};

// Waits when it goes, as a destructor that takes a lock does.
class WaitsAtTheEnd {
 public:
  WaitsAtTheEnd() = default;
  WaitsAtTheEnd(WaitsAtTheEnd&& other) noexcept
      : full_(std::exchange(other.full_, false)) {}
  WaitsAtTheEnd& operator=(WaitsAtTheEnd&&) = delete;
  ~WaitsAtTheEnd() {
    if (!full_) return;
    static const FiberLocal<int> visits(0);
    const auto self = this_fiber::id();
    for (int i = 0; i < 3; ++i) {
      this_fiber::yield();
      ++*visits;
    }
    EXPECT_EQ(this_fiber::id(), self);
    EXPECT_EQ(*visits % 3, 0);
    const Shield shield;  // its fiber may be cancelled
    Nursery nursery;
    nursery.spawn([] { this_fiber::yield(); });
    EXPECT_TRUE(nursery.join());
    ++destroyed;
  }

 private:
  bool full_ = true;
};

class WaitingDestructorTest : public test::WorkersTest {
 protected:
  void SetUp() override {
    destroyed = 0;
    WorkersTest::SetUp();
  }
};

TEST_P(WaitingDestructorTest, OfAResultNobodyTook) {
  const int rounds = test::scaled(2000);
  in_fiber([&] {
    Nursery nursery;
    for (int i = 0; i < rounds; ++i) {
      (void)nursery.spawn([] { return WaitsAtTheEnd(); });
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(destroyed, rounds);  // the join waited for that as well
  });
}

// The handle goes while the fiber ends.
TEST_P(WaitingDestructorTest, OfAResultWhoseHandleIsDroppedLate) {
  const int rounds = test::scaled(2000);
  in_fiber([&] {
    Nursery nursery;
    for (int i = 0; i < rounds; ++i) {
      auto task = nursery.spawn([] { return WaitsAtTheEnd(); });
      for (int yields = i % 4; yields > 0; --yields) this_fiber::yield();
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(destroyed, rounds);
  });
}

TEST_P(WaitingDestructorTest, OfAnExceptionNobodyCaught) {
  struct Thrown : std::runtime_error, WaitsAtTheEnd {
    Thrown() : std::runtime_error("thrown") {}
  };
  in_fiber([&] {
    Nursery nursery;
    for (int i = 0; i < 50; ++i) {
      (void)nursery.spawn([]() -> int { throw Thrown(); });
    }
    EXPECT_THROW((void)nursery.join(), Thrown);
  });
}

TEST_P(WaitingDestructorTest, OfAClosureThatIsCancelledBeforeItStarts) {
  in_fiber([&] {
    Nursery nursery;
    for (int i = 0; i < 50; ++i) {
      auto task = nursery.spawn([end = WaitsAtTheEnd()] {});
      task.cancel();
    }
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(destroyed, 50);
  });
}

// A local's destructor waits until the handle is dropped: then the result goes
// last of all, by a fiber that had ended already.
TEST_P(WaitingDestructorTest, OfAResultDroppedAtTheLastMoment) {
  static test::Gate* gate = nullptr;
  struct Local {
    bool armed = false;
    ~Local() {
      if (!armed) return;
      EXPECT_TRUE(gate->pass());
    }
  };
  static const FiberLocal<Local> local;
  for (int round = 0; round < 20; ++round) {
    test::Gate both;
    gate = &both;
    destroyed = 0;
    in_fiber([&] {
      Nursery nursery;
      {
        auto task = nursery.spawn([] {
          local->armed = true;
          return WaitsAtTheEnd();
        });
        while (both.waiting() == 0) this_fiber::yield();
      }
      both.open();
      EXPECT_TRUE(nursery.join());
      EXPECT_EQ(destroyed, 1);
    });
  }
}

// A nursery in such a destructor fails, and nobody joins it.
TEST_P(WaitingDestructorTest, TellsTheNurseryWhatFailsInIt) {
  struct Fails {
    bool armed = false;
    ~Fails() {
      if (!armed) return;
      Nursery inner;
      (void)inner.spawn([]() -> Status { return Error::user(9); }).wait();
    }
  };
  static const FiberLocal<Fails> local;
  in_fiber([&] {
    Nursery nursery;
    nursery.spawn([] { local->armed = true; });
    EXPECT_EQ(nursery.join().error(), Error::user(9));
  });
}

INSTANTIATE_TEST_SUITE_P(Workers, WaitingDestructorTest,
                         ::testing::Values(1u, 2u, 4u));

}  // namespace
}  // namespace weft
