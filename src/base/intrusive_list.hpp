// intrusive_list.hpp: a doubly linked list through a hook in its members.
//
// Nothing is allocated and nothing is owned; the caller's lock guards it.
#pragma once

#include <cstddef>

#include "base/atomic.hpp"

namespace weft::base {

struct ListHook {
  Plain<ListHook*> previous = nullptr;  // nullptr: not in a list
  Plain<ListHook*> next = nullptr;
};

// T derives from ListHook. One pointer, nullptr if empty: the members are a
// ring, so that the last one is before the first.
template <typename T>
class IntrusiveList {
 public:
  constexpr IntrusiveList() noexcept = default;
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;

  bool empty() const noexcept { return first_ == nullptr; }
  T* front() noexcept { return static_cast<T*>(first()); }
  T* back() noexcept {
    return empty() ? nullptr : static_cast<T*>(last_of(*first()));
  }

  void push_back(T& member) noexcept {
    ListHook* const first_now = first();
    ListHook& hook = member;
    if (first_now == nullptr) {
      hook.previous = hook.next = &hook;
      first_ = &hook;
      return;
    }
    ListHook* const last = last_of(*first_now);
    hook.previous = last;
    hook.next = first_now;
    last->next = &hook;
    first_now->previous = &hook;
  }
  void push_front(T& member) noexcept {
    push_back(member);  // a ring: behind the last is before the first
    first_ = &member;
  }

  void remove(T& member) noexcept {
    ListHook& hook = member;
    ListHook* const after = hook.next;
    hook.previous->next = after;
    after->previous = hook.previous;
    if (first() == &hook) first_ = after == &hook ? nullptr : after;
    hook.previous = hook.next = nullptr;
  }

  T* pop_front() noexcept {
    T* first = front();
    if (first != nullptr) remove(*first);
    return first;
  }
  // The one behind a member; nullptr: it is the last.
  T* after(T& member) noexcept {
    ListHook* const next = static_cast<ListHook&>(member).next;
    return next == first() ? nullptr : static_cast<T*>(next);
  }

  static bool contains_hook(const T& member) noexcept {
    return static_cast<const ListHook&>(member).previous != nullptr;
  }

 private:
  ListHook* first() const noexcept { return first_; }
  static ListHook* last_of(ListHook& first) noexcept { return first.previous; }

  Plain<ListHook*> first_ = nullptr;
};

}  // namespace weft::base
