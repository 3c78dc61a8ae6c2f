// arena_test.cpp: the memory of a nursery, and what it costs.
#include "scope/arena.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <new>
#include <string>
#include <vector>

#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include "support/spending.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using scope::Arena;
using test::await_exhausted;

TEST(ArenaBlocks, AreAlignedBehindASmallOne) {
  Arena arena;
  for (int i = 0; i < 4; ++i) {
    ASSERT_NE(arena.take(32, 8), nullptr);
    void* const block = arena.take(64, 64);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0u);
  }
}

TEST(ArenaBlocks, AreAlignedAndApart) {
  Arena arena;
  struct Block {
    std::byte* at;
    std::size_t bytes;
    std::size_t align;
  };
  std::vector<Block> blocks;
  for (const std::size_t bytes :
       {1u, 31u, 33u, 100u, 4096u, 8192u, 8193u, 70'000u, 0u, 1'000'000u}) {
    for (const std::size_t align : {1u, 16u, 64u, 128u, 4096u}) {
      auto* const at = static_cast<std::byte*>(arena.take(bytes, align));
      ASSERT_NE(at, nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % align, 0u);
      std::memset(at, static_cast<int>(blocks.size()), bytes);
      blocks.push_back({at, bytes, align});
    }
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_TRUE(std::all_of(
        blocks[i].at, blocks[i].at + blocks[i].bytes,
        [i](std::byte b) { return b == static_cast<std::byte>(i); }));
  }
  // Half of it by hand, the rest with the arena.
  for (std::size_t i = 0; i < blocks.size(); i += 2) {
    arena.give(blocks[i].at, blocks[i].bytes, blocks[i].align);
  }
}

TEST(ArenaBlocks, ServeTheNextOfTheirSize) {
  Arena arena;
  void* const first = arena.take(100, 8);
  arena.give(first, 100, 8);
  EXPECT_EQ(arena.take(120, 16), first);
  EXPECT_NE(arena.take(100, 8), first);
}

TEST(ArenaBlocks, OfAbsurdSizesAreRefused) {
  Arena arena;
  EXPECT_EQ(arena.take(~std::size_t{0}, 8), nullptr);
  EXPECT_EQ(arena.take(~std::size_t{0} - 64, 64), nullptr);
}

class ArenaTest : public test::WorkersTest {};
INSTANTIATE_TEST_SUITE_P(Workers, ArenaTest, ::testing::Values(1u, 2u));

// R-BUDGET-06
TEST_P(ArenaTest, AMeteredFiberPaysForItsMemory) {
  in_fiber([] {
    Nursery nursery({.budget = Budget::service()});
    auto child =
        nursery.spawn({.budget = Budget{.ops = 10, .memory = 1000}}, [&] {
          auto* const memory = nursery.memory();
          void* const block = memory->allocate(600);
          EXPECT_EQ(this_fiber::ledger().left,
                    (Budget{.ops = 9, .memory = 400}));
          memory->deallocate(block, 600);
          EXPECT_EQ(this_fiber::ledger().left,
                    (Budget{.ops = 9, .memory = 1000}));
          std::pmr::vector<int> numbers(memory);
          numbers.reserve(100);
          EXPECT_EQ(this_fiber::ledger().left.memory, 600u);
        });
    EXPECT_TRUE(child.join());
    EXPECT_TRUE(nursery.join());
    std::pmr::string text(1000, 'x', nursery.memory());  // costs nobody
    EXPECT_EQ(text.size(), 1000u);
  });
}

// R-ERR-01
TEST_P(ArenaTest, WhoIsOutOfMemoryWaitsForIt) {
  in_fiber([] {
    Nursery nursery({.budget = Budget::service()});
    auto child =
        nursery.spawn({.budget = Budget{.ops = 10, .memory = 1000}}, [&] {
          (void)nursery.memory()->allocate(1500);
          return this_fiber::ledger().left.memory;
        });
    const auto found = nursery.wait_exhausted();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->resource, Resource::memory);
    EXPECT_TRUE(nursery.recharge(found->fiber, {.memory = 600}));
    EXPECT_EQ(child.join().value(), 100u);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ArenaTest, WhoMustStopGetsNone) {
  in_fiber([] {
    Nursery nursery({.budget = Budget::service()});
    auto child =
        nursery.spawn({.budget = Budget{.ops = 10, .memory = 1000}}, [&] {
          EXPECT_THROW((void)nursery.memory()->allocate(1500), std::bad_alloc);
        });
    await_exhausted(child);
    nursery.cancel();
    EXPECT_TRUE(child.join());
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ArenaTest, WhatANurseryHeldIsItsFibersAgain) {
  in_fiber([] {
    Nursery outer({.budget = Budget::service()});
    auto child = outer.spawn(
        {.budget = Budget{.ops = 100, .memory = 5000, .spawn_count = 1}}, [] {
          {
            Nursery own({.budget = Budget{
                             .ops = 50, .memory = 3000, .spawn_count = 1}});
            own.spawn({.budget = Budget{.ops = 10, .memory = 2000}},
                      [&] { (void)own.memory()->allocate(1500); });
            EXPECT_TRUE(own.join());
            EXPECT_EQ(this_fiber::ledger().left.memory, 3500u);
          }
          return this_fiber::ledger().left.memory;
        });
    EXPECT_EQ(child.join().value(), 5000u);
    EXPECT_TRUE(outer.join());
  });
}

// R-FIBER-08: large closures live there, and are destroyed where they were.
TEST_P(ArenaTest, LargeClosuresAreMovedOutOfIt) {
  in_fiber([] {
    std::array<std::int64_t, 100> numbers{};
    numbers[99] = 7;
    Nursery nursery;
    std::vector<Task<std::int64_t>> tasks;
    for (int i = 0; i < 100; ++i) {
      tasks.push_back(nursery.spawn([numbers] { return numbers[99]; }));
    }
    for (auto& task : tasks) EXPECT_EQ(task.join().value(), 7);
    struct Throws {
      Throws() = default;
      Throws(const Throws& /*other*/) { throw 5; }
      std::array<char, 200> bytes{};
    } const thrower;
    EXPECT_THROW(nursery.spawn([](const Throws&) {}, thrower), int);
    EXPECT_TRUE(nursery.join());
  });
}

TEST_P(ArenaTest, ALoopOfAllocationsKeepsNoWorkerToItself) {
  in_fiber([] {
    std::atomic<bool> begun{false};
    std::atomic<bool> ran{false};
    Nursery nursery;
    auto& memory = *nursery.memory();
    nursery.spawn({.budget = Budget::unlimited()}, [&] {
      begun = true;
      while (!ran) memory.deallocate(memory.allocate(16), 16);
    });
    while (!begun) this_fiber::yield();
    ran = true;
    EXPECT_TRUE(nursery.join());
  });
}

}  // namespace
}  // namespace weft
