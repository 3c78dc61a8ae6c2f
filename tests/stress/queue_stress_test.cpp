// queue_stress_test.cpp: real threads on every queue. Every item must come out
// exactly once, and in order where order is promised.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/asymmetric.hpp"
#include "base/rng.hpp"
#include "queue/global_queue.hpp"
#include "queue/private_queue.hpp"
#include "queue/ring.hpp"
#include "queue/work_deque.hpp"
#include "support/side_by_side.hpp"

namespace weft::queue {
namespace {

using test::side_by_side;

#if defined(WEFT_SYMMETRIC)  // under ThreadSanitizer
constexpr std::size_t kScale = 1;
#else
constexpr std::size_t kScale = 10;
#endif

// The sum of 1 .. n: what came out, if each number came out once.
constexpr std::uint64_t triangle(std::uint64_t n) { return n * (n + 1) / 2; }

struct Item {
  Item* next = nullptr;
  std::uint64_t number = 0;
  unsigned producer = 0;
};

std::vector<Item> numbered(std::size_t count, unsigned producer = 0) {
  std::vector<Item> items(count);
  for (std::size_t i = 0; i < count; ++i) {
    items[i].number = i + 1;
    items[i].producer = producer;
  }
  return items;
}

// What one thread took.
struct Tally {
  std::uint64_t sum = 0;
  std::array<std::uint64_t, 2> last{};  // per producer
  std::uint64_t disorder = 0;

  void add(const Item* item) {
    if (item == nullptr) return;
    sum += item->number;
    disorder += item->number <= last[item->producer];
    last[item->producer] = item->number;
  }
};

// A number that travels as a pointer: ten million need no memory.
struct Token;
Token* token(std::uint64_t number) { return reinterpret_cast<Token*>(number); }
std::uint64_t number(Token* t) { return reinterpret_cast<std::uint64_t>(t); }

// The owner keeps one or two tasks in the deque, so that nearly every pop
// meets the thieves at the last one.
TEST(WorkDequeStress, TheLastTaskGoesToExactlyOneSide) {
  const std::uint64_t count = 1'000'000 * kScale;
  WorkDeque<Token, 4> deque;
  std::atomic<bool> done{false};
  std::array<std::uint64_t, 3> sums{};
  std::array<std::uint64_t, 3> disorder{};
  const auto owner = [&] {
    base::Rng rng(1);
    for (std::uint64_t next = 1; next <= count;) {
      for (auto burst = 1 + rng.below(2); burst > 0 && next <= count; --burst) {
        if (deque.push(token(next))) ++next;
      }
      while (Token* task = deque.pop()) sums[0] += number(task);
    }
    done.store(true);
  };
  const auto thief = [&](std::size_t self) {
    std::uint64_t last = 0;
    while (!done.load()) {
      Token* const task = deque.steal().task;
      if (task == nullptr) continue;
      sums[self] += number(task);
      disorder[self] += number(task) <= last;  // it takes the oldest
      last = number(task);
    }
  };
  side_by_side({owner, [&] { thief(1); }, [&] { thief(2); }});
  EXPECT_TRUE(deque.maybe_empty());
  EXPECT_EQ(sums[0] + sums[1] + sums[2], triangle(count));
  EXPECT_EQ(disorder[1] + disorder[2], 0u);
}

TEST(WorkDequeStress, AFullDequeLosesNothing) {
  const std::size_t count = 200'000 * kScale;
  auto items = numbered(count);
  WorkDeque<Item, 8> deque;
  std::atomic<bool> done{false};
  std::uint64_t popped = 0;
  Tally stolen;
  const auto owner = [&] {
    for (auto& item : items) {
      while (!deque.push(&item)) {
        if (Item* task = deque.pop()) popped += task->number;
      }
    }
    while (Item* task = deque.pop()) popped += task->number;
    done.store(true);
  };
  const auto thief = [&] {
    while (!done.load()) stolen.add(deque.steal().task);
  };
  side_by_side({owner, thief});
  EXPECT_EQ(popped + stolen.sum, triangle(count));
  EXPECT_EQ(stolen.disorder, 0u);
}

// The owner moves batches in and out while thieves work at the other end.
TEST(WorkDequeStress, ABatchIsNeverSharedWithAThief) {
  constexpr std::size_t kBatch = 6;
  const std::size_t count = 200'000 * kScale;
  auto items = numbered(count);
  WorkDeque<Item, 16> deque;
  std::atomic<bool> done{false};
  std::uint64_t popped = 0;
  std::array<Tally, 2> stolen;
  const auto owner = [&] {
    std::array<Item*, kBatch> batch;
    const auto drain = [&] {
      for (;;) {
        const auto taken = deque.pop_batch(batch.data(), kBatch);
        for (std::size_t i = 0; i < taken; ++i) popped += batch[i]->number;
        if (taken != 0) continue;
        Item* const task = deque.pop();
        if (task == nullptr) return;
        popped += task->number;
      }
    };
    for (std::size_t next = 0; next < count;) {
      const auto size = std::min(kBatch, count - next);
      for (std::size_t i = 0; i < size; ++i) batch[i] = &items[next + i];
      if (deque.push_batch(batch.data(), size)) {
        next += size;
      } else {
        drain();
      }
    }
    drain();
    done.store(true);
  };
  const auto thief = [&](Tally& tally) {
    while (!done.load()) tally.add(deque.steal().task);
  };
  side_by_side({owner, [&] { thief(stolen[0]); }, [&] { thief(stolen[1]); }});
  EXPECT_EQ(popped + stolen[0].sum + stolen[1].sum, triangle(count));
  EXPECT_EQ(stolen[0].disorder + stolen[1].disorder, 0u);
}

TEST(RingStress, ManyProducersAndConsumersKeepTheOrderOfEach) {
  const std::size_t each = 100'000 * kScale;
  Ring<Item> ring;
  ASSERT_TRUE(ring.init(64));
  std::array parts{numbered(each, 0), numbered(each, 1)};
  std::atomic<std::uint64_t> left{2 * each};
  std::array<Tally, 2> tallies;
  const auto producer = [&](std::vector<Item>& part) {
    for (auto& item : part) {
      while (!ring.push(&item)) std::this_thread::yield();
    }
  };
  const auto consumer = [&](Tally& tally) {
    while (left.load() != 0) {
      const auto taken = ring.take();
      tally.add(taken.item);
      if (taken.item != nullptr) {
        left.fetch_sub(1);
      } else {
        std::this_thread::yield();
      }
    }
  };
  side_by_side({[&] { producer(parts[0]); }, [&] { consumer(tallies[0]); },
                [&] { producer(parts[1]); }, [&] { consumer(tallies[1]); }});
  EXPECT_TRUE(ring.maybe_empty());
  EXPECT_EQ(tallies[0].sum + tallies[1].sum, 2 * triangle(each));
  EXPECT_EQ(tallies[0].disorder + tallies[1].disorder, 0u);
}

TEST(PrivateQueueStress, ARaidAndItsOwnerNeverShareAnItem) {
  const std::size_t count = 10'000 * kScale;
  auto items = numbered(count);
  PrivateQueue<Item, 16> queue;
  std::atomic<bool> done{false};
  std::array<Tally, 3> tallies;
  const auto owner = [&] {
    std::array<Item*, 4> oldest;
    for (auto& item : items) {
      if (item.number % 8 == 1) {
        if (const Item* const turn = queue.begin_turn()) {
          tallies[0].add(turn);
          queue.end_turn(&item);
          continue;
        }
      }
      while (!queue.push_back(&item)) tallies[0].add(queue.pop_front());
      if (item.number % 4 == 0) tallies[0].add(queue.pop_front());
      if (item.number % 64 == 0) {
        const auto taken = queue.pop_oldest(oldest.data(), oldest.size());
        for (std::size_t i = 0; i < taken; ++i) tallies[0].add(oldest[i]);
      }
    }
    // The rest is the raiders': the owner is out, nothing stops them.
    while (queue.size_hint() != 0) std::this_thread::yield();
    done.store(true);
  };
  const auto raider = [&](std::size_t self) {
    std::array<Item*, 8> loot;
    while (!done.load()) {
      const auto taken = queue.raid(loot.data(), 4 * self);
      for (std::size_t i = 0; i < taken; ++i) tallies[self].add(loot[i]);
    }
  };
  side_by_side({owner, [&] { raider(1); }, [&] { raider(2); }});
  EXPECT_EQ(queue.size_hint(), 0u);
  EXPECT_GT(tallies[1].sum + tallies[2].sum, 0u);
  EXPECT_EQ(tallies[0].sum + tallies[1].sum + tallies[2].sum, triangle(count));
  for (const auto& tally : tallies) EXPECT_EQ(tally.disorder, 0u);
}

// Bursts overflow a tiny ring while others empty it: the list appears and
// vanishes all the time. When all is quiet, whatever is left must be visible.
TEST(GlobalQueueStress, BurstsThatEmptyAgainLoseNothing) {
  constexpr std::size_t kBurst = 64;
  const std::size_t rounds = 1'000 * kScale;
  GlobalQueue<Item> queue;
  ASSERT_TRUE(queue.init(4));
  std::array parts{numbered(kBurst, 0), numbered(kBurst, 1)};
  std::barrier gate(3);
  std::array<Tally, 3> tallies;
  std::uint64_t wrong = 0;

  // Pushes one by one and chains of eight, and takes now and then.
  const auto worker = [&](std::size_t self) {
    auto& mine = parts[self];
    for (std::size_t round = 0; round < rounds; ++round) {
      gate.arrive_and_wait();
      for (std::size_t i = 0; i < kBurst;) {
        if (i % 16 == 0) {
          for (std::size_t k = i; k < i + 7; ++k) mine[k].next = &mine[k + 1];
          queue.push_list(&mine[i], &mine[i + 7]);
          i += 8;
        } else {
          queue.push(&mine[i++]);
        }
        if (i % 3 == 0) tallies[self].add(queue.take().item);
      }
      gate.arrive_and_wait();
    }
  };
  // Takes as well, and collects what is left when the others are done.
  const auto collector = [&] {
    for (std::size_t round = 0; round < rounds; ++round) {
      for (auto& tally : tallies) tally = {};
      gate.arrive_and_wait();
      for (std::size_t i = 0; i < kBurst; ++i) {
        tallies[2].add(queue.take().item);
      }
      gate.arrive_and_wait();
      while (!queue.maybe_empty()) {
        Item* const item = queue.take().item;
        wrong += item == nullptr;  // visible, yet not to be had
        if (item == nullptr) break;
        tallies[2].add(item);
      }
      std::uint64_t sum = 0;
      for (const auto& tally : tallies) sum += tally.sum;
      wrong += sum != 2 * triangle(kBurst);
    }
  };
  side_by_side({[&] { worker(0); }, [&] { worker(1); }, collector});
  EXPECT_EQ(wrong, 0u);
}

// With one pusher no reserved slot can lie before its own items: its order
// holds through ring, list and the moves between them.
TEST(GlobalQueueStress, OnePushersOrderSurvivesTheOverflow) {
  const std::size_t count = 100'000 * kScale;
  GlobalQueue<Item> queue;
  ASSERT_TRUE(queue.init(4));
  auto items = numbered(count);
  std::atomic<std::uint64_t> left{count};
  std::array<Tally, 2> tallies;
  const auto pusher = [&] {
    for (auto& item : items) {
      // In waves: the list comes and goes.
      if (item.number % 512 == 0) {
        while (queue.size_hint() > 64) std::this_thread::yield();
      }
      queue.push(&item);
    }
  };
  const auto taker = [&](Tally& tally) {
    while (left.load() != 0) {
      Item* const item = queue.take().item;
      if (item == nullptr) {
        std::this_thread::yield();
        continue;
      }
      tally.add(item);
      left.fetch_sub(1);
    }
  };
  side_by_side(
      {pusher, [&] { taker(tallies[0]); }, [&] { taker(tallies[1]); }});
  EXPECT_EQ(tallies[0].sum + tallies[1].sum, triangle(count));
  EXPECT_EQ(tallies[0].disorder + tallies[1].disorder, 0u);
}

// A ring of four slots and about a thousand items at a time.
TEST(GlobalQueueStress, ManyPushersAndTakersPastASmallRing) {
  const std::size_t each = 50'000 * kScale;
  GlobalQueue<Item> queue;
  ASSERT_TRUE(queue.init(4));
  std::array parts{numbered(each, 0), numbered(each, 1)};
  std::atomic<std::uint64_t> left{2 * each};
  std::atomic<int> inside{0};
  std::array<Tally, 2> tallies;
  const auto pusher = [&](std::vector<Item>& part) {
    for (auto& item : part) {
      while (inside.load() >= 1024) std::this_thread::yield();
      inside.fetch_add(1);
      queue.push(&item);
    }
  };
  const auto taker = [&](Tally& tally) {
    while (left.load() != 0) {
      Item* const item = queue.take().item;
      if (item == nullptr) {
        std::this_thread::yield();
        continue;
      }
      tally.add(item);
      inside.fetch_sub(1);
      left.fetch_sub(1);
    }
  };
  side_by_side({[&] { pusher(parts[0]); }, [&] { taker(tallies[0]); },
                [&] { taker(tallies[1]); }, [&] { pusher(parts[1]); }});
  EXPECT_TRUE(queue.maybe_empty());
  EXPECT_EQ(tallies[0].sum + tallies[1].sum, 2 * triangle(each));
}

}  // namespace
}  // namespace weft::queue
