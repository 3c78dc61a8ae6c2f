#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/rng.hpp"
#include "stack/slab.hpp"
#include "stack/stack.hpp"
#include "support/death_test.hpp"

namespace weft::stack {
namespace {

constexpr std::size_t kKiB = 1024;

std::size_t mappings_of_process() {
  std::ifstream maps("/proc/self/maps");
  std::size_t lines = 0;
  for (std::string line; std::getline(maps, line);) ++lines;
  return lines;
}

std::size_t length(const Stack* list) {
  std::size_t count = 0;
  for (; list != nullptr; list = list->next) ++count;
  return count;
}

Stack* take_many(StackPool& pool, std::size_t count) {
  Stack* list = nullptr;
  for (std::size_t taken = 0; taken < count;) {
    const auto more = pool.take_batch(list, count - taken);
    EXPECT_GT(more, 0u);
    if (more == 0) break;
    taken += more;
  }
  return list;
}

TEST(StackPool, RefusesSizesOfZeroAndBeyondOneGigabyte) {
  StackPool pool({});
  auto refused = Refused::none;
  EXPECT_EQ(pool.take(0, &refused), nullptr);
  EXPECT_EQ(refused, Refused::invalid_size);
  EXPECT_EQ(pool.take(std::size_t{1} << 40, &refused), nullptr);
  EXPECT_EQ(refused, Refused::invalid_size);
  EXPECT_EQ(pool.take(SIZE_MAX, &refused), nullptr);
  EXPECT_FALSE(StackPool::valid_size(0));
  EXPECT_FALSE(StackPool::valid_size((std::size_t{1} << 30) + 1));
  EXPECT_TRUE(StackPool::valid_size(std::size_t{1} << 30));
  EXPECT_EQ(pool.counts().reserved_bytes, 0u);
}

TEST(StackPool, GivesAtLeastTheSizeAskedFor) {
  StackPool pool({});
  for (const std::size_t size :
       {std::size_t{1}, 8 * kKiB, 8 * kKiB + 1, 64 * kKiB, 200 * kKiB,
        256 * kKiB, 257 * kKiB, 2048 * kKiB, std::size_t{1} << 30}) {
    auto refused = Refused::no_memory;
    Stack* stack = pool.take(size, &refused);
    ASSERT_NE(stack, nullptr) << size;
    EXPECT_EQ(refused, Refused::none);
    EXPECT_GE(stack->size, std::max(size, 8 * kKiB));
    EXPECT_GE(static_cast<std::size_t>(stack->top() - stack->low), stack->size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(stack->top()) % 64, 0u);
    EXPECT_EQ(stack->owner, nullptr);
    EXPECT_EQ(stack->sanitizer, nullptr);
    *stack->low = std::byte{1};
    *(stack->top() - 1) = std::byte{1};
    pool.give(stack);
  }
}

TEST(StackPool, KeepsTheSizeClassesApart) {
  StackPool pool({});
  Stack* small = pool.take(8 * kKiB);
  Stack* large = pool.take(2048 * kKiB);
  pool.give(small);
  pool.give(large);
  EXPECT_EQ(pool.take(2000 * kKiB), large);
  EXPECT_EQ(pool.take(5 * kKiB), small);
  pool.give(small);
  pool.give(large);
}

TEST(StackPool, TakesAnyDefaultSize) {
  StackPool pool({.default_size = 100'000});
  EXPECT_EQ(pool.default_size() % page_size(), 0u);
  EXPECT_GE(pool.default_size(), 100'000u);
  Stack* stack = pool.take(100'000);
  EXPECT_EQ(stack->size, pool.default_size());
  EXPECT_EQ(stack->size_class, 0);
  pool.give(stack);
}

TEST(StackPool, ReusesTheNewestFirst) {
  StackPool pool({});
  Stack* a = pool.take(256 * kKiB);
  Stack* b = pool.take(256 * kKiB);
  ASSERT_NE(a, b);
  pool.give(a);
  pool.give(b);
  EXPECT_EQ(pool.take(256 * kKiB), b);
  EXPECT_EQ(pool.take(256 * kKiB), a);
  EXPECT_EQ(pool.counts().mapped, 2u);
  pool.give(a);
  pool.give(b);
}

TEST(StackPool, MovesBatches) {
  StackPool pool({});
  Stack* list = take_many(pool, 100);
  EXPECT_EQ(length(list), 100u);
  EXPECT_EQ(pool.counts().in_use, 100u);
  pool.give_batch(list);
  EXPECT_EQ(pool.counts().in_use, 0u);
  list = nullptr;
  EXPECT_EQ(pool.take_batch(list, 0), 0u);
  EXPECT_EQ(pool.take_batch(list, 60), 60u);  // in part
  EXPECT_EQ(pool.take_batch(list, 60), 40u);  // the rest, before the list
  EXPECT_EQ(length(list), 100u);
  EXPECT_EQ(pool.counts().mapped, 100u);
  pool.give_batch(list);
  pool.give_batch(nullptr);
  EXPECT_EQ(pool.counts().in_use, 0u);
}

TEST(StackPool, TakesABatchAsItWasGiven) {
  StackPool pool({});
  Stack* list = take_many(pool, 6);
  std::vector<Stack*> order;
  for (Stack* stack = list; stack != nullptr; stack = stack->next) {
    order.push_back(stack);
  }
  pool.give_batch(list, 6);
  list = nullptr;
  EXPECT_EQ(pool.take_batch(list, 4), 4u);
  for (std::size_t i = 0; i < 4; ++i, list = list->next) {
    EXPECT_EQ(list, order[i]);
  }
  EXPECT_EQ(list, nullptr);
  EXPECT_EQ(pool.take(256 * kKiB), order[4]);
  EXPECT_EQ(pool.take(256 * kKiB), order[5]);
  pool.give_batch(order[0], 4);
  pool.give(order[4]);
  pool.give(order[5]);
}

TEST(StackPool, SinglesComeBackAsBatches) {
  StackPool pool({});
  std::vector<Stack*> held;
  for (int i = 0; i < 100; ++i) held.push_back(pool.take(256 * kKiB));
  for (Stack* stack : held) pool.give(stack);
  Stack* list = nullptr;
  std::size_t trips = 0;
  for (std::size_t taken = 0; taken < 100; ++trips) {
    taken += pool.take_batch(list, 32);
  }
  EXPECT_LE(trips, 4u);
  EXPECT_EQ(pool.counts().mapped, 100u);
  pool.give_batch(list);
}

TEST(StackPool, CountsWhatItMapped) {
  StackPool pool({});
  EXPECT_EQ(pool.counts().mapped, 0u);
  Stack* a = pool.take(256 * kKiB);
  Stack* b = pool.take(8 * kKiB);
  EXPECT_EQ(pool.counts().mapped, 2u);
  EXPECT_EQ(pool.counts().in_use, 2u);
  EXPECT_GE(pool.counts().reserved_bytes, 264 * kKiB);
  pool.give(a);
  pool.give(b);
  EXPECT_EQ(pool.counts().mapped, 2u);
  EXPECT_EQ(pool.counts().in_use, 0u);
}

TEST(StackPool, TrimReturnsTouchedPagesAndKeepsTheRecord) {
  StackPool pool({});
  Stack* stack = pool.take(256 * kKiB);
  std::byte* const low = stack->low;
  std::memset(low, 0xee, stack->size);
  pool.give(stack);
  const auto bytes = pool.trim();
  EXPECT_GE(bytes, 256 * kKiB);
  EXPECT_LE(bytes, 260 * kKiB);
  EXPECT_EQ(pool.trim(), 0u) << "what is trimmed stays so";
  ASSERT_EQ(pool.take(256 * kKiB), stack);
  EXPECT_EQ(stack->low, low);
  EXPECT_EQ(*low, std::byte{0});
  pool.give(stack);
}

TEST(StackPool, TrimLeavesTheGuardsInPlace) {
  StackPool pool({.guard = GuardKind::canary});
  Stack* stack = pool.take(256 * kKiB);
  *stack->low = std::byte{1};
  pool.give(stack);
  EXPECT_EQ(pool.trim(), page_size());
  EXPECT_TRUE(canary_intact(*stack));
}

TEST(StackPool, ColoursTheTops) {
  StackPool pool({});
  std::set<std::uintptr_t> offsets;
  Stack* list = take_many(pool, kColours);
  for (Stack* stack = list; stack != nullptr; stack = stack->next) {
    offsets.insert(reinterpret_cast<std::uintptr_t>(stack->top()) %
                   page_size());
  }
  EXPECT_EQ(offsets.size(), kColours);
  pool.give_batch(list);
}

int unmapped = 0;

TEST(StackPool, TellsBeforeItUnmaps) {
  unmapped = 0;
  {
    StackPool pool({.before_unmap = [](Stack&) noexcept { ++unmapped; }});
    Stack* a = pool.take(256 * kKiB);
    Stack* b = pool.take(8 * kKiB);
    pool.give(a);
    pool.give(b);
    EXPECT_EQ(unmapped, 0);
  }
  EXPECT_EQ(unmapped, 2);
}

TEST(StackPool, ManyStacksNeedFewMappings) {
  constexpr std::size_t kStacks = 100'000;
  StackPool pool({.guard = GuardKind::madvise});
  if (!madvise_guards_work()) {
    GTEST_SKIP() << "guards by madvise need Linux 6.13, and no emulator; those "
                    "by mprotect need a mapping each";
  }
  ASSERT_EQ(pool.guard(), GuardKind::madvise);
  const auto before = mappings_of_process();
  Stack* list = take_many(pool, kStacks);
  EXPECT_EQ(pool.counts().mapped, kStacks);
  EXPECT_LT(mappings_of_process(), before + 2000);
  pool.give_batch(list);
  EXPECT_EQ(pool.counts().in_use, 0u);
}

TEST(StackPool, PoolsComeAndGo) {
  const auto before = mappings_of_process();
  for (int i = 0; i < 1000; ++i) {
    StackPool pool({});
    pool.give(pool.take(256 * kKiB));
  }
  EXPECT_LT(mappings_of_process(), before + 20);
}

TEST(StackPoolDeathTest, DiesIfAStackIsMissingAtTheEnd) {
  weft::test::die_in_a_fresh_process();
  EXPECT_DEATH(
      {
        StackPool pool({});
        (void)pool.take(256 * kKiB);
      },
      "1 stacks are in use");
}

// In a process of its own, for whom the system has no more address space.
TEST(StackPoolDeathTest, RefusesWithoutMemoryAndGoesOnAfterwards) {
  weft::test::die_in_a_fresh_process();
  EXPECT_EXIT(
      {
        StackPool pool({});
        rlimit usual;
        getrlimit(RLIMIT_AS, &usual);
        rlimit none = usual;
        none.rlim_cur = 1;
        setrlimit(RLIMIT_AS, &none);
        auto refused = Refused::none;
        bool right = pool.take(256 * kKiB, &refused) == nullptr;
        right = right && refused == Refused::no_memory;
        Stack* list = nullptr;
        right = right && pool.take_batch(list, 4) == 0 && list == nullptr;
        right = right && pool.counts().in_use == 0;
        setrlimit(RLIMIT_AS, &usual);
        Stack* stack = pool.take(256 * kKiB, &refused);
        right = right && stack != nullptr && refused == Refused::none;
        _exit(right ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(StackPoolDeathTest, DiesOfAnInvalidDefaultSize) {
  weft::test::die_in_a_fresh_process();
  EXPECT_DEATH({ StackPool pool({.default_size = 0}); }, "is not valid");
}

// Each thread writes its name all over what it holds; nobody else's appears.
TEST(StackPool, ThreadsNeverShareAStack) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 20'000;
  StackPool pool({});
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id) {
    threads.emplace_back([&pool, id] {
      base::Rng rng(static_cast<std::uint64_t>(id));
      std::vector<Stack*> held;
      for (int round = 0; round < kRounds; ++round) {
        if (held.size() < 32 && rng.below(2) == 0) {
          Stack* stack = pool.take(rng.below(4) == 0 ? 8 * kKiB : 256 * kKiB);
          ASSERT_NE(stack, nullptr);
          std::memset(stack->top() - 64, id, 64);
          stack->owner = &held;
          held.push_back(stack);
        } else if (!held.empty()) {
          Stack* stack = held.back();
          held.pop_back();
          ASSERT_EQ(stack->owner, &held);
          for (int i = 1; i <= 64; ++i) {
            ASSERT_EQ(*(stack->top() - i), static_cast<std::byte>(id));
          }
          pool.give(stack);
        }
        if (round % 1000 == 0) (void)pool.trim();
      }
      for (Stack* stack : held) pool.give(stack);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(pool.counts().in_use, 0u);
  // Each thread holds 32 at most, and trims 64 at a time.
  EXPECT_LE(pool.counts().mapped, std::size_t{kThreads} * (32 + 64));
}

}  // namespace
}  // namespace weft::stack
