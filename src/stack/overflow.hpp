// overflow.hpp: a fiber that runs out of stack says so before the process dies.
//
//   weft: stack overflow in fiber #17 "parser" of body 0x55..
//   weft:   262144 bytes from 0x7f..; fault at 0x7f..
//   weft:   spawn it with a larger StackSize, or set WEFT_STACK_SIZE
//
// A guard page raises SIGSEGV on the worker; the handler runs on the worker's
// SignalStack, since the fiber has no stack left to run it on.
#pragma once

#include <cstddef>

#include "stack/stack.hpp"

namespace weft::stack {

// Writes what is known of Stack::owner (never nullptr here) to fd, without a
// newline. Async-signal-safe.
using DescribeOwner = void (*)(void* owner, int fd) noexcept;

// Any thread. For the whole process, and for good; the first call installs,
// later ones only replace `describe`. Faults that are not ours go to the
// handler that was there before.
void install_overflow_handler(DescribeOwner describe) noexcept;

// Any thread, off the stack in question: for guards that do not trap. Prints
// the same report and aborts.
[[noreturn]] void report_overflow(const Stack& stack) noexcept;

// Gives the thread that constructs it a stack for signal handlers; the same
// thread destroys it and has the former one again.
class SignalStack {
 public:
  SignalStack() noexcept;
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

  // False: no memory. Overflow then kills without a report.
  bool installed() const noexcept { return memory_ != nullptr; }

 private:
  std::byte* memory_ = nullptr;  // a guard page, then the stack
  std::size_t bytes_ = 0;
  void* former_ = nullptr;
  std::size_t former_bytes_ = 0;
  int former_flags_ = 0;
};

}  // namespace weft::stack
