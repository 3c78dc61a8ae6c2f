// channel_late.hpp: values of senders who waited when their channel closed, in
// their order.
//
// A close makes pieces of memory for as many as wait, at most kMost each. Under
// the channel's lock a piece is linked and its values are given away; values
// move without it, so who takes one waits until it is there. The last to have
// taken one of a piece frees the piece.
//
// Edges
//   [late]  fill() -> wait_for(): the value.
//   [left]  let_go() -> the last let_go(): every use of the piece.
#pragma once

#include <cstddef>
#include <new>

#include "base/atomic.hpp"
#include "base/fault.hpp"
#include "base/point.hpp"
#include "sched/unchecked.hpp"
#include <weft/detail/channel.hpp>

namespace weft::sync {

using detail::ElementOps;

class LatePiece {
 public:
  static constexpr std::size_t kMost = 64;

  // nullptr: no memory. At least one sender waits.
  static LatePiece* make(const ElementOps& element, std::size_t room) noexcept {
    if (base::refused(base::FaultPoint::channel)) return nullptr;
    const auto head = offset(element);
    void* const memory =
        ::operator new (head + room * element.size,
                        std::align_val_t{element.align}, std::nothrow);
    return memory == nullptr ? nullptr : ::new (memory) LatePiece(element);
  }
  // Nobody else knows it.
  void destroy() noexcept {
    const auto align = std::align_val_t{element_.align};
    this->~LatePiece();
    ::operator delete(static_cast<void*>(this), align);
  }

  // Who made it, one after the other. With the last one it is his no more.
  void fill(std::size_t index, void* value) noexcept {
    const sched::Unchecked no_checks;  // others wait for it
    element_.move(place(index), value);
    base::pass(base::Point::filling);
    filled_.store(index + 1, release);  // [late]
  }
  // To whom it was given.
  void* wait_for(std::size_t index) noexcept {
    // [late]
    spin_until([&] { return filled_.load(acquire) > index; });
    return place(index);
  }
  // The same, once its value is destroyed.
  void let_go() noexcept {
    if (left_.fetch_sub(1, acq_rel) != 1) return;  // [left]
    destroy();  // [left]: the others have left it
  }

 private:
  friend class LateValues;

  explicit LatePiece(const ElementOps& element) noexcept : element_(element) {}
  ~LatePiece() = default;
  static std::size_t offset(const ElementOps& element) noexcept {
    return (sizeof(LatePiece) + element.align - 1) & -element.align;
  }
  std::byte* place(std::size_t index) noexcept {
    return reinterpret_cast<std::byte*>(this) + offset(element_) +
           index * element_.size;
  }

  const ElementOps& element_;
  Plain<LatePiece*> next_ = nullptr;  // guarded by the channel's lock
  Plain<std::size_t> given_ = 0;      // the same
  Plain<std::size_t> count_ = 0;      // the same; written once
  Atomic<std::size_t> filled_{0};     // from the front
  Atomic<std::size_t> left_{0};       // how many are not taken out
};

// One of them, for one who receives.
struct LateValue {
  LatePiece* piece = nullptr;
  std::size_t index = 0;

  void* get() const noexcept { return piece->wait_for(index); }
};

// Of one channel, guarded by its lock: the pieces that still have values to
// give.
class LateValues {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  // Any thread: a hint.
  std::size_t size() const noexcept { return size_.load(relaxed); }

  // Of a piece that is about to be filled; count > 0.
  void append(LatePiece& piece, std::size_t count) noexcept {
    piece.count_ = count;
    piece.left_.store(count, relaxed);  // the lock's, as the rest
    if (empty()) {
      first_ = &piece;
    } else {
      last_->next_ = &piece;
    }
    last_ = &piece;
    count_by(count);
  }
  // The oldest. No piece: there is none.
  LateValue take() noexcept {
    LatePiece* const piece = first_;
    if (piece == nullptr) return {};
    const std::size_t index = piece->given_;
    piece->given_ = index + 1;
    if (index + 1 == piece->count_) first_ = piece->next_;
    count_by(~std::size_t{0});
    return {piece, index};
  }

 private:
  void count_by(std::size_t more) noexcept {
    size_.store(size_.load(relaxed) + more, relaxed);  // written under the lock
  }

  Plain<LatePiece*> first_ = nullptr;
  Plain<LatePiece*> last_ = nullptr;  // if there is a first
  Tally<std::size_t> size_{0};
};

}  // namespace weft::sync
