#include <algorithm>
#include <utility>

#include "stack/stack.hpp"

namespace weft::stack {

StackCache::StackCache(StackPool& pool, std::size_t bound) noexcept
    : pool_(pool),
      default_size_(pool.default_size()),
      bound_(bound),
      half_(bound == 1 ? 1 : bound / 2) {}

StackCache::~StackCache() {
  pool_.give_batch(far_, far_size_);
  pool_.give_batch(near_, near_size_);
}

Stack* StackCache::take_slowly(std::size_t size) noexcept {
  if (!StackPool::valid_size(size) || pool_.class_of(size) != 0) {
    return pool_.take(size);
  }
  if (near_ == nullptr) {
    near_ = std::exchange(far_, nullptr);
    near_size_ = std::exchange(far_size_, 0);
  }
  if (near_ == nullptr) {
    const auto wanted = std::max<std::size_t>(half_, 1);
    near_size_ = pool_.take_batch(near_, wanted);
  }
  return near_ == nullptr ? nullptr : pop();
}

void StackCache::put_slowly(Stack* stack) noexcept {
  if (stack->size_class != 0 || half_ == 0) {
    pool_.give(stack);
    return;
  }
  // near_ is full: its stacks are the older ones now.
  pool_.give_batch(far_, far_size_);
  far_ = std::exchange(near_, nullptr);
  far_size_ = std::exchange(near_size_, 0);
  push(stack);
  if (size() > bound_) {  // a bound of one has no room for far_
    pool_.give_batch(std::exchange(far_, nullptr), std::exchange(far_size_, 0));
  }
}

}  // namespace weft::stack
