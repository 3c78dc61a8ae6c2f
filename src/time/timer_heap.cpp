#include "time/timer_heap.hpp"

#include <algorithm>
#include <mutex>
#include <new>

#include "base/check.hpp"
#include "base/fault.hpp"

namespace weft::time {

bool TimerHeap::insert(TimerNode& node) noexcept {
  WEFT_ASSERT(node.index == TimerNode::kOut, "H2");
  if (size_ == capacity_) return false;
  node.heap = this;
  node.sequence = (sequence_ += 2) | (node.sequence & 1u);
  sift_up(size_++, {node.when, &node});
  if (node.index == 0) publish_next();
  return true;
}

bool TimerHeap::remove(TimerNode& node) noexcept {
  if (node.heap != this || node.index == TimerNode::kOut) return false;
  WEFT_ASSERT(entries_[node.index].node == &node, "H2");
  take_out(node.index);
  return true;
}

TimerNode* TimerHeap::pop_expired(std::int64_t now) noexcept {
  if (size_ == 0 || entries_[0].when > now) return nullptr;
  TimerNode* const node = entries_[0].node;
  take_out(0);
  return node;
}

bool TimerHeap::grow() noexcept {
  lock.lock();
  const auto full = capacity_;
  lock.unlock();
  if (full > TimerNode::kOut / 2) return false;  // an index would not fit
  if (base::refused(base::FaultPoint::timer_array)) return false;
  const auto wanted = std::max(full * 2, kFirstCapacity);
  std::unique_ptr<Entry[]> bigger(new (std::nothrow) Entry[wanted]);
  if (bigger == nullptr) return false;
  {
    const std::lock_guard guard(lock);
    if (capacity_ != full) return true;  // another was faster
    std::copy_n(entries_.get(), size_, bigger.get());
    entries_.swap(bigger);
    capacity_ = wanted;
  }
  return true;  // the old array is freed here, outside of the lock
}

bool TimerHeap::arm(TimerNode& node, std::int64_t when) noexcept {
  node.when = when;
  for (;;) {
    lock.lock();
    const bool inserted = insert(node);
    lock.unlock();
    if (inserted) return true;
    if (!grow()) return false;
  }
}

bool TimerHeap::disarm(TimerNode& node) noexcept {
  const std::lock_guard guard(lock);
  return remove(node);
}

void TimerHeap::place(std::uint32_t index, const Entry& entry) noexcept {
  entries_[index] = entry;
  entry.node->index = index;  // H2
}

// Fills the hole with the entry, after moving later ancestors down.
void TimerHeap::sift_up(std::uint32_t hole, const Entry& entry) noexcept {
  while (hole > 0) {
    const auto parent = (hole - 1) / 4;
    if (!before(entry, entries_[parent])) break;
    place(hole, entries_[parent]);
    hole = parent;
  }
  place(hole, entry);
}

// Fills the hole with the entry, after moving earlier descendants up.
void TimerHeap::sift_down(std::uint32_t hole, const Entry& entry) noexcept {
  for (;;) {
    const auto first = std::uint64_t{hole} * 4 + 1;  // 64 bits: may pass size_
    if (first >= size_) break;
    const auto end = std::min<std::uint64_t>(first + 4, size_);
    auto earliest = static_cast<std::uint32_t>(first);
    for (auto child = earliest + 1; child < end; ++child) {
      if (before(entries_[child], entries_[earliest])) earliest = child;
    }
    if (!before(entries_[earliest], entry)) break;
    place(hole, entries_[earliest]);
    hole = earliest;
  }
  place(hole, entry);
}

void TimerHeap::take_out(std::uint32_t index) noexcept {
  entries_[index].node->index = TimerNode::kOut;
  const Entry last = entries_[--size_];
  if (index != size_) {
    // The last entry comes from another branch: it may belong either way.
    if (index > 0 && before(last, entries_[(index - 1) / 4])) {
      sift_up(index, last);
    } else {
      sift_down(index, last);
    }
  }
  if (index == 0) publish_next();
}

void TimerHeap::publish_next() noexcept {
  const auto next = size_ == 0 ? kNever : entries_[0].when;
  if (next_.load(relaxed) != next) {  // written under lock alone
    next_.store(next, seq_cst);       // [rearm]
  }
}

}  // namespace weft::time
