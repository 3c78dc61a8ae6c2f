#include "fiber/frame_pool.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <mutex>
#include <new>

#include "base/fault.hpp"

namespace weft::fiber {

struct FramePool::Slab {
  void* home;  // first: home_of() reads it
  Slab* next;
};

FramePool::~FramePool() {
  while (Slab* slab = slabs_) {
    slabs_ = slab->next;
    ::munmap(slab, kSlabSize);
  }
}

void FramePool::leave_to(void* home) noexcept {
  const std::lock_guard hold(lock_);
  while (Slab* const slab = slabs_) {
    slabs_ = slab->next;
    slab->home = home;
  }
  fresh_ = fresh_end_ = nullptr;
}

bool FramePool::add_slab() noexcept {
  if (base::refused(base::FaultPoint::frame_map)) return false;
  // Twice the size, then cut to an aligned slab: home_of() masks addresses.
  void* memory = ::mmap(nullptr, 2 * kSlabSize, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  auto* low = static_cast<std::byte*>(memory);
  const auto address = reinterpret_cast<std::uintptr_t>(low);
  auto* slab = low + (kSlabSize - address % kSlabSize) % kSlabSize;
  if (slab != low) ::munmap(low, static_cast<std::size_t>(slab - low));
  auto* end = slab + kSlabSize;
  ::munmap(end, static_cast<std::size_t>(low + 2 * kSlabSize - end));

  slabs_ = ::new (static_cast<void*>(slab)) Slab{home_, slabs_};
  fresh_ = slab + sizeof(Fiber);  // the first frame's place holds the head
  fresh_end_ = end;
  return true;
}

Fiber* FramePool::take(std::size_t count, std::size_t& got) noexcept {
  std::lock_guard hold(lock_);
  Fiber* list = nullptr;
  for (got = 0; got < count; ++got) {
    Fiber* frame = free_;
    if (frame != nullptr) {
      free_ = frame->next;
    } else {
      if (fresh_ == fresh_end_ && !add_slab()) break;
      frame = ::new (static_cast<void*>(fresh_)) Fiber();
      fresh_ = fresh_ + sizeof(Fiber);
    }
    frame->next = list;
    list = frame;
  }
  return list;
}

void FramePool::give(Fiber* list) noexcept {
  std::lock_guard hold(lock_);
  while (list != nullptr) {
    Fiber* const rest = list->next;
    list->next = free_;
    free_ = list;
    list = rest;
  }
}

// The newest slab is used up to fresh_, the older ones to their end.
FramePool::Range FramePool::first_range() noexcept {
  std::lock_guard hold(lock_);
  Slab* const newest = slabs_;
  auto* low = reinterpret_cast<std::byte*>(newest);
  return {newest, low == nullptr ? nullptr : low + sizeof(Fiber), fresh_};
}

FramePool::Range FramePool::next_range(const Range& range) noexcept {
  Slab* older = range.slab->next;  // immutable once the slab is there
  auto* low = reinterpret_cast<std::byte*>(older);
  if (older == nullptr) return {nullptr, nullptr, nullptr};
  return {older, low + sizeof(Fiber), low + kSlabSize};
}

void FrameCache::shrink() noexcept {
  Fiber* list = nullptr;
  for (; size_ > kBound / 2; --size_) {
    Fiber* frame = free_;
    free_ = frame->next;
    frame->next = list;
    list = frame;
  }
  pool_.give(list);
}

}  // namespace weft::fiber
