#include "stack/overflow.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "stack/slab.hpp"
#include "stack/stack.hpp"
#include "support/death_test.hpp"

namespace weft::stack {
namespace {

using ::testing::ExitedWithCode;
using ::testing::KilledBySignal;

constexpr std::size_t kStackSize = 64 << 10;

void describe(void* owner, int fd) noexcept {
  const char* name = static_cast<const char*>(owner);
  if (write(fd, name, std::strlen(name)) < 0) return;
}

char name[] = "fiber 17 parser";

// A page that nobody may touch, and that is no guard of ours.
volatile char* forbidden_page() {
  return static_cast<volatile char*>(
      mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

__attribute__((noinline)) int deeper(int depth) {
  volatile char frame[512];
  frame[0] = static_cast<char>(depth);
  // Not a tail call, and never ends.
  return depth < 0 ? 0 : deeper(depth + 1) + frame[0];
}
void recurse() { _exit(deeper(1) == 0 ? 1 : 2); }

void run_out_of(Stack* stack) {
  static ucontext_t here;
  static ucontext_t there;
  getcontext(&there);
  there.uc_stack.ss_sp = stack->low;
  there.uc_stack.ss_size = static_cast<std::size_t>(stack->top() - stack->low);
  there.uc_link = nullptr;
  makecontext(&there, &recurse, 0);
  swapcontext(&here, &there);
}

class OverflowDeathTest : public ::testing::TestWithParam<GuardKind> {
 protected:
  void SetUp() override {
    weft::test::die_in_a_fresh_process();
    if (GetParam() == GuardKind::madvise && !madvise_guards_work()) {
      GTEST_SKIP() << "guards by madvise need Linux 6.13, and no emulator; "
                      "the same test runs with mprotect";
    }
    const StackPool pool({.guard = GetParam()});
    ASSERT_EQ(pool.guard(), GetParam());
  }
};

TEST_P(OverflowDeathTest, NamesTheOwnerAndDiesOfTheSignal) {
  EXPECT_EXIT(
      {
        install_overflow_handler(&describe);
        SignalStack signal_stack;
        StackPool pool({.guard = GetParam(), .default_size = kStackSize});
        Stack* stack = pool.take(kStackSize);
        stack->owner = name;
        *const_cast<volatile std::byte*>(stack->low - 1) = {};
      },
      KilledBySignal(SIGSEGV),
      "weft: stack overflow in fiber 17 parser\n"
      "weft:   65536 bytes from 0x[0-9a-f]+; fault at 0x[0-9a-f]+\n"
      "weft:   spawn it with a larger StackSize, or set WEFT_STACK_SIZE");
}

TEST_P(OverflowDeathTest, EndlessRecursionIsReported) {
  EXPECT_EXIT(
      {
        install_overflow_handler(&describe);
        SignalStack signal_stack;
        StackPool pool({.guard = GetParam(), .default_size = kStackSize});
        Stack* stack = pool.take(kStackSize);
        stack->owner = name;
        run_out_of(stack);
      },
      KilledBySignal(SIGSEGV), "weft: stack overflow in fiber 17 parser\n");
}

TEST_P(OverflowDeathTest, WorksOnAnyThreadWithASignalStack) {
  EXPECT_EXIT(
      {
        install_overflow_handler(&describe);
        StackPool pool({.guard = GetParam(), .default_size = kStackSize});
        Stack* stack = pool.take(kStackSize);
        std::thread([stack] {
          SignalStack signal_stack;
          run_out_of(stack);
        }).join();
      },
      KilledBySignal(SIGSEGV), "stack overflow in a fiber without a name");
}

INSTANTIATE_TEST_SUITE_P(Kinds, OverflowDeathTest,
                         ::testing::Values(GuardKind::madvise,
                                           GuardKind::mprotect),
                         [](const auto& kind) {
                           return kind.param == GuardKind::madvise ? "madvise"
                                                                   : "mprotect";
                         });

TEST(OverflowHandlerDeathTest, ChainsToTheFormerHandler) {
  weft::test::die_in_a_fresh_process();
  EXPECT_EXIT(
      {
        struct sigaction former = {};
        former.sa_sigaction = [](int, siginfo_t* info, void*) {
          _exit(info->si_addr != nullptr ? 7 : 8);
        };
        former.sa_flags = SA_SIGINFO;
        sigaction(SIGSEGV, &former, nullptr);
        install_overflow_handler(&describe);
        install_overflow_handler(&describe);  // changes nothing
        SignalStack signal_stack;
        *forbidden_page() = 1;
      },
      ExitedWithCode(7), "");
}

TEST(OverflowHandlerDeathTest, ChainsToAHandlerThatReturns) {
  weft::test::die_in_a_fresh_process();
  EXPECT_EXIT(
      {
        static volatile char* page = forbidden_page();
        struct sigaction former = {};
        former.sa_handler = [](int) {
          mprotect(const_cast<char*>(page), 4096, PROT_READ | PROT_WRITE);
        };
        sigaction(SIGSEGV, &former, nullptr);
        install_overflow_handler(&describe);
        *page = 5;  // faults, is mended, and happens
        _exit(*page);
      },
      ExitedWithCode(5), "");
}

TEST(OverflowHandlerDeathTest, LeavesOtherFaultsDeadly) {
  weft::test::die_in_a_fresh_process();
  EXPECT_EXIT(
      {
        signal(SIGSEGV, SIG_DFL);
        install_overflow_handler(&describe);
        *forbidden_page() = 1;
      },
      KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(
      {
        signal(SIGSEGV, SIG_DFL);
        install_overflow_handler(&describe);
        kill(getpid(), SIGSEGV);
      },
      KilledBySignal(SIGSEGV), "");
}

TEST(OverflowHandlerDeathTest, IgnoresASentSignalThatWasIgnored) {
  weft::test::die_in_a_fresh_process();
  EXPECT_EXIT(
      {
        signal(SIGSEGV, SIG_IGN);
        install_overflow_handler(&describe);
        kill(getpid(), SIGSEGV);
        _exit(3);
      },
      ExitedWithCode(3), "");
}

TEST(OverflowHandlerDeathTest, ReportsADamagedCanary) {
  weft::test::die_in_a_fresh_process();
  EXPECT_EXIT(
      {
        install_overflow_handler(&describe);
        StackPool pool({.guard = GuardKind::canary});
        Stack* stack = pool.take(kStackSize);
        stack->owner = name;
        *(stack->low - 8) = std::byte{1};
        if (!canary_intact(*stack)) report_overflow(*stack);
      },
      KilledBySignal(SIGABRT),
      "weft: stack overflow in fiber 17 parser\nweft:   65536 bytes.*");
}

TEST(SlabRegistry, KnowsGuardsOfLivePoolsOnly) {
  std::byte* low = nullptr;
  {
    StackPool pool({.default_size = kStackSize});
    Stack* a = pool.take(kStackSize);
    Stack* b = pool.take(kStackSize);
    EXPECT_EQ(Slab::find_by_guard(a->low - 1), a);
    EXPECT_EQ(Slab::find_by_guard(b->low - 1), b);
    EXPECT_EQ(Slab::find_by_guard(b->low - page_size()), b);
    EXPECT_EQ(Slab::find_by_guard(a->low), nullptr);
    EXPECT_EQ(Slab::find_by_guard(b->top() - 1), nullptr);
    EXPECT_EQ(Slab::find_by_guard(b->top()), nullptr);
    low = a->low;
    pool.give(a);
    pool.give(b);
  }
  EXPECT_EQ(Slab::find_by_guard(low - 1), nullptr);
}

TEST(SlabRegistry, GrowsWithTheNumberOfSlabs) {
  std::vector<std::unique_ptr<StackPool>> pools;
  std::vector<Stack*> stacks;
  for (int i = 0; i < 1100; ++i) {
    pools.push_back(std::make_unique<StackPool>(PoolOptions{}));
    stacks.push_back(pools.back()->take(8 << 10));
    ASSERT_NE(stacks.back(), nullptr);
  }
  for (std::size_t i = 0; i < pools.size(); ++i) {
    EXPECT_EQ(Slab::find_by_guard(stacks[i]->low - 1), stacks[i]);
    pools[i]->give(stacks[i]);
  }
}

TEST(SlabRegistry, IsReadableWhilePoolsComeAndGo) {
  StackPool pool({.default_size = kStackSize});
  Stack* stack = pool.take(kStackSize);
  Atomic<bool> done{false};
  std::thread writer([&done] {
    for (std::size_t i = 0; i < 2000; ++i) {
      StackPool other({.default_size = kStackSize * (1 + i % 3)});
      other.give(other.take(kStackSize));
    }
    done.store(true);
  });
  while (!done.load()) ASSERT_EQ(Slab::find_by_guard(stack->low - 1), stack);
  writer.join();
  pool.give(stack);
}

TEST(SignalStack, IsTheThreadsWhileItLives) {
  stack_t before = {};
  stack_t during = {};
  stack_t after = {};
  sigaltstack(nullptr, &before);
  {
    SignalStack signal_stack;
    ASSERT_TRUE(signal_stack.installed());
    sigaltstack(nullptr, &during);
  }
  sigaltstack(nullptr, &after);
  EXPECT_NE(during.ss_sp, before.ss_sp);
  EXPECT_GE(during.ss_size, std::size_t{64} << 10);
  EXPECT_EQ(after.ss_sp, before.ss_sp);
  EXPECT_EQ(after.ss_flags, before.ss_flags);
}

}  // namespace
}  // namespace weft::stack
