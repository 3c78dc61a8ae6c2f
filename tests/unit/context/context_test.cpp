#include "context/context.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <unwind.h>
#include <xmmintrin.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/watchdog.hpp"
#include "unit/context/coroutine.hpp"

asm(R"(
        .text
        .globl  weft_test_switch_with_sentinels
        .type   weft_test_switch_with_sentinels, @function
weft_test_switch_with_sentinels:
        pushq   %rbx
        pushq   %rbp
        pushq   %r12
        pushq   %r13
        pushq   %r14
        pushq   %r15
        pushq   %rdx
        leaq    1(%rdx), %rbx
        leaq    2(%rdx), %rbp
        leaq    3(%rdx), %r12
        leaq    4(%rdx), %r13
        leaq    5(%rdx), %r14
        leaq    6(%rdx), %r15
        call    weft_switch_context
        popq    %rdx
        leaq    1(%rdx), %rax
        xorq    %rbx, %rax
        leaq    2(%rdx), %rcx
        xorq    %rbp, %rcx
        orq     %rcx, %rax
        leaq    3(%rdx), %rcx
        xorq    %r12, %rcx
        orq     %rcx, %rax
        leaq    4(%rdx), %rcx
        xorq    %r13, %rcx
        orq     %rcx, %rax
        leaq    5(%rdx), %rcx
        xorq    %r14, %rcx
        orq     %rcx, %rax
        leaq    6(%rdx), %rcx
        xorq    %r15, %rcx
        orq     %rcx, %rax
        popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rbp
        popq    %rbx
        ret
        .size   weft_test_switch_with_sentinels, . - weft_test_switch_with_sentinels
)");

namespace weft::context {
namespace {

using test::Coroutine;
using weft::test::Watchdog;

std::uint16_t x87_control() {
  std::uint16_t control = 0;
  asm volatile("fnstcw %0" : "=m"(control));
  return control;
}
void set_x87_control(std::uint16_t control) {
  asm volatile("fldcw %0" : : "m"(control));
}

// R-FIBER-09
TEST(Context, HasItsStackPointerFirstAndSixRegistersBehindIt) {
  EXPECT_EQ(offsetof(Context, sp), 0u);
  EXPECT_EQ(offsetof(Context, rbx), 8u);
  EXPECT_EQ(offsetof(Context, rbp), 16u);
  EXPECT_EQ(offsetof(Context, r12), 24u);
  EXPECT_EQ(offsetof(Context, r13), 32u);
  EXPECT_EQ(offsetof(Context, r14), 40u);
  EXPECT_EQ(offsetof(Context, r15), 48u);
}

// R-FIBER-09
TEST(Context, HoldsTheRegistersOfAStackThatWasLeft) {
  Coroutine coroutine(
      [](void*) { (void)Coroutine::current().leave_with_sentinels(100); },
      nullptr);
  coroutine.enter();
  const Context& saved = coroutine.inside();
  EXPECT_EQ(saved.rbx, 101u);
  EXPECT_EQ(saved.rbp, 102u);
  EXPECT_EQ(saved.r12, 103u);
  EXPECT_EQ(saved.r13, 104u);
  EXPECT_EQ(saved.r14, 105u);
  EXPECT_EQ(saved.r15, 106u);
  EXPECT_NE(saved.sp, nullptr);
  coroutine.enter();
  EXPECT_TRUE(coroutine.ended());
}

// R-FIBER-10
TEST(Context, KeepsCalleeSavedRegistersOverAMillionSwitches) {
  Watchdog watchdog;
  constexpr std::uint64_t kRounds = 500'000;  // two switches each
  struct Shared {
    std::uint64_t wrong = 0;
  } shared;
  Coroutine coroutine(
      [](void* argument) {
        auto& result = *static_cast<Shared*>(argument);
        for (std::uint64_t i = 0; i < kRounds; ++i) {
          result.wrong |= Coroutine::current().leave_with_sentinels(~i);
        }
      },
      &shared);
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i <= kRounds; ++i) {
    wrong |= coroutine.enter_with_sentinels(i * 1000);
  }
  EXPECT_TRUE(coroutine.ended());
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(shared.wrong, 0u);
}

// R-FIBER-11
TEST(Context, CallsItsEntryWithTheArgumentAndThenCleanupOnce) {
  constexpr int kContexts = 1000;
  std::vector<int> seen(kContexts, -1);
  struct Argument {
    int index;
    std::vector<int>* seen;
  };
  for (int i = 0; i < kContexts; ++i) {
    Argument argument{i, &seen};
    Coroutine coroutine(
        [](void* given) {
          const auto& a = *static_cast<Argument*>(given);
          (*a.seen)[static_cast<std::size_t>(a.index)] = a.index;
        },
        &argument);
    coroutine.enter();
    ASSERT_TRUE(coroutine.ended());
    ASSERT_EQ(coroutine.cleanups(), 1);
  }
  for (int i = 0; i < kContexts; ++i) {
    EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
  }
}

// R-FIBER-12
TEST(Context, StartsOnAStackThatIsAlignedForTheAbi) {
  struct Found {
    std::uintptr_t misaligned = 1;
    std::string text;
  } found;
  Coroutine coroutine(
      [](void* argument) {
        auto& out = *static_cast<Found*>(argument);
        alignas(16) std::array<float, 4> local{};
        const auto value = _mm_set_ps(4, 3, 2, 1);
        asm volatile("movaps %1, %0" : "=m"(local) : "x"(value));
        out.misaligned = reinterpret_cast<std::uintptr_t>(&local) % 16;
        char text[64];
        std::snprintf(text, sizeof text, "%.3f %d",
                      static_cast<double>(local[3]) + 0.125, 7);
        out.text = text;
      },
      &found);
  coroutine.enter();
  EXPECT_EQ(found.misaligned, 0u);
  EXPECT_EQ(found.text, "4.125 7");
}

// R-FIBER-13: X1
TEST(Context, KeepsTheRoundingModeOfEachStackApart) {
  const auto before = _mm_getcsr();
  struct Seen {
    unsigned inside = 0;
    unsigned after = 0;
  } seen;
  Coroutine coroutine(
      [](void* argument) {
        auto& out = *static_cast<Seen*>(argument);
        _mm_setcsr((_mm_getcsr() & ~0x6000u) | 0x6000u);  // towards zero
        Coroutine::current().leave();
        out.inside = _mm_getcsr() & 0x6000u;
        Coroutine::current().leave();
        out.after = _mm_getcsr() & 0x6000u;
      },
      &seen);
  coroutine.enter();
  EXPECT_EQ(_mm_getcsr() & 0xFFC0u, before & 0xFFC0u);
  _mm_setcsr((before & ~0x6000u) | 0x2000u);  // downwards
  coroutine.enter();
  EXPECT_EQ(seen.inside, 0x6000u);
  EXPECT_EQ(_mm_getcsr() & 0x6000u, 0x2000u);
  coroutine.enter();
  EXPECT_EQ(seen.after, 0x6000u);
  _mm_setcsr(before);
}

// R-FIBER-13: X1
TEST(Context, KeepsTheX87ControlWordOfEachStackApart) {
  const auto before = x87_control();
  std::uint16_t inside = 0;
  Coroutine coroutine(
      [](void* argument) {
        set_x87_control(static_cast<std::uint16_t>(x87_control() & ~0x300));
        Coroutine::current().leave();
        *static_cast<std::uint16_t*>(argument) = x87_control();
      },
      &inside);
  coroutine.enter();
  EXPECT_EQ(x87_control(), before);
  coroutine.enter();
  EXPECT_EQ(inside & 0x300, 0);
  EXPECT_EQ(x87_control(), before);
}

// R-FIBER-13: X3
TEST(Context, StartsWithTheDirectionFlagClear) {
  std::uint64_t flags = ~std::uint64_t{0};
  Coroutine coroutine(
      [](void* argument) {
        *static_cast<std::uint64_t*>(argument) =
            __builtin_ia32_readeflags_u64();
      },
      &flags);
  coroutine.enter();
  EXPECT_EQ(flags & 0x400u, 0u);
}

// R-FIBER-13: X4
TEST(Context, IsContinuedByAnotherThread) {
  std::vector<pid_t> ran;  // not pthread_self(): the compiler may keep that
  Coroutine coroutine(
      [](void* argument) {
        auto& out = *static_cast<std::vector<pid_t>*>(argument);
        out.push_back(::gettid());
        Coroutine& self = Coroutine::current();
        self.leave();
        out.push_back(::gettid());
      },
      &ran);
  coroutine.enter();
  pid_t other_id = 0;
  std::thread other([&] {
    other_id = ::gettid();
    coroutine.enter();
  });
  other.join();
  EXPECT_TRUE(coroutine.ended());
  EXPECT_EQ(ran, (std::vector<pid_t>{::gettid(), other_id}));
}

[[gnu::noinline]] int throw_at_depth(int depth) {
  if (depth == 0) throw std::runtime_error("deep");
  const std::string local(static_cast<std::size_t>(depth), 'x');
  return throw_at_depth(depth - 1) + static_cast<int>(local.size());
}

TEST(Context, UnwindsAnExceptionThatIsCaughtOnItsStack) {
  std::vector<std::string> caught;
  Coroutine coroutine(
      [](void* argument) {
        auto& out = *static_cast<std::vector<std::string>*>(argument);
        for (int depth = 1; depth <= 100; ++depth) {
          try {
            (void)throw_at_depth(depth);
          } catch (const std::runtime_error& error) {
            out.emplace_back(error.what());
          }
          Coroutine::current().leave();
        }
      },
      &caught);
  while (!coroutine.ended()) coroutine.enter();
  EXPECT_EQ(caught, std::vector<std::string>(100, "deep"));
}

TEST(Context, EndsABacktraceAtItsEntry) {
  int frames = 0;
  Coroutine coroutine(
      [](void* argument) {
        _Unwind_Backtrace(
            [](_Unwind_Context*, void* count) {
              ++*static_cast<int*>(count);
              return *static_cast<int*>(count) < 1000 ? _URC_NO_REASON
                                                      : _URC_END_OF_STACK;
            },
            argument);
      },
      &frames);
  coroutine.enter();
  EXPECT_GE(frames, 2);
  EXPECT_LE(frames, 10);
}

}  // namespace
}  // namespace weft::context
