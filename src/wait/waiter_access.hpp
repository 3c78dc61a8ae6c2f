// waiter_access.hpp: from a public Waiter to the node in it.
#pragma once

#include <new>

#include "fiber/wait_node.hpp"
#include <weft/wait.hpp>

namespace weft::detail {

struct WaiterAccess {
  static fiber::WaitNode& node(Waiter& waiter) noexcept {
    static_assert(sizeof(fiber::WaitNode) == sizeof(waiter.node_));
    return *std::launder(reinterpret_cast<fiber::WaitNode*>(waiter.node_));
  }
  static const fiber::WaitNode& node(const Waiter& waiter) noexcept {
    return *std::launder(
        reinterpret_cast<const fiber::WaitNode*>(waiter.node_));
  }
};

}  // namespace weft::detail
