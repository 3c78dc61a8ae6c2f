#include "stack/guard.hpp"

#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "stack/slab.hpp"
#include "stack/stack.hpp"

namespace weft::stack {
namespace {

constexpr std::size_t kSize = 64 << 10;

sigjmp_buf escape;

// Writes downwards from `from`; answers the first address that trapped.
std::byte* first_trap_below(std::byte* from, std::byte* limit) {
  struct sigaction action = {};
  struct sigaction former = {};
  action.sa_handler = [](int) { siglongjmp(escape, 1); };
  sigaction(SIGSEGV, &action, &former);
  static std::byte* volatile at;
  at = from;
  if (sigsetjmp(escape, 1) == 0) {
    while (at != limit) {
      *const_cast<volatile std::byte*>(at) = std::byte{0};
      at = at - 1;
    }
  }
  sigaction(SIGSEGV, &former, nullptr);
  return at;
}

class GuardsThatTrap : public ::testing::TestWithParam<GuardKind> {
 protected:
  void SetUp() override {
    if (GetParam() == GuardKind::madvise && !madvise_guards_work()) {
      GTEST_SKIP() << "guards by madvise need Linux 6.13, and no emulator; "
                      "the same test runs with mprotect";
    }
  }
};

TEST_P(GuardsThatTrap, StopTheFirstByteBelowAndSaveTheNeighbour) {
  StackPool pool({.guard = GetParam(), .default_size = kSize});
  ASSERT_EQ(pool.guard(), GetParam());
  std::vector<Stack*> stacks;
  for (int i = 0; i < 8; ++i) {
    stacks.push_back(pool.take(kSize));
    EXPECT_EQ(stacks.back()->guard, GetParam());
  }
  std::sort(stacks.begin(), stacks.end());
  Stack* const neighbour = stacks[3];
  Stack* const victim = stacks[4];
  ASSERT_EQ(victim->low - neighbour->low,
            static_cast<std::ptrdiff_t>(kSize + 2 * page_size()));
  std::byte before[sizeof(Stack)];
  std::memcpy(before, neighbour, sizeof before);
  std::memset(neighbour->low, 0xa5, neighbour->size);

  std::byte* const trapped =
      first_trap_below(victim->low + 100, neighbour->low);
  EXPECT_EQ(trapped, victim->low - 1);
  EXPECT_EQ(first_trap_below(victim->low - page_size(), neighbour->low),
            victim->low - page_size());

  EXPECT_EQ(std::memcmp(before, neighbour, sizeof before), 0);
  EXPECT_TRUE(std::all_of(neighbour->low, neighbour->low + neighbour->size,
                          [](std::byte b) { return b == std::byte{0xa5}; }));
  EXPECT_TRUE(canary_intact(*victim)) << "nothing to ask for";
  for (Stack* stack : stacks) pool.give(stack);
}

TEST_P(GuardsThatTrap, OutliveReuseAndTrim) {
  StackPool pool({.guard = GetParam(), .default_size = kSize});
  ASSERT_EQ(pool.guard(), GetParam());
  Stack* stack = pool.take(kSize);
  std::memset(stack->low, 1, stack->size);
  pool.give(stack);
  EXPECT_GT(pool.trim(), 0u);
  ASSERT_EQ(pool.take(kSize), stack);
  EXPECT_EQ(first_trap_below(stack->low, stack->low - page_size()),
            stack->low - 1);
  pool.give(stack);
}

TEST_P(GuardsThatTrap, GuardTheSmallestClass) {
  StackPool pool({.guard = GetParam()});
  ASSERT_EQ(pool.guard(), GetParam());
  Stack* stack = pool.take(8 << 10);
  EXPECT_EQ(first_trap_below(stack->top() - 1, stack->low - page_size()),
            stack->low - 1);
  pool.give(stack);
}

INSTANTIATE_TEST_SUITE_P(Kinds, GuardsThatTrap,
                         ::testing::Values(GuardKind::madvise,
                                           GuardKind::mprotect),
                         [](const auto& kind) {
                           return kind.param == GuardKind::madvise ? "madvise"
                                                                   : "mprotect";
                         });

TEST(Guard, AutomaticIsTheBestThatWorks) {
  StackPool pool({});
  EXPECT_EQ(pool.guard(),
            madvise_guards_work() ? GuardKind::madvise : GuardKind::mprotect);
}

TEST(Guard, CanaryTellsOfTheFirstByteBelow) {
  StackPool pool({.guard = GuardKind::canary});
  EXPECT_EQ(pool.guard(), GuardKind::canary);
  Stack* stack = pool.take(kSize);
  EXPECT_EQ(stack->guard, GuardKind::canary);
  EXPECT_TRUE(canary_intact(*stack));
  std::memset(stack->low, 0xff, stack->size);
  EXPECT_TRUE(canary_intact(*stack));
  for (const int offset : {-1, -64}) {
    const auto kept = stack->low[offset];
    stack->low[offset] = ~kept;
    EXPECT_FALSE(canary_intact(*stack)) << offset;
    stack->low[offset] = kept;
    EXPECT_TRUE(canary_intact(*stack));
  }
  pool.give(stack);
}

TEST(Guard, PastTheMappingBudgetCanariesTakeOver) {
  StackPool pool({.guard = GuardKind::mprotect,
                  .default_size = kSize,
                  .mapping_budget = 20});
  std::vector<Stack*> stacks;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(pool.guard(), GuardKind::mprotect);
    stacks.push_back(pool.take(kSize));
    EXPECT_EQ(stacks.back()->guard, GuardKind::mprotect);
  }
  stacks.push_back(pool.take(kSize));
  EXPECT_EQ(stacks.back()->guard, GuardKind::canary);
  EXPECT_EQ(pool.guard(), GuardKind::canary);
  for (Stack* stack : stacks) {
    EXPECT_TRUE(canary_intact(*stack));
    pool.give(stack);
  }
}

TEST(Guard, TheBudgetIsTheProcesssAndComesBack) {
  const PoolOptions options{
      .guard = GuardKind::mprotect, .default_size = kSize, .mapping_budget = 2};
  {
    StackPool first(options);
    StackPool second(options);
    Stack* a = first.take(kSize);
    Stack* b = second.take(kSize);
    EXPECT_EQ(a->guard, GuardKind::mprotect);
    EXPECT_EQ(b->guard, GuardKind::canary);
    first.give(a);
    second.give(b);
  }
  StackPool third(options);
  Stack* c = third.take(kSize);
  EXPECT_EQ(c->guard, GuardKind::mprotect);
  third.give(c);
}

TEST(Guard, BudgetIsHalfOfWhatTheKernelAllows) {
  EXPECT_GE(default_mapping_budget(), 1000u);
  EXPECT_LE(default_mapping_budget(), SIZE_MAX / 2);
}

}  // namespace
}  // namespace weft::stack
