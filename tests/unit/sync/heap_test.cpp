// heap_test.cpp: what a wait allocates, and what it does without memory. Counts
// every operator new of this program.

#include <gtest/gtest.h>
#include <malloc.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <vector>

#include "support/parked.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace {
std::atomic<std::size_t> allocations{0};
std::atomic<bool> refuse_arrays{false};
std::atomic<std::size_t> channel_bytes{0};  // in use
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
// What a channel is made of.
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t align,
                                     const std::nothrow_t&) noexcept {
  ++allocations;
  const auto unit = static_cast<std::size_t>(align);
  void* const memory =
      std::aligned_alloc(unit, (size + unit - 1) / unit * unit);
  channel_bytes += malloc_usable_size(memory);
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory,
                                       std::align_val_t) noexcept {
  channel_bytes -= malloc_usable_size(memory);
  std::free(memory);
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

using test::await_parked;
using namespace std::chrono_literals;

class SyncHeapTest : public test::RuntimeTest {
 protected:
  // What a wait of another fiber allocates, and the call that ends it.
  template <typename Wait, typename End>
  static void expect_nothing_allocated(Wait wait, End end) {
    Nursery nursery;
    const std::size_t before = allocations;
    auto waiter = nursery.spawn([&] { EXPECT_TRUE(wait()); });
    await_parked(waiter);
    end();
    EXPECT_TRUE(waiter.join());
    EXPECT_EQ(allocations - before, 0u);
    EXPECT_TRUE(nursery.join());
  }
};

// R-FUT-03
TEST_F(SyncHeapTest, WaitsAllocateNothing) {
  Runtime runtime = start(2);
  ASSERT_TRUE(runtime.run([] {
    Future<> done;
    expect_nothing_allocated([&] { return done.wait(); }, [&] { done.set(); });
    std::deque<Future<>> several(16);
    std::vector<AnyFuture*> all;
    for (auto& one : several) all.push_back(&one);
    expect_nothing_allocated([&] { return wait_any(all); },
                             [&] { several.back().set(); });
    Futex futex;
    expect_nothing_allocated([&] { return futex.wait(1); },
                             [&] { futex.post(); });
    Semaphore semaphore(0);
    expect_nothing_allocated([&] { return semaphore.acquire(); },
                             [&] { semaphore.release(); });
    Latch latch(1);
    expect_nothing_allocated([&] { return latch.wait(); },
                             [&] { latch.count_down(); });
    Barrier barrier(2);
    expect_nothing_allocated([&] { return barrier.arrive_and_wait(); },
                             [&] { EXPECT_TRUE(barrier.arrive_and_wait()); });
    Sequencer sequencer;
    expect_nothing_allocated([&] { return sequencer.wait(1); },
                             [&] { sequencer.increment(); });
    Event event;
    expect_nothing_allocated([&] { return event.wait(); },
                             [&] { event.set(); });
    Mutex mutex;
    ConditionVariable changed;
    expect_nothing_allocated(
        [&] {
          std::unique_lock hold(mutex);
          return changed.wait(hold);
        },
        [&] { changed.notify_one(); });
  }));
}

TEST_F(SyncHeapTest, LocksAllocateNothing) {
  Runtime runtime = start(2);
  ASSERT_TRUE(runtime.run([] {
    Mutex mutex;
    mutex.lock();
    expect_nothing_allocated([&] { return mutex.acquire(); },
                             [&] { mutex.unlock(); });
    FairMutex fair;
    fair.lock();
    expect_nothing_allocated([&] { return fair.acquire(); },
                             [&] { fair.unlock(); });
    SharedMutex shared;
    shared.lock();
    expect_nothing_allocated([&] { return shared.acquire_shared(); },
                             [&] { shared.unlock(); });
    const std::size_t before = allocations;
    FairMutex::Future turn;
    fair.lock(turn);
    EXPECT_TRUE(turn.wait());
    fair.unlock();
    EXPECT_EQ(allocations - before, 0u);
  }));
}

TEST_F(SyncHeapTest, ChannelsAreAllocatedOnce) {
  Runtime runtime = start(2);
  ASSERT_TRUE(runtime.run([] {
    for (const std::size_t capacity : {0u, 1u, 128u}) {
      std::size_t before = allocations;
      auto channel = make_channel<int>(capacity, {.name = "numbers"});
      EXPECT_EQ(allocations - before, 1u);
      before = allocations;
      auto sender = channel.sender;
      int values[8] = {};
      for (int i = 0; i < 1'000; ++i) {
        if (!sender.try_send(i)) break;
        EXPECT_TRUE(channel.receiver.receive());
      }
      if (capacity == 128) {
        EXPECT_EQ(sender.send_many(values).value(), 8u);
        EXPECT_EQ(channel.receiver.receive_many(values, 8).value(), 8u);
      }
      EXPECT_EQ(allocations - before, 0u);
      expect_nothing_allocated([&] { return channel.receiver.receive(); },
                               [&] { EXPECT_TRUE(sender.send(1)); });
      while (sender.try_send(1)) {
      }
      expect_nothing_allocated(
          [&] { return sender.send(2); },
          [&] { EXPECT_TRUE(channel.receiver.receive()); });
    }
  }));
}

// C-12: as much as who waits needs, and as long as it is not received.
TEST_F(SyncHeapTest, AClosedChannelHasRoomForThoseWhoWaited) {
  using Page = std::array<char, 4096>;
  Runtime runtime = start(1);
  ASSERT_TRUE(runtime.run([] {
    for (const std::size_t waiting : {1u, 3u, 100u}) {
      auto channel = make_channel<Page>(1);
      Page page{};
      ASSERT_TRUE(channel.sender.send(page));
      const std::size_t before = channel_bytes;
      Nursery nursery;
      for (std::size_t i = 0; i < waiting; ++i) {
        await_parked(
            nursery.spawn([&] { EXPECT_TRUE(channel.sender.send(page)); }));
      }
      channel.sender.close();
      EXPECT_GE(channel_bytes - before, waiting * sizeof(Page));
      EXPECT_LE(channel_bytes - before, (waiting + 4) * sizeof(Page));
      ASSERT_TRUE(channel.receiver.receive());
      for (std::size_t left = waiting; left > 0; --left) {
        EXPECT_LE(channel_bytes - before, (left + 4 + 64) * sizeof(Page));
        ASSERT_TRUE(channel.receiver.receive());
      }
      EXPECT_EQ(channel_bytes, before);
      EXPECT_TRUE(nursery.join());
    }
  }));
}

TEST_F(SyncHeapTest, SelectAllocatesNothing) {
  Runtime runtime = start(2);
  ASSERT_TRUE(runtime.run([] {
    auto one = make_channel<int>(0);
    auto other = make_channel<int>(1);
    Event event;
    Future<int> future;
    Selector selector(2);
    EXPECT_TRUE(selector.add(on_receive(one.receiver, [](Result<int>) {})));
    EXPECT_TRUE(selector.add(on_event(event, [] {})));
    expect_nothing_allocated(
        [&] {
          return select(on_receive(one.receiver, [](Result<int>) {}),
                        on_receive(other.receiver, [](Result<int>) {}),
                        on_event(event, [] {}), on_set(future, [] {}));
        },
        [&] { EXPECT_TRUE(other.sender.send(1)); });
    expect_nothing_allocated([&] { return selector.wait(); },
                             [&] { EXPECT_TRUE(one.sender.send(1)); });
  }));
}

// Without memory for its timer a wait says so, and nothing has happened.
TEST_F(SyncHeapTest, NoMemoryForATimerIsAnError) {
  Runtime runtime = start(1);
  ASSERT_TRUE(runtime.run([] {
    Future<int> answer;
    Futex futex;
    Semaphore semaphore(0);
    Latch latch(1);
    WaitGroup group;
    group.add();
    Barrier barrier(2);
    Sequencer sequencer;
    Mutex mutex;
    ConditionVariable changed;
    Mutex held;
    FairMutex held_fair;
    SharedMutex held_shared;
    KeyedMutex<int> locks;
    auto channel = make_channel<int>(0);
    std::scoped_lock all(held, held_fair, held_shared);
    const auto key = locks.acquire(1);
    Nursery nursery;
    nursery.spawn([&] {
      std::unique_lock hold(mutex);
      const auto later = Deadline::after(1h);
      refuse_arrays = true;
      EXPECT_EQ(answer.wait(later).error(), Errc::exhausted);
      EXPECT_EQ(futex.wait(1, later).error(), Errc::exhausted);
      EXPECT_EQ(semaphore.acquire(later).error(), Errc::exhausted);
      EXPECT_EQ(latch.wait(later).error(), Errc::exhausted);
      EXPECT_EQ(group.wait(later).error(), Errc::exhausted);
      EXPECT_EQ(barrier.arrive_and_wait(later).error(), Errc::exhausted);
      EXPECT_EQ(sequencer.wait(1, later).error(), Errc::exhausted);
      EXPECT_EQ(changed.wait(hold, later).error(), Errc::exhausted);
      EXPECT_TRUE(hold.owns_lock());
      EXPECT_EQ(channel.sender.send(1, later).error(), Errc::exhausted);
      EXPECT_EQ(channel.receiver.receive(later).error(), Errc::exhausted);
      EXPECT_EQ(select(on_receive(channel.receiver, [](Result<int>) {}),
                       on_deadline(later, [] {}))
                    .error(),
                Errc::exhausted);
      EXPECT_EQ(held.acquire(later).error(), Errc::exhausted);
      EXPECT_EQ(held_fair.acquire(later).error(), Errc::exhausted);
      EXPECT_EQ(held_shared.acquire(later).error(), Errc::exhausted);
      EXPECT_EQ(held_shared.acquire_shared(later).error(), Errc::exhausted);
      EXPECT_EQ(locks.acquire(1, later).error(), Errc::exhausted);
      refuse_arrays = false;
    });
    EXPECT_TRUE(nursery.join());
    EXPECT_EQ(locks.keys_in_use(), 1u);
    EXPECT_FALSE(answer.is_set());
    EXPECT_EQ(channel.sender.try_send(1).error(), Errc::would_block);
    EXPECT_EQ(channel.receiver.try_receive().error(), Errc::would_block);
    EXPECT_FALSE(semaphore.try_acquire());
    group.done();
    Nursery again;
    auto other = again.spawn([&] { return barrier.arrive_and_wait(); });
    await_parked(other);  // it is the first again
    EXPECT_TRUE(barrier.arrive_and_wait());
    EXPECT_TRUE(other.join());
    EXPECT_TRUE(again.join());
  }));
}

TEST_F(SyncHeapTest, NoMemoryForManyFuturesIsAnError) {
  Runtime runtime = start(1);
  ASSERT_TRUE(runtime.run([] {
    std::deque<Future<>> many(17);
    std::vector<AnyFuture*> all;
    for (auto& one : many) all.push_back(&one);
    many[3].set();
    refuse_arrays = true;
    const auto end = wait_any(all);
    const auto few = wait_any(std::span(all).first(16));
    refuse_arrays = false;
    EXPECT_EQ(end.error(), Error::out_of(Resource::memory));
    EXPECT_EQ(few.value(), 3u);
    EXPECT_EQ(wait_any(all).value(), 3u);
  }));
}

}  // namespace
}  // namespace weft
