// overflow.cpp: the handler of SIGSEGV and SIGBUS.
//
// Edges
//   [former]  install_overflow_handler() -> on_fault(): the actions to chain
//   to.
#include "stack/overflow.hpp"

#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <mutex>

#include "base/atomic.hpp"
#include "base/line.hpp"
#include "base/spin_lock.hpp"
#include "stack/slab.hpp"

namespace weft::stack {

namespace {

constinit base::SpinLock install_lock;
constinit Atomic<DescribeOwner> describe_owner{nullptr};
constinit Atomic<bool> former_known{false};
struct sigaction former_segv;  // immutable once former_known
struct sigaction former_bus;   // immutable once former_known

// Async-signal-safe. `fault` is nullptr where nothing trapped.
void print_report(const Stack& stack, const void* fault) noexcept {
  base::Line().text("weft: stack overflow in ").write();
  const auto describe =
      describe_owner.load(seq_cst);               // no edge to reason about
  void* const owner = stack.owner.load(relaxed);  // its own thread
  if (describe != nullptr && owner != nullptr) {
    describe(owner, STDERR_FILENO);
  } else {
    base::Line().text("a fiber without a name").write();
  }
  const auto low = reinterpret_cast<std::uintptr_t>(stack.low);
  base::Line line;
  line.text("\nweft:   ")
      .number(stack.size)
      .text(" bytes from ")
      .number(low, 16);
  if (fault != nullptr) {
    line.text("; fault at ")
        .number(reinterpret_cast<std::uintptr_t>(fault), 16);
  } else {
    line.text("; what was below it is overwritten");
  }
  line.text("\n").write();
  base::Line()
      .text(
          "weft:   spawn it with a larger StackSize, or set WEFT_STACK_SIZE\n")
      .write();
}

void restore_default(int signal) noexcept {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
}

// Does what the kernel would have done had we not been here.
void chain(int signal, siginfo_t* info, void* context) noexcept {
  if (!former_known.load(acquire)) return;  // [former]
  const struct sigaction& former = signal == SIGBUS ? former_bus : former_segv;
  const bool sent = info->si_code <= 0;  // by kill(): will not fault again
  if ((former.sa_flags & SA_SIGINFO) == 0) {
    if (former.sa_handler == SIG_IGN && sent) return;
    if (former.sa_handler == SIG_DFL || former.sa_handler == SIG_IGN) {
      restore_default(signal);
      if (sent) ::raise(signal);  // blocked until we return
      return;
    }
  }
  ::pthread_sigmask(SIG_BLOCK, &former.sa_mask, nullptr);
  if ((former.sa_flags & SA_NODEFER) != 0) {
    sigset_t self;
    ::sigemptyset(&self);
    ::sigaddset(&self, signal);
    ::pthread_sigmask(SIG_UNBLOCK, &self, nullptr);
  }
  if ((former.sa_flags & SA_SIGINFO) != 0) {
    former.sa_sigaction(signal, info, context);
  } else {
    former.sa_handler(signal);
  }
}

void on_fault(int signal, siginfo_t* info, void* context) noexcept {
  const int saved = errno;
  Stack* const stack =
      info->si_code > 0 ? Slab::find_by_guard(info->si_addr) : nullptr;
  if (stack != nullptr) {
    print_report(*stack, info->si_addr);
    // The instruction faults again when we return, so that a core file shows
    // the fiber where it ran out.
    restore_default(signal);
  } else {
    chain(signal, info, context);
  }
  errno = saved;
}

}  // namespace

void install_overflow_handler(DescribeOwner describe) noexcept {
  describe_owner.store(describe, seq_cst);  // no edge to reason about
  const std::lock_guard guard(install_lock);
  if (former_known.load(relaxed)) return;  // written under install_lock
  ::sigaction(SIGSEGV, nullptr, &former_segv);
  ::sigaction(SIGBUS, nullptr, &former_bus);
  former_known.store(true, release);  // [former]
  struct sigaction action = {};
  action.sa_sigaction = &on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGSEGV, &action, nullptr);
  ::sigaction(SIGBUS, &action, nullptr);
}

void report_overflow(const Stack& stack) noexcept {
  print_report(stack, nullptr);
  std::abort();
}

SignalStack::SignalStack() noexcept {
  // The kernel's own frame grows with the vector registers; the rest is for
  // the handler, describe(), and whoever we chain to.
  const auto page = page_size();
  const auto kernel = std::max<std::size_t>(::getauxval(AT_MINSIGSTKSZ), 2048);
  const auto usable = ((kernel + (64 << 10)) + page - 1) / page * page;
  void* memory = ::mmap(nullptr, usable + page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return;
  ::mprotect(memory, page, PROT_NONE);
  stack_t ours = {};
  ours.ss_sp = static_cast<std::byte*>(memory) + page;
  ours.ss_size = usable;
  stack_t former = {};
  if (::sigaltstack(&ours, &former) != 0) {
    ::munmap(memory, usable + page);
    return;
  }
  memory_ = static_cast<std::byte*>(memory);
  bytes_ = usable + page;
  former_ = former.ss_sp;
  former_bytes_ = former.ss_size;
  former_flags_ = former.ss_flags;
}

SignalStack::~SignalStack() {
  if (memory_ == nullptr) return;
  stack_t former = {};
  former.ss_sp = former_;
  former.ss_size = former_bytes_;
  former.ss_flags = former_flags_;
  ::sigaltstack(&former, nullptr);
  ::munmap(memory_, bytes_);
}

}  // namespace weft::stack
