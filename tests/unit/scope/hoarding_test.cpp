// hoarding_test.cpp: what a fiber cannot pile up for nothing.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "support/runtime_test.hpp"
#include "unit/scope/capability_fixture.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class HoardingTest : public test::AuthorityTest {};
INSTANTIATE_TEST_SUITE_P(Workers, HoardingTest, ::testing::Values(1u, 2u));

constexpr std::size_t kTold = 64;

TEST_P(HoardingTest, OfRefusedSpawnsAFewAreTold) {
  in_fiber([&] {
    auto none = all().spawn.narrow({.max_tasks = 0, .task_budget = {}}).value();
    test::Sandbox box(all().budget, Budget::service(),
                      {.on_failure = OnFailure::wait_for_all});
    auto bomb = box.spawn(all().spawn, {.budget = Budget::child()}, [&] {
      for (int i = 0; i < 1'000; ++i) (void)box.spawn(none, [] {});
      return Status(Error::user(7));
    });
    EXPECT_EQ(bomb.join().error(), Error::user(7));
    const auto failures = box.failures();
    ASSERT_EQ(failures.size(), kTold + 1);
    EXPECT_EQ(failures.front().error, Errc::denied);
    EXPECT_EQ(failures.back().error, Error::user(7)) << "children are all told";
    EXPECT_EQ(box.join().error(), Errc::denied);
  });
}

TEST_P(HoardingTest, OfFailuresThatAreReportedAFewAreTold) {
  in_fiber([] {
    Nursery nursery({.on_failure = OnFailure::wait_for_all});
    for (int i = 0; i < 1'000; ++i) nursery.fail(Error::user(3));
    EXPECT_EQ(nursery.failures().size(), kTold);
    EXPECT_EQ(nursery.join().error(), Error::user(3));
  });
}

TEST_P(HoardingTest, NamesArePaidFor) {
  in_fiber([] {
    Nursery nursery;
    auto child = nursery.spawn({.budget = Budget{.memory = 1'000}}, [] {
      std::string name(100, 'a');
      int named = 0;
      for (; this_fiber::set_name(name); ++name[0]) {
        ASSERT_LT(++named, 10);
        EXPECT_TRUE(this_fiber::set_name(name)) << "it has that name";
      }
      EXPECT_GT(named, 7);
      EXPECT_EQ(this_fiber::set_name(name).error(),
                Error::out_of(Resource::memory));
      --name[0];
      EXPECT_EQ(this_fiber::name(), name);
    });
    EXPECT_TRUE(child.join());
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(HoardingTest, ALongNameIsCut) {
  in_fiber([] {
    const std::string name(1'000, 'x');
    EXPECT_TRUE(this_fiber::set_name(name));
    EXPECT_EQ(this_fiber::name(), name.substr(0, 255));
    Nursery nursery;
    const auto child = nursery.spawn({.name = name}, [] {});
    EXPECT_EQ(child.name(), name.substr(0, 255));
    EXPECT_TRUE(nursery.join());
  });
}

}  // namespace
}  // namespace weft
