#include "stack/batch_list.hpp"

namespace weft::stack {

namespace {
constexpr std::size_t kSingles = 32;  // that push_one() joins to one batch
}

void BatchList::push_one(Stack* stack) noexcept {
  stack->next = nullptr;
  std::size_t size = 1;
  if (newest_ != nullptr && newest_->batch_size < kSingles) {
    stack->next = newest_;
    size += newest_->batch_size;
    stacks_ -= newest_->batch_size;
    newest_ = newest_->next_batch;
  }
  push(stack, size);
}

std::size_t BatchList::pop(Stack*& batch, std::size_t wanted) noexcept {
  batch = newest_;
  if (batch == nullptr) return 0;
  const auto size = batch->batch_size;
  newest_ = batch->next_batch;
  stacks_ -= size;
  if (size <= wanted) return size;
  Stack* last = batch;
  for (std::size_t i = 1; i < wanted; ++i) last = last->next;
  push(last->next, size - wanted);
  last->next = nullptr;
  return wanted;
}

}  // namespace weft::stack
