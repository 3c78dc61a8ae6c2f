// mutex.hpp: one at a time, under std's guards.
//
//   weft::Mutex mutex;
//   {
//     std::lock_guard hold(mutex);
//     ++count;
//   }
//
// std::lock_guard, unique_lock and scoped_lock work on the first three, and
// shared_lock on SharedMutex. lock() is what they call: it cannot report, so it
// is no cancel point, and a cancelled fiber may lock to clean up. acquire() is
// its timed form, and a cancel point. A lock is owned by the fiber or plain
// thread that took it; a fiber may wait, and go on on another worker, while it
// holds one.
//
// Misuse, which is reported and aborts: locking what one holds already,
// unlocking what one does not hold, destroying a lock that is held or awaited,
// locking under a SpinLock (free or not; try_lock() may). Not noticed: a fiber
// or thread that ends while it holds one, until the lock is destroyed; another
// that is made in its place may pass for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

#include "weft/detail/atomic_word.hpp"
#include "weft/detail/here.hpp"
#include "weft/detail/storage.hpp"
#include "weft/future.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

namespace detail {

struct Locker {
  // Whom a lock belongs to that is taken here; 0: the library must be asked.
  static std::uintptr_t self() noexcept {
#if defined(WEFT_YIELD_CHECKS)  // a check could come in between
    return 0;
#else
    const Here* const here = here_or_null();
    if (here == nullptr) [[unlikely]]
      return 0;
    return here->locker;
#endif
  }
};

}  // namespace detail

// Unfair: whoever comes first after an unlock has it; but who was woken in vain
// for a millisecond, or found the owner waiting for something else, is next.
// Spins for a moment while the owner runs on another worker.
class Mutex {
 public:
  constexpr Mutex() noexcept = default;
  ~Mutex();
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  //   Suspends:  while another holds it. No cancel point.
  //   Ordering:  all that was done under the lock before is visible.
  //   Callers:   fibers and threads, as of all below.
  void lock() {
    if (const auto self = detail::Locker::self()) [[likely]] {
      std::uintptr_t free = 0;
      if (word_.compare_exchange_strong(free, self, std::memory_order_acquire,
                                        std::memory_order_relaxed)) [[likely]] {
        return;
      }
    }
    lock_slow();
  }
  //   Suspends:  never. False: it is held.
  [[nodiscard]] bool try_lock() noexcept;
  //   Suspends:  never. Callers: the owner.
  void unlock() noexcept {
    if (auto self = detail::Locker::self()) [[likely]] {
      if (word_.compare_exchange_strong(self, 0, std::memory_order_release,
                                        std::memory_order_relaxed)) [[likely]] {
        return;
      }
    }
    unlock_slow();
  }
  // if (auto held = mutex.acquire(Deadline::after(1s))) ...
  //   Suspends:  while another holds it. Always a cancel point.
  //   Errors:    cancelled, timed_out, exhausted (memory for the deadline);
  //              then it is not held.
  Result<std::unique_lock<Mutex>> acquire(
      Deadline deadline = Deadline::never());

 private:
  void lock_slow();
  void unlock_slow() noexcept;

  detail::AtomicAddress word_{0};  // the core's first member
  detail::Storage<16> rest_;
};

// Served in the order of arrival: nobody waits longer than those before it.
class FairMutex {
 public:
  // A place in the line that was taken without waiting.
  class Future;

  constexpr FairMutex() noexcept = default;
  ~FairMutex();
  FairMutex(const FairMutex&) = delete;
  FairMutex& operator=(const FairMutex&) = delete;

  // As Mutex.
  void lock();
  [[nodiscard]] bool try_lock() noexcept;  // false also if somebody waits
  void unlock() noexcept;
  Result<std::unique_lock<FairMutex>> acquire(
      Deadline deadline = Deadline::never());
  // Takes a place in the line at once. The caller holds the lock when `turn` is
  // set; then it unlocks, or adopts it (std::adopt_lock).
  //   Suspends:  never. Callers: fibers and threads; `turn` stays theirs.
  void lock(Future& turn) noexcept;

 private:
  friend class Future;
  detail::Storage<24> core_;
};

class FairMutex::Future : public weft::Future<> {
 public:
  Future() noexcept;
  ~Future();  // misuse while it is in line
  // Leaves the line: it is set, with `cancelled`, unless it already was. Who
  // had the lock by then still has it. Nothing if it is in none. It and its
  // mutex live until this returns.
  //   Suspends:  never. Callers: fibers and threads.
  void cancel() noexcept;
  // Makes it new; that of the base class does not. Misuse while it is in line.
  //   Callers: who has both sides.
  void reset() noexcept;

 private:
  using weft::Future<>::set;  // the mutex does
  friend class FairMutex;
  detail::Storage<64> place_;
};

// Many readers or one writer. A writer who waits stops new readers; when a
// writer is done the readers who wait come first.
class SharedMutex {
 public:
  constexpr SharedMutex() noexcept = default;
  ~SharedMutex();
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  // As Mutex.
  void lock();
  [[nodiscard]] bool try_lock() noexcept;
  void unlock() noexcept;
  Result<std::unique_lock<SharedMutex>> acquire(
      Deadline deadline = Deadline::never());
  // To read. Who reads may not lock again, neither way: a writer in between
  // would wait for it, and it for the writer.
  void lock_shared();
  [[nodiscard]] bool try_lock_shared() noexcept;
  void unlock_shared() noexcept;
  Result<std::shared_lock<SharedMutex>> acquire_shared(
      Deadline deadline = Deadline::never());

 private:
  detail::Storage<32> core_;
};

// A lock per key; a key costs nothing while nobody holds or awaits it.
template <typename Key, typename Hash = std::hash<Key>>
class KeyedMutex {
  struct Entry {
    Mutex mutex;
    std::size_t users = 0;  // holds or waits; guarded by the shard's lock
  };
  struct Shard {
    Mutex lock;
    std::unordered_map<Key, Entry, Hash> entries;
  };

 public:
  // Holds the lock of one key until it goes. Callers: the owner.
  class [[nodiscard]] Guard {
   public:
    Guard(Guard&& other) noexcept
        : shard_(std::exchange(other.shard_, nullptr)), entry_(other.entry_) {}
    Guard& operator=(Guard&&) = delete;
    ~Guard() {
      if (shard_ == nullptr) return;
      entry_->second.mutex.unlock();
      leave(*shard_, entry_);
    }

   private:
    friend class KeyedMutex;
    using Place = typename std::unordered_map<Key, Entry, Hash>::pointer;
    Guard(Shard& shard, Place entry) noexcept : shard_(&shard), entry_(entry) {}
    Shard* shard_;
    Place entry_;
  };

  // Keys of one shard share a short lock.
  // Hash and comparison must not throw.
  explicit KeyedMutex(std::size_t shards = 64)
      : shards_(std::make_unique<Shard[]>(shards == 0 ? 1 : shards)),
        count_(shards == 0 ? 1 : shards) {}
  KeyedMutex(const KeyedMutex&) = delete;
  KeyedMutex& operator=(const KeyedMutex&) = delete;

  //   Suspends:  while another holds this key. Always a cancel point.
  //   Errors:    cancelled, timed_out, exhausted (memory for the deadline).
  //   Throws:    std::bad_alloc for the key.
  Result<Guard> acquire(const Key& key, Deadline deadline = Deadline::never()) {
    auto& shard = shard_of(key);
    auto* const entry = join(shard, key);
    if (auto held = entry->second.mutex.acquire(deadline)) {
      (void)held->release();
      return Guard(shard, entry);
    } else {
      leave(shard, entry);
      return held.error();
    }
  }
  // Does not wait for the key, at most for others who come and go in its
  // shard; no cancel point.
  //   Errors:    would_block. Throws: as acquire().
  Result<Guard> try_acquire(const Key& key) {
    auto& shard = shard_of(key);
    auto* const entry = join(shard, key);
    if (entry->second.mutex.try_lock()) return Guard(shard, entry);
    leave(shard, entry);
    return Errc::would_block;
  }

  // How many keys are held or awaited: a snapshot.
  //   Suspends:  as try_acquire(), and so does a Guard that goes.
  std::size_t keys_in_use() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const std::lock_guard hold(shards_[i].lock);
      count += shards_[i].entries.size();
    }
    return count;
  }

 private:
  using Place = typename Guard::Place;

  Shard& shard_of(const Key& key) {
    // The map takes the low bits of the same hash.
    return shards_[(Hash()(key) * 0x9E3779B97F4A7C15u >> 32) % count_];
  }
  static Place join(Shard& shard, const Key& key) {
    const std::lock_guard hold(shard.lock);
    auto& entry = *shard.entries.try_emplace(key).first;
    ++entry.second.users;
    return &entry;
  }
  static void leave(Shard& shard, Place entry) {
    const std::lock_guard hold(shard.lock);
    if (--entry->second.users == 0) {
      shard.entries.erase(shard.entries.find(entry->first));
    }
  }

  std::unique_ptr<Shard[]> shards_;
  std::size_t count_;
};

}  // namespace weft
