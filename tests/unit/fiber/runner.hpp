// runner.hpp: fibers for tests of scopes, each of which runs where it stands.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "fiber/fiber.hpp"

namespace weft::fiber {

// A fiber that runs on a stack of its own; a child of `base`, if there is one,
// that has not looked yet.
struct Runner {
  Fiber fiber;
  stack::Stack stack{};
  Listing listing;

  explicit Runner(Scope* base = nullptr) {
    fiber.word.reserve();
    fiber.word.publish(/*look=*/base != nullptr);
    (void)fiber.word.start(1);
    fiber.scope = base;
    fiber.listed = base == nullptr;
    fiber.stack = &stack;
    listing.fiber = &fiber;
    stack.listing = &listing;
    stack.owner.store(&fiber, relaxed);
  }
  void park() {
    EXPECT_EQ(fiber.word.begin_wait(++fiber.wait_ticket, false), Begun::go_on);
    EXPECT_EQ(fiber.word.commit(), Committed::parked);
  }
  // As Worker::call_in_place().
  void lend(Runner& guest) {
    guest.fiber.stack = fiber.stack.get();
    guest.listing.below = static_cast<Listing*>(fiber.stack->listing);
    fiber.stack->listing = &guest.listing;
    fiber.stack->owner.store(&guest.fiber, relaxed);
    guest.fiber.host = &fiber;
  }
  void take_back(Runner& guest) {
    if (guest.fiber.listed) guest.fiber.delist();
    fiber.stack->listing = guest.listing.below;
    fiber.take_back_stack();
    guest.fiber.host = nullptr;
  }
  Stop looks() {
    Fiber* owned = nullptr;
    const auto why = look(fiber, owned);
    EXPECT_EQ(owned, nullptr);
    return why;
  }
};

inline std::vector<Fiber*> all(Fiber* owned) {
  std::vector<Fiber*> fibers;
  for (; owned != nullptr; owned = owned->next) fibers.push_back(owned);
  return fibers;
}
using Fibers = std::vector<Fiber*>;

}  // namespace weft::fiber
