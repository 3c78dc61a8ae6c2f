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

// T derives from ListHook.
template <typename T>
class IntrusiveList {
 public:
  IntrusiveList() noexcept { ends_.previous = ends_.next = &ends_; }
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;

  bool empty() const noexcept { return ends_.next == &ends_; }
  T* front() noexcept {
    ListHook* const first = ends_.next;
    return first == &ends_ ? nullptr : static_cast<T*>(first);
  }
  T* back() noexcept {
    ListHook* const last = ends_.previous;
    return last == &ends_ ? nullptr : static_cast<T*>(last);
  }

  void push_back(T& member) noexcept { link(member, *ends_.previous, ends_); }
  void push_front(T& member) noexcept { link(member, ends_, *ends_.next); }

  void remove(T& member) noexcept {
    ListHook& hook = member;
    hook.previous->next = hook.next;
    hook.next->previous = hook.previous;
    hook.previous = hook.next = nullptr;
  }

  T* pop_front() noexcept {
    T* first = front();
    if (first != nullptr) remove(*first);
    return first;
  }

  static bool contains_hook(const T& member) noexcept {
    return static_cast<const ListHook&>(member).previous != nullptr;
  }

 private:
  static void link(ListHook& hook, ListHook& before, ListHook& after) noexcept {
    hook.previous = &before;
    hook.next = &after;
    before.next = &hook;
    after.previous = &hook;
  }

  ListHook ends_;
};

}  // namespace weft::base
