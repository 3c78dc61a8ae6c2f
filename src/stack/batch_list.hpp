// batch_list.hpp: stacks that the pool keeps, as a list of lists.
//
// A batch is a list through Stack::next; batches are linked through
// Stack::next_batch of their first members, which also tell their size. So a
// whole batch comes and goes by touching one record, where each record is a
// cache and TLB miss of its own.
#pragma once

#include <cstddef>

#include "stack/record.hpp"

namespace weft::stack {

// Guarded by the lock of its pool.
class BatchList {
 public:
  // The batch must not be empty.
  void push(Stack* batch, std::size_t size) noexcept {
    batch->next_batch = newest_;
    batch->batch_size = size;
    newest_ = batch;
    stacks_ += size;
  }

  // Adds to the newest batch, if that is not too large.
  void push_one(Stack* stack) noexcept;
  // The newest batch, or as much of it as is wanted (not 0); answers its size.
  // 0: the list is empty.
  std::size_t pop(Stack*& batch, std::size_t wanted) noexcept;

  std::size_t stacks() const noexcept { return stacks_; }

 private:
  Stack* newest_ = nullptr;
  std::size_t stacks_ = 0;
};

}  // namespace weft::stack
