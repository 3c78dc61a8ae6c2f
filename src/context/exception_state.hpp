// exception_state.hpp: the C++ exceptions in flight belong to the fiber.
//
// The C++ ABI keeps them per thread: the stack of caught exceptions and the
// count of uncaught ones. A fiber may park inside a catch block, or in a
// destructor during unwinding, and resume on another thread; so they travel.
#pragma once

namespace weft::context {

struct ExceptionState {  // the head of the ABI's __cxa_eh_globals
  void* caught = nullptr;
  unsigned uncaught = 0;

  bool empty() const noexcept { return caught == nullptr && uncaught == 0; }
};

// The calling thread's own state: valid on this thread until it ends.
ExceptionState& thread_exception_state() noexcept;

}  // namespace weft::context
