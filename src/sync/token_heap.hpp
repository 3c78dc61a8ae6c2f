// token_heap.hpp: members by their token, the smallest first; a pairing heap
// through links in the members.
//
// Nothing is allocated and nothing is owned; the caller's lock guards it.
#pragma once

#include <cstdint>

#include "base/atomic.hpp"

namespace weft::sync {

// T has `token`, and derives from this.
template <typename T>
struct TokenHook {
  Plain<T*> child = nullptr;     // the first
  Plain<T*> next = nullptr;      // the next child of the same parent
  Plain<T*> previous = nullptr;  // the child before, or of the first the parent
};

template <typename T>
class TokenHeap {
 public:
  bool empty() const noexcept { return smallest() == nullptr; }
  T* smallest() const noexcept { return root_; }

  void insert(T& member) noexcept {
    member.child = member.next = member.previous = nullptr;
    root_ = merge(root_, &member);
  }
  void remove(T& member) noexcept {
    T* const rest = merge_pairs(member.child);
    if (smallest() == &member) {
      root_ = rest;
    } else {
      unlink(member);
      root_ = merge(root_, rest);
    }
    member.child = member.next = member.previous = nullptr;
  }

 private:
  static void unlink(T& member) noexcept {
    T* const before = member.previous;
    T* const after = member.next;
    if (before->child == &member) {
      before->child = after;
    } else {
      before->next = after;
    }
    if (after != nullptr) after->previous = before;
  }

  // Of two roots one: the larger becomes the first child of the other.
  static T* merge(T* a, T* b) noexcept {
    if (a == nullptr) return b;
    if (b == nullptr) return a;
    if (b->token < a->token) {
      T* const smaller = b;
      b = a;
      a = smaller;
    }
    T* const first = a->child;
    b->previous = a;
    b->next = first;
    if (first != nullptr) first->previous = b;
    a->child = b;
    a->next = a->previous = nullptr;
    return a;
  }

  // Two by two from the left, then all from the right: no recursion, whatever
  // the number.
  static T* merge_pairs(T* first) noexcept {
    T* pairs = nullptr;  // linked by next, the last one first
    while (first != nullptr) {
      T* const a = first;
      T* const b = a->next;
      first = b != nullptr ? static_cast<T*>(b->next) : nullptr;
      a->next = a->previous = nullptr;
      if (b != nullptr) b->next = b->previous = nullptr;
      T* const pair = merge(a, b);
      pair->next = pairs;
      pairs = pair;
    }
    T* root = nullptr;
    while (pairs != nullptr) {
      T* const rest = pairs->next;
      pairs->next = nullptr;
      root = merge(root, pairs);
      pairs = rest;
    }
    return root;
  }

  Plain<T*> root_ = nullptr;
};

}  // namespace weft::sync
