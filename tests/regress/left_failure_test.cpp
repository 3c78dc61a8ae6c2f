// What a nursery that nobody joined had failed with was lost if its fiber ended
// by a cancel, and at the root of a run if a destructor left it.

#include <gtest/gtest.h>

#include <chrono>

#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using namespace std::chrono_literals;

class LeftFailureTest : public test::RuntimeTest {};

Status fail() { return Error::user(9); }

TEST_F(LeftFailureTest, OfACancelledFiberReachesItsNursery) {
  Runtime runtime = start(1);
  EXPECT_TRUE(runtime.run([] {
    Nursery nursery;
    auto child = nursery.spawn([]() -> Status {
      Nursery inner({.on_failure = OnFailure::wait_for_all});  // not joined
      (void)inner.spawn(fail).wait();
      return this_fiber::sleep_for(1h);
    });
    this_fiber::yield();
    child.cancel();
    EXPECT_EQ(child.join().error(), Errc::cancelled);
    const Status end = nursery.join();
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error(), Error::user(9));
  }));
}

TEST_F(LeftFailureTest, OfACancelledFiberThatLeftNoneIsNone) {
  Runtime runtime = start(1);
  EXPECT_TRUE(runtime.run([] {
    Nursery nursery;
    auto child = nursery.spawn([]() -> Status {
      Nursery inner;
      inner.spawn([] {});
      return this_fiber::sleep_for(1h);
    });
    this_fiber::yield();
    child.cancel();
    EXPECT_TRUE(nursery.join());
  }));
}

struct FailsAtTheEnd {
  bool armed = false;
  ~FailsAtTheEnd() {
    if (!armed) return;
    Nursery nursery;  // not joined
    (void)nursery.spawn(fail).wait();
  }
};

TEST_F(LeftFailureTest, OfALocalOfTheRootIsTheRuns) {
  static const FiberLocal<FailsAtTheEnd> local;
  Runtime runtime = start(1);
  const auto end = runtime.run([] {
    local->armed = true;
    return 7;
  });
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error(), Error::user(9));
}

TEST_F(LeftFailureTest, OfALocalDoesNotHideTheRootsOwn) {
  static const FiberLocal<FailsAtTheEnd> local;
  Runtime runtime = start(1);
  const auto end = runtime.run([]() -> Status {
    local->armed = true;
    return Error::user(3);
  });
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error(), Error::user(3));
}

}  // namespace
}  // namespace weft
