// treiber_stack.hpp: a lock-free stack of linked nodes, after Treiber.
//
// Knows nothing of weft. What it needs of atomics comes as a parameter, so that
// production has std::atomic and a model has the checker's:
//
//   TreiberStack<Order>                     production
//   TreiberStack<Plain<int>, weft::Atomic>  treiber_stack_check.cpp
//
// The last parameter is there for that program only: what a weaker order of
// push() does.
//
// A node that was popped must not be pushed again while another thread is in
// pop(): that one may have seen the node with another successor (ABA).
#pragma once

#include <atomic>

template <typename T, template <typename> class Atomic = std::atomic,
          std::memory_order kPublish = std::memory_order_release>
class TreiberStack {
 public:
  struct Node {
    T value{};
    Atomic<Node*> next{nullptr};  // read by pop() of others: no plain pointer
  };

  // Any thread. Who pops the node sees all that was written to it.
  void push(Node& node) noexcept {
    Node* head = head_.load(std::memory_order_relaxed);
    do {
      node.next.store(head, std::memory_order_relaxed);
    } while (!head_.compare_exchange_weak(head, &node, kPublish,
                                          std::memory_order_relaxed));
  }

  // Any thread. nullptr: it was empty.
  Node* pop() noexcept {
    Node* head = head_.load(std::memory_order_acquire);
    while (head != nullptr) {
      Node* const next = head->next.load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(head, next, std::memory_order_acquire,
                                      std::memory_order_acquire)) {
        break;
      }
    }
    return head;
  }

 private:
  Atomic<Node*> head_{nullptr};
};
