#include "fiber/wait_node.hpp"

#include "fiber/fiber.hpp"

namespace weft::fiber {

bool WaitNode::settle(Reason why, Fiber*& owned) noexcept {
  Fiber* const waiting = fiber;  // copied: W3
  const auto claimed = waiting->word.claim(ticket, source(index));
  if (claimed != Claimed::lost) reason = why;  // W4
  gone_.store(true, release);                  // [gone]
  owned = claimed == Claimed::won_and_owns ? waiting : nullptr;
  return claimed != Claimed::lost;
}

}  // namespace weft::fiber
