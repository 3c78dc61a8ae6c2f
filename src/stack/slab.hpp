// slab.hpp: large mappings cut into slots, and the registry of all of them.
//
// The registry is what the overflow handler reads, on any thread, at any time,
// without a lock. Its records live in chunks that are never unmapped; a pool
// that ends hands its records back for the next one.
//
// Invariant
//   R1  A thread that faults in a guard page runs on (or writes to) a live
//       slab, whose record cannot change meanwhile. Other records may: the
//       reader then sees an empty range, or a mix that it tells by reading
//       `begin` twice.
#pragma once

#include <cstddef>

#include "base/atomic.hpp"
#include "stack/stack.hpp"

namespace weft::stack {

std::size_t page_size() noexcept;

// How many colours there are: record and first frames start at different lines
// of their pages, or all parked fibers would fight for a few cache sets.
inline constexpr std::size_t kColours = 16;

class Slab {
 public:
  // Any thread. A mapping of that many slots for stacks of that size, already
  // in the registry; nullptr: no memory.
  static Slab* map(std::size_t size, std::size_t slots) noexcept;
  // Owner only: the pool, when it ends.
  static void unmap(Slab* slab) noexcept;

  // Any thread, async-signal-safe. The stack whose guard page holds the
  // address, or nullptr.
  static Stack* find_by_guard(const void* address) noexcept;

  // Owner only.
  std::byte* guard(std::size_t index) const noexcept {
    return base() + index * stride();
  }
  std::byte* top_page(std::size_t index) const noexcept {
    return guard(index + 1) - page_size();
  }
  Stack* record(std::size_t index) const noexcept {
    return record_at(guard(index + 1), index);
  }
  std::size_t slots() const noexcept { return bytes() / stride(); }
  std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(end_.load(relaxed) - base());  // owner: R1
  }

  Slab* next = nullptr;       // owner only: all slabs of one pool
  Slab* next_open = nullptr;  // owner only: those with unused slots
  std::size_t carved = 0;     // owner only: slots in use from the low end

 private:
  std::byte* base() const noexcept {
    return begin_.load(relaxed);  // owner: R1
  }
  std::size_t stride() const noexcept {
    return stride_.load(relaxed);  // owner: R1
  }
  static Stack* record_at(std::byte* slot_end, std::size_t index) noexcept {
    const auto lines = 1 + index % kColours;
    return reinterpret_cast<Stack*>(slot_end - lines * kCacheLine);
  }

  Atomic<std::byte*> begin_{nullptr};  // nullptr: the record is not in use
  Atomic<std::byte*> end_{nullptr};
  Atomic<std::size_t> stride_{0};  // guard page, usable pages, top page
};

// Owner only. Returns to the system what was touched of the stack below its
// top page; answers how many bytes that was.
std::size_t release_pages(const Stack& stack) noexcept;

}  // namespace weft::stack
