// A join() that answered `exhausted` was no report: the destructor cancels, the
// child is given up, and its `exhausted` ended the program as a failure that
// nobody had been told of.

#include <gtest/gtest.h>

#include <string>

#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using Sandbox = NurseryIn<profile::Sovereign>;

Status plugin(CapSpawn may_spawn) {
  for (;;) {
    WEFT_YIELD_CHECK();
    (void)may_spawn;
  }
}

// What the example of the specification does. Answers what join() says.
Error run_sandbox(RuntimeRef runtime, Capabilities& all) {
  Sandbox sandbox(runtime, all.budget, Budget::service());
  auto ten = all.spawn.narrow({.max_tasks = 10, .task_budget = {}}).value();
  sandbox.spawn(all.spawn, {.name = "plugin", .budget = Budget::child()},
                plugin, std::move(ten));
  if (auto hungry = sandbox.wait_exhausted()) {
    EXPECT_EQ(hungry->resource, Resource::ops);
    EXPECT_TRUE(sandbox.recharge(hungry->fiber, {.ops = 1'000}));
  }
  return sandbox.join().error();
}

class ToldExhaustedTest : public test::RuntimeTest {};

TEST_F(ToldExhaustedTest, EndsNoProgram) {
  auto runtime = start({.workers = 2, .profile = Profile::sovereign});
  auto all = runtime.authority().value();
  EXPECT_EQ(run_sandbox(runtime, all), Error::out_of(Resource::ops));
  expect_empty(runtime);
}

TEST_F(ToldExhaustedTest, IsNoFailureOfTheFiberAround) {
  auto runtime = start({.workers = 2, .profile = Profile::sovereign});
  auto all = runtime.authority().value();
  EXPECT_TRUE(runtime.run([&] {
    EXPECT_EQ(run_sandbox(runtime, all), Error::out_of(Resource::ops));
  }));
}

// Whose own failure came after that is told of all the same.
TEST_F(ToldExhaustedTest, AnswersForNothingElse) {
  auto runtime = start(1);
  const auto end = runtime.run([] {
    Nursery nursery({.budget = Budget::service()});
    auto child = nursery.spawn({.budget = Budget()}, []() -> Status {
      yield_check();
      return Error::user(7);
    });
    EXPECT_EQ(nursery.join().error(), Error::out_of(Resource::ops));
    EXPECT_TRUE(nursery.recharge(child.id(), {.ops = 1}));
    EXPECT_EQ(child.join().error(), Error::user(7));
  });
  EXPECT_EQ(end.error(), Error::user(7));
}

}  // namespace
}  // namespace weft
