#include "time/timer_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/rng.hpp"

namespace weft::time {
namespace {

TimerNode* pop(TimerHeap& heap, std::int64_t now) {
  const std::lock_guard guard(heap.lock);
  return heap.pop_expired(now);
}

TEST(TimerHeap, StartsWithoutADeadline) {
  TimerHeap heap;
  EXPECT_EQ(heap.next_deadline(), kNever);
  EXPECT_EQ(pop(heap, kNever), nullptr);
}

TEST(TimerHeap, PopsOnlyWhatIsDue) {
  TimerHeap heap;
  TimerNode a, b;
  ASSERT_TRUE(heap.arm(a, 10) && heap.arm(b, 20));
  EXPECT_EQ(pop(heap, 9), nullptr);
  EXPECT_EQ(pop(heap, 10), &a);
  EXPECT_EQ(pop(heap, 19), nullptr);
  EXPECT_EQ(pop(heap, 100), &b);
  EXPECT_EQ(pop(heap, 100), nullptr);
}

TEST(TimerHeap, PublishesTheEarliestDeadline) {
  TimerHeap heap;
  TimerNode a, b, c;
  ASSERT_TRUE(heap.arm(a, 20));
  EXPECT_EQ(heap.next_deadline(), 20);
  ASSERT_TRUE(heap.arm(b, 10));
  EXPECT_EQ(heap.next_deadline(), 10);
  ASSERT_TRUE(heap.arm(c, 30));
  EXPECT_EQ(heap.next_deadline(), 10);
  EXPECT_TRUE(heap.disarm(b));
  EXPECT_EQ(heap.next_deadline(), 20);
  EXPECT_EQ(pop(heap, 25), &a);
  EXPECT_EQ(heap.next_deadline(), 30);
  EXPECT_TRUE(heap.disarm(c));
  EXPECT_EQ(heap.next_deadline(), kNever);
}

TEST(TimerHeap, EqualDeadlinesPopInTheOrderInserted) {
  TimerHeap heap;
  std::vector<TimerNode> nodes(1000);
  for (auto& node : nodes) ASSERT_TRUE(heap.arm(node, 7));
  for (auto& node : nodes) ASSERT_EQ(pop(heap, 7), &node);
}

TEST(TimerHeap, RemovingWhatIsNotThereDoesNothing) {
  TimerHeap heap;
  TimerHeap other;
  TimerNode fresh, popped, elsewhere;
  EXPECT_FALSE(heap.disarm(fresh));
  ASSERT_TRUE(heap.arm(popped, 1));
  EXPECT_EQ(pop(heap, 1), &popped);
  EXPECT_FALSE(heap.disarm(popped));
  ASSERT_TRUE(other.arm(elsewhere, 1));
  EXPECT_FALSE(heap.disarm(elsewhere));
  EXPECT_TRUE(other.disarm(elsewhere));
  EXPECT_FALSE(other.disarm(elsewhere));
}

TEST(TimerHeap, ANodeMayBeUsedAgain) {
  TimerHeap heap;
  TimerNode node;
  for (int round = 0; round < 10; ++round) {
    ASSERT_TRUE(heap.arm(node, round));
    ASSERT_EQ(pop(heap, round), &node);
    ASSERT_TRUE(heap.arm(node, round));
    ASSERT_TRUE(heap.disarm(node));
  }
}

TEST(TimerHeap, AFullArrayRefusesUntilItGrows) {
  TimerHeap heap;
  std::vector<TimerNode> nodes(1000);
  std::size_t refused = 0;
  for (auto& node : nodes) {
    node.when = 5;
    heap.lock.lock();
    while (!heap.insert(node)) {
      ++refused;
      heap.lock.unlock();
      ASSERT_TRUE(heap.grow());
      heap.lock.lock();
    }
    heap.lock.unlock();
  }
  EXPECT_GE(refused, 1u);
  EXPECT_LE(refused, 10u);  // it doubles
  const std::lock_guard guard(heap.lock);
  EXPECT_EQ(heap.size(), nodes.size());
}

// The same steps on a heap and on a sorted map.
TEST(TimerHeap, AgreesWithASortedMapOverRandomSteps) {
  base::Rng rng(42);
  TimerHeap heap;
  std::vector<TimerNode> nodes(500);
  std::multimap<std::int64_t, TimerNode*> expected;  // keeps insertion order
  const auto forget = [&](TimerNode* node) {
    auto [first, last] = expected.equal_range(node->when);
    expected.erase(
        std::find_if(first, last, [&](auto& e) { return e.second == node; }));
  };
  for (int step = 0; step < 100'000; ++step) {
    auto& node = nodes[rng.below(500)];
    if (node.index == TimerNode::kOut) {
      ASSERT_TRUE(heap.arm(node, rng.below(200)));
      expected.emplace(node.when, &node);
    } else if (rng.below(2) == 0) {
      ASSERT_TRUE(heap.disarm(node));
      forget(&node);
    } else {
      const std::int64_t now = rng.below(100);
      const auto first = expected.begin();
      TimerNode* const due = first->first <= now ? first->second : nullptr;
      ASSERT_EQ(pop(heap, now), due);
      if (due != nullptr) expected.erase(first);
    }
    ASSERT_EQ(heap.next_deadline(),
              expected.empty() ? kNever : expected.begin()->first);
  }
  for (auto& [when, node] : expected) ASSERT_EQ(pop(heap, kNever), node);
  EXPECT_EQ(pop(heap, kNever), nullptr);
}

TEST(TimerHeap, GrowsWhileOthersUseIt) {
  TimerHeap heap;
  constexpr std::size_t kEach = 5000;
  std::vector<std::vector<TimerNode>> nodes(3);
  for (auto& part : nodes) part.resize(kEach);
  std::vector<std::thread> threads;
  for (auto& part : nodes) {
    threads.emplace_back([&heap, &part] {
      for (std::size_t i = 0; i < part.size(); ++i) {
        ASSERT_TRUE(heap.arm(part[i], static_cast<std::int64_t>(i)));
        if (i % 3 == 0) {
          EXPECT_TRUE(heap.disarm(part[i]));
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::int64_t last = -1;
  std::size_t count = 0;
  while (TimerNode* node = pop(heap, kNever)) {
    ASSERT_LE(last, node->when);
    last = node->when;
    ++count;
  }
  EXPECT_EQ(count, 3 * (kEach - (kEach + 2) / 3));
}

}  // namespace
}  // namespace weft::time
