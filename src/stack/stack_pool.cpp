#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <new>

#include "stack/slab.hpp"
#include "stack/stack.hpp"

namespace weft::stack {

namespace {

constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, Linux 5.14

// A slab starts at so many slots or bytes, whichever is less, doubles from one
// to the next, and ends there: a million stacks of 2 MiB are 2000 mappings.
constexpr std::size_t kFirstSlots = 64;
constexpr std::size_t kFirstBytes = std::size_t{32} << 20;
constexpr std::size_t kLastSlots = 1024;
constexpr std::size_t kLastBytes = std::size_t{1} << 30;

// Unused slots are cut few at a time: each one costs a page at once.
constexpr std::size_t kFreshBatch = 8;
constexpr std::size_t kTrimBatch = 64;

std::size_t slots_within(std::size_t size, std::size_t slots,
                         std::size_t bytes) noexcept {
  return std::clamp<std::size_t>(bytes / size, 1, slots);
}

}  // namespace

StackPool::StackPool(PoolOptions options) noexcept
    : guards_(options.guard, options.mapping_budget),
      after_map_(options.after_map),
      before_unmap_(options.before_unmap) {
  WEFT_CHECK(valid_size(options.default_size), "stack size %zu is not valid",
             options.default_size);
  const auto page = page_size();
  const auto round_up = [page](std::size_t size) {
    size = std::max(size, std::size_t{1} << kSmallestShift);
    return (size + page - 1) / page * page;
  };
  classes_[0].size = round_up(options.default_size);
  for (std::size_t i = 1; i < kClasses; ++i) {
    classes_[i].size = round_up(std::size_t{1} << (kSmallestShift + i - 1));
  }
  for (auto& each : classes_) {
    each.growth = slots_within(each.size, kFirstSlots, kFirstBytes);
  }
}

StackPool::~StackPool() {
  WEFT_CHECK(in_use_ == 0, "%zu stacks are in use while their pool ends",
             in_use_);
  while (Slab* slab = slabs_) {
    slabs_ = slab->next;
    bool keep = false;  // S5
    for (std::size_t i = 0; i < slab->carved; ++i) {
      keep = keep || slab->record(i)->lost;
    }
    for (std::size_t i = 0; i < slab->carved; ++i) {
      Stack& stack = *slab->record(i);
      if (stack.lost) continue;
      if (before_unmap_ != nullptr) before_unmap_(stack);
      if (keep) (void)release_pages(stack);
    }
    if (!keep) Slab::unmap(slab);
  }
}

Stack* StackPool::take(std::size_t size, Refused* refused) noexcept {
  auto reason = Refused::none;
  Stack* stack = nullptr;
  if (!valid_size(size)) {
    reason = Refused::invalid_size;
  } else if (lease(class_of(size), stack, 1) == 0) {
    reason = Refused::no_memory;
  } else {
    stack->lease();
  }
  if (refused != nullptr) *refused = reason;
  return stack;
}

void StackPool::give(Stack* stack) noexcept {
  WEFT_ASSERT(stack->leased && !stack->carries_caller(), "S3");
  stack->leased = false;
  const std::lock_guard guard(lock_);
  classes_[stack->size_class].warm.push_one(stack);
  --in_use_;
}

void StackPool::lose(Stack* stack) noexcept {
  WEFT_ASSERT(stack->leased && !stack->carries_caller(), "S3");
  stack->lost = true;
  const std::lock_guard guard(lock_);
  --in_use_;
}

std::size_t StackPool::take_batch(Stack*& list, std::size_t count) noexcept {
  Stack* taken = nullptr;
  const auto size = count == 0 ? 0 : lease(0, taken, count);
  if (size == 0) return 0;
  if (list != nullptr) {
    Stack* last = taken;
    while (last->next != nullptr) last = last->next;
    last->next = list;
  }
  list = taken;
  return size;
}

void StackPool::give_batch(Stack* list) noexcept {
  std::size_t size = 0;
  for (Stack* stack = list; stack != nullptr; stack = stack->next) ++size;
  give_batch(list, size);
}

void StackPool::give_batch(Stack* list, std::size_t size) noexcept {
  if (list == nullptr) return;
  const std::lock_guard guard(lock_);
  classes_[0].warm.push(list, size);
  in_use_ -= size;
}

StackPool::Counts StackPool::counts() const noexcept {
  const std::lock_guard guard(lock_);
  return {.mapped = mapped_, .in_use = in_use_, .reserved_bytes = reserved_};
}

std::size_t StackPool::trim() noexcept {
  std::size_t bytes = 0;
  for (auto& each : classes_) {
    lock_.lock();
    auto left = each.warm.stacks();  // later ones are for the next time
    while (left != 0) {
      Stack* batch = nullptr;
      const auto size = each.warm.pop(batch, std::min(left, kTrimBatch));
      if (size == 0) break;
      lock_.unlock();
      for (Stack* stack = batch; stack != nullptr; stack = stack->next) {
        bytes += release_pages(*stack);
      }
      left -= size;
      lock_.lock();
      each.cold.push(batch, size);
    }
    lock_.unlock();
  }
  return bytes;
}

std::size_t StackPool::class_of(std::size_t size) const noexcept {
  const auto power =
      std::bit_ceil(std::max(size, std::size_t{1} << kSmallestShift));
  if (size <= classes_[0].size && classes_[0].size <= power) return 0;
  return 1 + static_cast<std::size_t>(std::countr_zero(power)) - kSmallestShift;
}

// Pooled stacks if there are any, else unused slots, else a new slab.
std::size_t StackPool::lease(std::size_t index, Stack*& list,
                             std::size_t count) noexcept {
  SizeClass& wanted = classes_[index];
  for (;;) {
    Fresh fresh;
    lock_.lock();
    auto taken = wanted.warm.pop(list, count);
    if (taken == 0) taken = wanted.cold.pop(list, count);
    if (taken == 0) fresh = carve(wanted, std::min(count, kFreshBatch));
    mapped_ += fresh.count;
    in_use_ += taken + fresh.count;
    lock_.unlock();
    // Last slot first, so that the list starts with the first.
    for (auto i = fresh.count; i-- > 0;) {
      Stack* const stack = furnish(*fresh.slab, fresh.first + i, index);
      stack->next = list;
      list = stack;
    }
    if (taken + fresh.count != 0) return taken + fresh.count;
    if (!grow(wanted)) return 0;
  }
}

// Maps without the lock: two threads that meet here map two slabs, and both
// get used.
bool StackPool::grow(SizeClass& wanted) noexcept {
  lock_.lock();
  auto slots = wanted.growth;
  wanted.growth =
      slots_within(wanted.size, std::min(slots * 2, kLastSlots), kLastBytes);
  lock_.unlock();
  Slab* slab = nullptr;
  for (; slots != 0 && slab == nullptr; slots /= 2) {
    slab = Slab::map(wanted.size, slots);
  }
  if (slab == nullptr) return false;
  const std::lock_guard guard(lock_);
  slab->next = slabs_;
  slabs_ = slab;
  slab->next_open = wanted.open;
  wanted.open = slab;
  reserved_ += slab->bytes();
  return true;
}

// With lock_ held. Up to `count` slots of one slab.
StackPool::Fresh StackPool::carve(SizeClass& wanted,
                                  std::size_t count) noexcept {
  Slab* const slab = wanted.open;
  if (slab == nullptr) return {};
  const auto first = slab->carved;
  count = std::min(count, slab->slots() - first);
  slab->carved += count;
  if (slab->carved == slab->slots()) wanted.open = slab->next_open;
  return {.slab = slab, .first = first, .count = count};
}

Stack* StackPool::furnish(const Slab& slab, std::size_t slot,
                          std::size_t index) noexcept {
  std::byte* const guard_page = slab.guard(slot);
  const auto kind = guards_.install(guard_page);
  // Cheaper than the fault that the record would take. Only a hint.
  ::madvise(slab.top_page(slot), page_size(), kPopulateWrite);
  Stack* const stack = new (slab.record(slot)) Stack{
      .next = nullptr,
      .low = guard_page + page_size(),
      .size = classes_[index].size,
      .owner{nullptr},
      .sanitizer = nullptr,
      .leases = 0,
      .size_class = static_cast<std::uint8_t>(index),
      .guard = kind,
      .leased = false,
      .lost = false,
      .next_batch = nullptr,
      .batch_size = 0,
  };
  if (after_map_ != nullptr) after_map_(*stack);
  return stack;
}

}  // namespace weft::stack
