// frame_pool.hpp: type-stable memory for frames.
//
// Frames are carved from 2 MiB slabs that live until the pool ends, so a stale
// pointer may always be read. Each worker keeps a LIFO cache; the pool behind
// it is locked. A slab's head names its scheduler: a frame finds its runtime
// without spending a word on it.
#pragma once

#include <cstddef>
#include <new>

#include "base/spin_lock.hpp"
#include "fiber/fiber.hpp"

namespace weft::fiber {

class FramePool {
 public:
  // home: what home_of() answers for each of its frames.
  explicit FramePool(void* home) noexcept : home_(home) {}
  FramePool(const FramePool&) = delete;
  FramePool& operator=(const FramePool&) = delete;
  ~FramePool();

  // Any thread. A list of up to `count` free frames linked by next; nullptr
  // if there is no memory. `got` says how many.
  [[nodiscard]] Fiber* take(std::size_t count, std::size_t& got) noexcept;
  // Any thread. A list of free frames.
  void give(Fiber* list) noexcept;
  // Owner only, before the pool ends: its frames stay in memory for good, and
  // home_of() answers this one from now on.
  void leave_to(void* home) noexcept;

  static void* home_of(const Fiber& frame) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(&frame);
    return *reinterpret_cast<void* const*>(address & ~(kSlabSize - 1));
  }

  // Any thread. Calls visit(frame) for every frame ever used, free or not.
  template <typename Visit>
  void for_each(Visit&& visit) noexcept {
    for (Range range = first_range(); range.slab != nullptr;
         range = next_range(range)) {
      for (auto* at = range.begin; at != range.end; at += sizeof(Fiber)) {
        visit(*std::launder(reinterpret_cast<Fiber*>(at)));
      }
    }
  }

 private:
  struct Slab;
  static constexpr std::size_t kSlabSize = std::size_t{2} << 20;

  struct Range {  // the used frames of one slab
    Slab* slab;
    std::byte* begin;
    std::byte* end;
  };

  bool add_slab() noexcept;
  Range first_range() noexcept;
  Range next_range(const Range& range) noexcept;

  void* const home_;
  base::SpinLock lock_;
  Plain<Fiber*> free_ = nullptr;       // guarded by lock_
  Plain<Slab*> slabs_ = nullptr;       // guarded by lock_
  Plain<std::byte*> fresh_ = nullptr;  // guarded by lock_: never used yet
  Plain<std::byte*> fresh_end_ = nullptr;
};

// Owner only. Keeps at most kBound frames.
class FrameCache {
 public:
  explicit FrameCache(FramePool& pool) noexcept : pool_(pool) {}
  FrameCache(const FrameCache&) = delete;
  FrameCache& operator=(const FrameCache&) = delete;
  ~FrameCache() { pool_.give(free_); }

  [[nodiscard]] Fiber* take() noexcept {
    return fill() ? take_cached() : nullptr;
  }
  // False: no memory for a single frame.
  [[nodiscard]] bool fill() noexcept {
    if (free_ == nullptr) free_ = pool_.take(kBatch, size_);
    return free_ != nullptr;
  }
  // nullptr: it must be filled first.
  [[nodiscard]] Fiber* take_cached() noexcept {
    Fiber* const frame = free_;
    if (frame == nullptr) [[unlikely]]
      return nullptr;
    free_ = frame->next;
    --size_;
    // The next spawn will want the line that the control word is in.
    __builtin_prefetch(reinterpret_cast<std::byte*>(free_) + kCacheLine, 1);
    return frame;
  }
  void put(Fiber& frame) noexcept {
    frame.next = free_;
    free_ = &frame;
    if (++size_ > kBound) [[unlikely]]
      shrink();
  }

 private:
  static constexpr std::size_t kBatch = 256;
  static constexpr std::size_t kBound = 2048;

  void shrink() noexcept;

  FramePool& pool_;
  Fiber* free_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace weft::fiber
