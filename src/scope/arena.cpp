#include "scope/arena.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include "sched/carrier.hpp"
#include "wait/charge.hpp"

namespace weft::scope {

namespace {

// Where a large block begins, behind its head.
std::size_t head_of(std::size_t align, std::size_t head) noexcept {
  return (head + align - 1) / align * align;
}

// Not by operator new: whose fiber happens to call does not pay for a chunk.
void* raw(std::size_t bytes, std::size_t align) noexcept {
  void* block = nullptr;
  return ::posix_memalign(&block, align, bytes) == 0 ? block : nullptr;
}

waiting::Price price_of(std::size_t bytes) noexcept {
  return {1, Resource::memory, bytes};
}

}  // namespace

Arena::~Arena() {
  while (chunks_ != nullptr) {
    std::free(std::exchange(chunks_, chunks_->next));
  }
  while (larges_ != nullptr) give_large(*larges_);
}

std::size_t Arena::size_class(std::size_t bytes) noexcept {
  const auto size = std::bit_ceil(std::max(bytes, kSmallest));
  return static_cast<std::size_t>(std::countr_zero(size) -
                                  std::countr_zero(kSmallest));
}

// Under the lock. nullptr: there is no room in this chunk. A block is aligned
// to its size, up to kAlign: so whichever of its class comes free will do.
void* Arena::cut(std::size_t bytes) noexcept {
  const auto align = std::min(bytes, kAlign);
  const auto used = reinterpret_cast<std::uintptr_t>(next_) % align;
  const auto gap = used == 0 ? 0 : align - used;
  if (static_cast<std::size_t>(end_ - next_) < gap + bytes) return nullptr;
  std::byte* const block = next_ + gap;
  next_ = block + bytes;
  return block;
}

void* Arena::take(std::size_t bytes, std::size_t align) noexcept {
  if (bytes > kLargest || align > kAlign) return take_large(bytes, align);
  const auto which = size_class(std::max(bytes, align));
  const auto size = kSmallest << which;
  for (std::byte* fresh = nullptr;;) {
    {
      const std::lock_guard guard(lock_);
      if (Free* const block = free_[which]; block != nullptr && !fresh) {
        free_[which] = block->next;
        return block;
      }
      if (fresh != nullptr) {  // the rest of the old one is lost
        chunks_ = ::new (fresh) Chunk{chunks_};
        next_ = fresh + kAlign;
        end_ = fresh + kChunk;
      }
      if (void* const block = cut(size)) return block;
    }
    fresh = static_cast<std::byte*>(raw(kChunk, kAlign));
    if (fresh == nullptr) return nullptr;
  }
}

void Arena::give(void* block, std::size_t bytes, std::size_t align) noexcept {
  if (bytes > kLargest || align > kAlign) {
    align = std::max(align, alignof(Large));
    auto* const head =
        static_cast<std::byte*>(block) - head_of(align, sizeof(Large));
    return give_large(*std::launder(reinterpret_cast<Large*>(head)));
  }
  const auto which = size_class(std::max(bytes, align));
  const std::lock_guard guard(lock_);
  free_[which] = ::new (block) Free{free_[which]};
}

void* Arena::take_large(std::size_t bytes, std::size_t align) noexcept {
  align = std::max(align, alignof(Large));
  const auto head = head_of(align, sizeof(Large));
  constexpr auto kMost = std::size_t{1} << 39;  // more than anybody has
  if (bytes > kMost - head) return nullptr;
  auto* const block = static_cast<std::byte*>(raw(head + bytes, align));
  if (block == nullptr) return nullptr;
  const std::lock_guard guard(lock_);
  auto* const large = ::new (block) Large{nullptr, larges_};
  if (larges_ != nullptr) larges_->previous = large;
  larges_ = large;
  return block + head;
}

void Arena::give_large(Large& large) noexcept {
  {
    const std::lock_guard guard(lock_);
    if (large.previous != nullptr) large.previous->next = large.next;
    if (large.next != nullptr) large.next->previous = large.previous;
    if (larges_ == &large) larges_ = large.next;
  }
  std::free(&large);
}

void* Arena::do_allocate(std::size_t bytes, std::size_t align) {
  auto& here = sched::carrier();
  fiber::Fiber& self = *here.current;
  const bool metered = self.word.is_metered();
  const auto price = price_of(bytes);
  const bool may_wait = here.lock_depth == 0 && !self.unchecked;
  if (!waiting::charge(self, price, may_wait)) {
    throw std::bad_alloc();
  }
  if (metered && !sched::carrier().current.count_metered(price.ops)) {
    waiting::pass_turn();  // if it can be left here
  }
  void* const block = take(bytes, align);
  if (block == nullptr) {
    if (metered) waiting::Purse::of(self)->take_back(price);
    throw std::bad_alloc();
  }
  if (metered) {
    const std::lock_guard guard(lock_);
    unreturned_ += bytes;
  }
  return block;
}

void Arena::do_deallocate(void* block, std::size_t bytes, std::size_t align) {
  give(block, bytes, align);
  fiber::Fiber& self = *sched::carrier().current;
  if (!self.word.is_metered()) return;
  std::size_t paid = 0;  // others, who are not metered, pay for nothing
  {
    const std::lock_guard guard(lock_);
    paid = std::min(unreturned_, bytes);
    unreturned_ -= paid;
  }
  waiting::Purse::of(self)->put_memory(paid);
}

}  // namespace weft::scope
