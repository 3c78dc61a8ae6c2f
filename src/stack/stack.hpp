// stack.hpp: the memory that fibers run on, and who keeps it between fibers.
//
//   one slot of a slab (addresses grow to the right, the stack to the left)
//   +-------+-----------------------------------+--------+-----------+
//   | guard | low          usable           top | Stack  | colouring |
//   +-------+-----------------------------------+--------+-----------+
//   one page  at least `size` bytes               64       0..15 lines
//
//   StackPool, one per runtime, a lock  <->  StackCache, one per worker, none
//
// Invariants
//   S1  top() - low >= size: the record and the colouring have their own page.
//   S2  This room touches the top page of a slot alone; its canary guards
//       touch the guard page as well.
//   S3  A stack is in one place: leased to a fiber, in one cache, or pooled,
//       and nothing runs on it unless it is leased.
//   S4  Memory stays mapped until the pool ends: a stale pointer to a stack
//       points to a stack.
//   S5  A stack that was lost stays mapped for good, as its fiber left it:
//       others may know what is on it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.hpp"
#include "base/spin_lock.hpp"
#include "stack/batch_list.hpp"
#include "stack/guard.hpp"
#include "stack/record.hpp"

namespace weft::stack {

struct PoolOptions {
  GuardKind guard = GuardKind::automatic;
  std::size_t default_size = 256 << 10;
  // Mappings that mprotect guards of the whole process may cost before this
  // pool turns to canaries. 0: half of vm.max_map_count.
  std::size_t mapping_budget = 0;
  // Called for each stack before it is used first. nullptr: nothing to do.
  void (*after_map)(Stack&) noexcept = nullptr;
  // Called for each stack before its memory goes: the place to drop what
  // `sanitizer` and `leases` stand for. nullptr: nothing to drop.
  void (*before_unmap)(Stack&) noexcept = nullptr;
};

enum class Refused : std::uint8_t { none, invalid_size, no_memory };

class Slab;

class StackPool {
 public:
  explicit StackPool(PoolOptions options) noexcept;
  // Unmaps everything; every stack must be back.
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  // Any thread. 1 byte to 1 GiB; take() rounds up to a size class.
  static bool valid_size(std::size_t size) noexcept {
    return size != 0 && size <= kLargest;
  }

  // Any thread. A stack of at least that size; nullptr: see *refused.
  [[nodiscard]] Stack* take(std::size_t size,
                            Refused* refused = nullptr) noexcept;
  // Any thread that owns the stack and is not on it.
  void give(Stack* stack) noexcept;
  // The same: nothing on it was destroyed, so nothing runs on it again.
  void lose(Stack* stack) noexcept;

  // Any thread. Puts up to `count` stacks of the default size in front of
  // `list`; answers how many. 0: no memory.
  std::size_t take_batch(Stack*& list, std::size_t count) noexcept;
  // Any thread that owns the list: stacks of the default size.
  void give_batch(Stack* list) noexcept;
  void give_batch(Stack* list, std::size_t size) noexcept;

  // Any thread. The weakest guard of any stack so far. It may change at each
  // take(), so ask again, or look at Stack::guard.
  GuardKind guard() const noexcept { return guards_.weakest(); }
  std::size_t default_size() const noexcept { return classes_[0].size; }

  struct Counts {
    std::size_t mapped;          // stacks that exist
    std::size_t in_use;          // with fibers, in caches
    std::size_t reserved_bytes;  // address space, most of it never touched
  };
  // Any thread.
  Counts counts() const noexcept;

  // Any thread. Returns to the system what fibers touched of the stacks now
  // pooled, top pages apart; answers how many bytes that was.
  std::size_t trim() noexcept;

 private:
  friend class StackCache;
  struct SizeClass {
    std::size_t size = 0;    // immutable
    std::size_t growth = 0;  // guarded by lock_: slots of the next slab
    BatchList warm;          // guarded by lock_: as fibers left them
    BatchList cold;          // guarded by lock_: trimmed
    Slab* open = nullptr;    // guarded by lock_: slabs with unused slots
  };
  struct Fresh {
    Slab* slab = nullptr;
    std::size_t first = 0;
    std::size_t count = 0;
  };

  static constexpr unsigned kSmallestShift = 13;
  static constexpr std::size_t kLargest = std::size_t{1} << 30;
  static constexpr std::size_t kClasses = 1 + 30 - kSmallestShift + 1;

  std::size_t class_of(std::size_t size) const noexcept;
  std::size_t lease(std::size_t index, Stack*& list,
                    std::size_t count) noexcept;
  bool grow(SizeClass& wanted) noexcept;
  static Fresh carve(SizeClass& wanted, std::size_t count) noexcept;
  Stack* furnish(const Slab& slab, std::size_t slot,
                 std::size_t index) noexcept;

  Guards guards_;
  void (*const after_map_)(Stack&) noexcept;
  void (*const before_unmap_)(Stack&) noexcept;
  mutable base::SpinLock lock_;
  std::size_t mapped_ = 0;                   // guarded by lock_
  std::size_t in_use_ = 0;                   // guarded by lock_
  std::size_t reserved_ = 0;                 // guarded by lock_
  Slab* slabs_ = nullptr;                    // guarded by lock_
  std::array<SizeClass, kClasses> classes_;  // [0]: the default size
};

// The stacks that one worker keeps at hand, newest first: the next fiber runs
// where the last one left the memory warm. Two lists of up to half the bound:
// fibers come and go at `near_`; `far_` is full or empty, and goes to the pool
// or comes from it as a whole, so that nobody walks through cold records.
class StackCache {
 public:
  StackCache(StackPool& pool, std::size_t bound) noexcept;
  ~StackCache();
  StackCache(const StackCache&) = delete;
  StackCache& operator=(const StackCache&) = delete;

  // Owner only. As StackPool::take().
  [[nodiscard]] Stack* take(std::size_t size) noexcept {
    if (size == default_size_ && near_ != nullptr) [[likely]] {
      return pop();
    }
    return take_slowly(size);
  }

  // Owner only, not on the stack that it puts back.
  void put(Stack* stack) noexcept {
    WEFT_ASSERT(stack->leased && !stack->carries_caller(), "S3");
    if (stack->size_class == 0 && near_size_ < half_) [[likely]] {
      push(stack);
    } else {
      put_slowly(stack);
    }
  }

  // Owner only.
  std::size_t size() const noexcept { return near_size_ + far_size_; }

 private:
  Stack* pop() noexcept {
    Stack* stack = near_;
    near_ = stack->next;
    --near_size_;
    stack->lease();
    __builtin_prefetch(near_, 1);  // for the next fiber; nullptr does no harm
    return stack;
  }
  void push(Stack* stack) noexcept {
    stack->leased = false;
    stack->next = near_;
    near_ = stack;
    ++near_size_;
  }
  Stack* take_slowly(std::size_t size) noexcept;
  void put_slowly(Stack* stack) noexcept;

  StackPool& pool_;
  const std::size_t default_size_;
  const std::size_t bound_;
  const std::size_t half_;
  Stack* near_ = nullptr;
  std::size_t near_size_ = 0;
  Stack* far_ = nullptr;
  std::size_t far_size_ = 0;
};

}  // namespace weft::stack
