#include "fiber/wait_node.hpp"

#include "fiber/fiber.hpp"

namespace weft::fiber {

bool WaitNode::claim(Fiber*& owned) noexcept {
  Fiber* const waiting = fiber;  // copied: W3
  const auto claimed = waiting->word.claim(ticket, source(index));
  owned = claimed == Claimed::won_and_owns ? waiting : nullptr;
  if (claimed != Claimed::lost) return true;
  gone_.store(true, release);  // [gone]
  return false;
}

void WaitNode::conclude(Reason why) noexcept {
  reason = why;                // W4
  gone_.store(true, release);  // [gone]
}

bool WaitNode::settle(Reason why, Fiber*& owned) noexcept {
  if (!claim(owned)) return false;
  conclude(why);
  return true;
}

}  // namespace weft::fiber
