// heap_test.cpp: what a spawn allocates. Counts every operator new of this
// program.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace {
std::atomic<std::size_t> allocations{0};
std::atomic<bool> refuse_arrays{false};
}  // namespace

// Not inlined: the compiler would see a free() of what new gave.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size != 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

[[gnu::noinline]] void* operator new(std::size_t size,
                                     const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size != 0 ? size : 1);
}
// What weft asks for where it can do without.
[[gnu::noinline]] void* operator new[](std::size_t size,
                                       const std::nothrow_t&) noexcept {
  return refuse_arrays ? nullptr : std::malloc(size != 0 ? size : 1);
}
[[gnu::noinline]] void* operator new[](std::size_t size) {
  return ::operator new(size);
}
[[gnu::noinline]] void operator delete[](void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace weft {
namespace {

class HeapTest : public test::RuntimeTest {
 protected:
  // What `count` spawns in one nursery allocate, their end included.
  template <typename Body>
  static std::size_t allocated_by(int count, const Body& body) {
    const std::size_t before = allocations;
    Nursery nursery;
    for (int i = 0; i < count; ++i) nursery.spawn(body);
    EXPECT_TRUE(nursery.join());
    return allocations - before;
  }
};

// R-FIBER-08
TEST_F(HeapTest, SmallClosuresLieInTheirFrames) {
  const int count = test::scaled(100'000);
  Runtime runtime = start(2);
  std::atomic<std::int64_t> sum{0};
  ASSERT_TRUE(runtime.run([&] {
    const std::array<std::int64_t, 4> numbers{1, 2, 3, 4};
    const auto small = [&sum, numbers] { sum += numbers[3]; };
    EXPECT_EQ(allocated_by(count, small), 0u);
  }));
  EXPECT_EQ(sum, std::int64_t{4} * count);
}

TEST_F(HeapTest, LargeClosuresShareTheMemoryOfTheirNursery) {
  constexpr int kCount = 1000;
  Runtime runtime = start(2);
  ASSERT_TRUE(runtime.run([] {
    const std::array<std::int64_t, 20> numbers{};
    const auto large = [numbers] { EXPECT_EQ(numbers[19], 0); };
    EXPECT_EQ(allocated_by(kCount, large), 1u);  // the arena
  }));
}

// Functions side by side, and few handles; of more only a list.
TEST_F(HeapTest, CombinatorsAllocateOnlyWhatTheyGive) {
  Runtime runtime = start(2);
  ASSERT_TRUE(runtime.run([](Nursery& nursery) {
    const auto one = [] { return 1; };
    const std::size_t before = allocations;
    EXPECT_TRUE(all(one, one, one));
    EXPECT_TRUE(race(one, one, one));
    EXPECT_TRUE(any(one, one, one));
    std::array<Task<int>, 16> tasks;
    for (auto& task : tasks) task = nursery.spawn(one);
    EXPECT_TRUE(join_race(tasks));
    const auto winner = join_any(tasks).value();
    tasks[winner.index] = nursery.spawn(one);
    EXPECT_EQ(allocations - before, 0u);
    EXPECT_TRUE(join_all(tasks));
    EXPECT_EQ(allocations - before, 1u);  // the vector
  }));
}

TEST_F(HeapTest, ManyHandlesAreRefusedWithoutMemory) {
  Runtime runtime = start(1);
  ASSERT_TRUE(runtime.run([](Nursery& nursery) {
    std::array<Task<int>, 17> tasks;
    for (auto& task : tasks) task = nursery.spawn([] { return 1; });
    refuse_arrays = true;
    const auto first = join_race(tasks);
    const auto winner = join_any(tasks);
    refuse_arrays = false;
    EXPECT_EQ(first.error(), Errc::exhausted);
    EXPECT_EQ(winner.error(), Errc::exhausted);
    EXPECT_EQ(join_all(tasks).value().size(), tasks.size());
  }));
}

// A sleep that cannot be timed says so at once.
TEST_F(HeapTest, NoMemoryForATimerIsAnError) {
  Runtime runtime = start(1);
  ASSERT_TRUE(runtime.run([](Nursery& nursery) {
    refuse_arrays = true;
    const auto slept = this_fiber::sleep_for(std::chrono::hours(1));
    auto task = nursery.spawn([] {});
    const auto joined = task.join(Deadline::after(std::chrono::hours(1)));
    refuse_arrays = false;
    EXPECT_EQ(slept.error(), Errc::exhausted);
    EXPECT_EQ(joined.error(), Errc::exhausted);
    EXPECT_TRUE(task.join());  // it goes on
  }));
}

}  // namespace
}  // namespace weft
