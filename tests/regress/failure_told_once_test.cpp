// A child failed and its task was dropped while its locals were destroyed: the
// fiber went on once more to destroy its result, and told of its failure again.

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>

#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

class FailureToldOnceTest : public test::WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, FailureToldOnceTest,
                         ::testing::Values(1u, 2u));

struct WaitsAtTheEnd {
  Event* begun = nullptr;
  Event* go_on = nullptr;
  ~WaitsAtTheEnd() {
    if (begun == nullptr) return;
    const Shield shield;
    begun->set();
    EXPECT_TRUE(go_on->wait());
  }
};

TEST_P(FailureToldOnceTest, WhenTheTaskIsDroppedAtTheEnd) {
  static const FiberLocal<WaitsAtTheEnd> local;
  in_fiber([] {
    Event ending;
    Event dropped;
    Nursery nursery({.on_failure = OnFailure::wait_for_all});
    std::optional<Task<>> task = nursery.spawn([&] {
      local->begun = &ending;
      local->go_on = &dropped;
      throw std::runtime_error("once");
    });
    EXPECT_TRUE(ending.wait());
    task.reset();
    dropped.set();
    EXPECT_THROW((void)nursery.join(), std::runtime_error);
    EXPECT_EQ(nursery.failures().size(), 1u);
  });
}

}  // namespace
}  // namespace weft
