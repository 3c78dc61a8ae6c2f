// nursery_leave_test.cpp: the ways out of a nursery.
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::await_parked;
using namespace std::chrono_literals;

class NurseryLeaveTest : public test::WorkersTest {
 protected:
  static Status sleep_long() { return this_fiber::sleep_for(1h); }
  static Status fail_with_seven() { return Error::user(7); }
};
INSTANTIATE_TEST_SUITE_P(Workers, NurseryLeaveTest, ::testing::Values(1u, 2u));

TEST_P(NurseryLeaveTest, CancelsInItsDestructor) {
  in_fiber([] {
    Status end;
    {
      Nursery nursery;
      auto child = nursery.spawn([&] { end = sleep_long(); });
      await_parked(child);
    }
    EXPECT_EQ(end.error(), Errc::cancelled);
    EXPECT_TRUE(this_fiber::checkpoint());
  });
}

TEST_P(NurseryLeaveTest, FailsWithTheFirstFailureInTime) {
  in_fiber([] {
    Nursery nursery;
    nursery.spawn(sleep_long);
    EXPECT_EQ(nursery.fail(Error::user(1)), Error::user(1));
  });
  in_fiber([] {
    Nursery nursery;
    (void)nursery.spawn(fail_with_seven).wait();
    EXPECT_EQ(nursery.fail(Error::user(1)), Error::user(7));
  });
}

TEST_P(NurseryLeaveTest, WithNurseryCancelsOnAnError) {
  in_fiber([] {
    const auto end = with_nursery([](Nursery& nursery) -> Result<int> {
      nursery.spawn(sleep_long);
      return Error::user(3);
    });
    EXPECT_EQ(end.error(), Error::user(3));
    EXPECT_THROW((void)with_nursery([](Nursery& nursery) {
                   nursery.spawn(sleep_long);
                   throw std::runtime_error("out");
                 }),
                 std::runtime_error);
    const auto late =
        with_nursery({.deadline = Deadline::after(1ms)},
                     [](Nursery& nursery) { nursery.spawn(sleep_long); });
    EXPECT_EQ(late.error(), Errc::timed_out);
  });
}

TEST_P(NurseryLeaveTest, WaitsForTheChildrenOfABodyThatReturns) {
  in_fiber([] {
    std::atomic<int> finished{0};
    Nursery nursery;
    nursery.spawn([&](Nursery& own) {
      for (int i = 0; i < 10; ++i) {
        own.spawn([&] {
          this_fiber::yield();
          ++finished;
        });
      }
    });
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(finished, 10);
  });
}

TEST_P(NurseryLeaveTest, StopsTheChildrenOfABodyThatFails) {
  in_fiber([] {
    Nursery nursery;
    nursery.spawn([](Nursery& own) -> Status {
      own.spawn(sleep_long);
      return Error::user(7);
    });
    EXPECT_EQ(nursery.join().error(), Error::user(7));
  });
}

TEST_P(NurseryLeaveTest, AnErrorThatIsNoneIsInvalid) {
  in_fiber([] {
    Nursery nursery;
    auto task = nursery.spawn([]() -> Result<int> { return Errc{}; });
    EXPECT_EQ(task.join().error(), Errc::invalid);
    EXPECT_EQ(nursery.join().error(), Errc::invalid);
    Nursery other;
    EXPECT_EQ(other.fail(Errc{}), Errc::invalid);
  });
}

}  // namespace
}  // namespace weft
