// context_x86_64_test.cpp: what holds for this processor alone.
#include <gtest/gtest.h>
#include <xmmintrin.h>

#include <cstddef>
#include <cstdint>

#include "context/context.hpp"
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

// R-FIBER-13: X1
TEST(Context, KeepsAllControlBitsOfMxcsrOfEachStackApart) {
  constexpr unsigned kFlushToZero = 0x8000;
  const auto before = _mm_getcsr();
  unsigned inside = 0;
  Coroutine coroutine(
      [](void* argument) {
        _mm_setcsr(_mm_getcsr() | kFlushToZero);
        Coroutine::current().leave();
        *static_cast<unsigned*>(argument) = _mm_getcsr();
      },
      &inside);
  coroutine.enter();
  EXPECT_EQ(_mm_getcsr() & 0xFFC0u, before & 0xFFC0u);
  coroutine.enter();
  EXPECT_EQ(inside & kFlushToZero, kFlushToZero);
  EXPECT_EQ(_mm_getcsr() & 0xFFC0u, before & 0xFFC0u);
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

}  // namespace
}  // namespace weft::context
