// join_storm_test.cpp: random trees of nurseries, ended in every way at once.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "base/rng.hpp"
#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using base::Rng;

class JoinStormTest : public test::WorkersTest {};

struct Thrown : std::exception {
  explicit Thrown(std::uint64_t s) : seed(s) {}
  std::uint64_t seed;
};

enum class Kind : std::uint32_t { value, error, exception, cancelled, dropped };

// What the node of this seed does; the same each time it is asked.
struct Plan {
  explicit Plan(std::uint64_t seed) : rng(seed) {
    const auto dice = rng.below(16);
    kind = dice < 10   ? Kind::value
           : dice < 11 ? Kind::error
           : dice < 12 ? Kind::exception
           : dice < 14 ? Kind::cancelled
                       : Kind::dropped;
    children = rng.below(5);
    yields = rng.below(3);
  }
  Rng rng;
  Kind kind;
  std::uint32_t children;
  std::uint32_t yields;
};

constexpr int error_of(std::uint64_t seed) {
  return static_cast<int>(seed & 0x7FFFFFFF) | 1;
}

// The value of a node: a hash of its seed and of its children that give one.
std::uint64_t value_of(std::uint64_t seed, int depth) {
  Plan plan(seed);
  auto value = seed;
  for (std::uint32_t i = 0; depth > 0 && i < plan.children; ++i) {
    const auto child = seed * 31 + i + 1;
    if (Plan(child).kind == Kind::value) {
      value = value * 1099511628211u + value_of(child, depth - 1);
    }
  }
  return value;
}

Result<std::uint64_t> run_node(std::uint64_t seed, int depth);

struct Child {
  std::uint64_t seed;
  std::uint32_t index;
  Task<std::uint64_t> task;
  std::uint64_t value = 0;
};

// Some joins give up first and come again.
Result<std::uint64_t> join(Child& child, Rng& rng) {
  if (rng.below(3) == 0) {
    const auto soon = Deadline::after(std::chrono::microseconds(rng.below(20)));
    auto early = child.task.join(soon);
    if (early || !(early.error() == Errc::timed_out)) return early;
  }
  if (rng.below(4) == 0) {
    EXPECT_TRUE(child.task.wait());
    EXPECT_TRUE(child.task.done());
    return child.task.try_join();
  }
  return child.task.join();
}

void expect_end(Child& child, Rng& rng, int depth) {
  switch (Plan(child.seed).kind) {
    case Kind::value:
      child.value = join(child, rng).value();
      EXPECT_EQ(child.value, value_of(child.seed, depth));
      break;
    case Kind::error:
      EXPECT_EQ(join(child, rng).error().value(), error_of(child.seed));
      break;
    case Kind::exception:
      try {
        (void)join(child, rng);
        ADD_FAILURE() << "the exception is lost";
      } catch (const Thrown& thrown) {
        EXPECT_EQ(thrown.seed, child.seed);
      }
      break;
    case Kind::cancelled: {
      child.task.cancel();
      const auto end = join(child, rng);
      if (end) {
        EXPECT_EQ(*end, value_of(child.seed, depth));
      } else {
        EXPECT_EQ(end.error(), Errc::cancelled);
      }
      break;
    }
    case Kind::dropped:
      child.task = {};
      break;
  }
}

void spawn_and_end(std::uint64_t seed, int depth, std::uint64_t& value) {
  Plan plan(seed);
  Nursery nursery({.on_failure = OnFailure::wait_for_all});
  std::vector<Child> children;
  bool error = false;
  bool exception = false;
  for (std::uint32_t i = 0; i < plan.children; ++i) {
    const auto child = seed * 31 + i + 1;
    const auto kind = Plan(child).kind;
    error |= kind == Kind::error;
    exception |= kind == Kind::exception;
    children.push_back({child, i, nursery.spawn([child, depth] {
                          return run_node(child, depth - 1);
                        })});
  }
  for (std::size_t i = children.size(); i > 1; --i) {  // any order
    std::swap(children[i - 1],
              children[plan.rng.below(static_cast<std::uint32_t>(i))]);
  }
  for (auto& child : children) expect_end(child, plan.rng, depth - 1);
  std::sort(children.begin(), children.end(),
            [](const Child& a, const Child& b) { return a.index < b.index; });
  for (const auto& child : children) {
    if (Plan(child.seed).kind == Kind::value) {
      value = value * 1099511628211u + child.value;
    }
  }
  // The nursery tells of a failure if there was one, whoever took it before.
  try {
    const auto end = nursery.join();
    EXPECT_EQ(end.has_value(), !error && !exception);
    if (!end) {
      EXPECT_EQ(end.error(), Errc::failed);
    }
  } catch (const Thrown&) {
    EXPECT_TRUE(exception);
  }
}

Result<std::uint64_t> run_node(std::uint64_t seed, int depth) {
  Plan plan(seed);
  for (std::uint32_t i = 0; i < plan.yields; ++i) this_fiber::yield();
  if (plan.kind == Kind::error) return Error::user(error_of(seed));
  if (plan.kind == Kind::exception) throw Thrown(seed);
  if (plan.kind == Kind::cancelled) {  // may have heard of it by now
    if (Status end = this_fiber::checkpoint(); !end) return end.error();
    return value_of(seed, depth);
  }
  auto value = seed;
  if (depth > 0) spawn_and_end(seed, depth, value);
  return value;
}

// R-JOIN-03 R-JOIN-05 R-SPAWN-08 R-CTRL-06
TEST_P(JoinStormTest, EveryNodeOfATreeGivesWhatItShould) {
  const int trees = test::scaled(GetParam() > 4 ? 300 : 600);
  in_fiber([&] {
    Nursery forest;
    constexpr int kAtOnce = 4;
    for (int part = 0; part < kAtOnce; ++part) {
      forest.spawn([part, trees] {
        for (int i = part; i < trees; i += kAtOnce) {
          auto seed = static_cast<std::uint64_t>(i) * 7919 + 1;
          while (Plan(seed).kind != Kind::value) ++seed;
          ASSERT_EQ(run_node(seed, 5).value(), value_of(seed, 5));
        }
      });
    }
    EXPECT_TRUE(forest.join());
  });
}

INSTANTIATE_TEST_SUITE_P(Workers, JoinStormTest,
                         ::testing::Values(1u, 2u, 4u, 16u));

}  // namespace
}  // namespace weft
