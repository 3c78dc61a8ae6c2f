// context_aarch64_test.cpp: what holds for this processor alone.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "context/context.hpp"
#include "unit/context/coroutine.hpp"

asm(R"(
        .text
        .globl  weft_test_switch_with_sentinels
        .type   weft_test_switch_with_sentinels, %function
weft_test_switch_with_sentinels:
        stp     x29, x30, [sp, #-176]!
        stp     x19, x20, [sp, #16]
        stp     x21, x22, [sp, #32]
        stp     x23, x24, [sp, #48]
        stp     x25, x26, [sp, #64]
        stp     x27, x28, [sp, #80]
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        str     x2, [sp, #160]
        add     x19, x2, #1
        add     x20, x2, #2
        add     x21, x2, #3
        add     x22, x2, #4
        add     x23, x2, #5
        add     x24, x2, #6
        add     x25, x2, #7
        add     x26, x2, #8
        add     x27, x2, #9
        add     x28, x2, #10
        add     x29, x2, #11
        add     x9, x2, #12
        fmov    d8, x9
        add     x9, x2, #13
        fmov    d9, x9
        add     x9, x2, #14
        fmov    d10, x9
        add     x9, x2, #15
        fmov    d11, x9
        add     x9, x2, #16
        fmov    d12, x9
        add     x9, x2, #17
        fmov    d13, x9
        add     x9, x2, #18
        fmov    d14, x9
        add     x9, x2, #19
        fmov    d15, x9
        bl      weft_switch_context
        ldr     x2, [sp, #160]
        mov     x0, #0
        add     x9, x2, #1
        eor     x9, x9, x19
        orr     x0, x0, x9
        add     x9, x2, #2
        eor     x9, x9, x20
        orr     x0, x0, x9
        add     x9, x2, #3
        eor     x9, x9, x21
        orr     x0, x0, x9
        add     x9, x2, #4
        eor     x9, x9, x22
        orr     x0, x0, x9
        add     x9, x2, #5
        eor     x9, x9, x23
        orr     x0, x0, x9
        add     x9, x2, #6
        eor     x9, x9, x24
        orr     x0, x0, x9
        add     x9, x2, #7
        eor     x9, x9, x25
        orr     x0, x0, x9
        add     x9, x2, #8
        eor     x9, x9, x26
        orr     x0, x0, x9
        add     x9, x2, #9
        eor     x9, x9, x27
        orr     x0, x0, x9
        add     x9, x2, #10
        eor     x9, x9, x28
        orr     x0, x0, x9
        add     x9, x2, #11
        eor     x9, x9, x29
        orr     x0, x0, x9
        add     x9, x2, #12
        fmov    x10, d8
        eor     x9, x9, x10
        orr     x0, x0, x9
        add     x9, x2, #13
        fmov    x10, d9
        eor     x9, x9, x10
        orr     x0, x0, x9
        add     x9, x2, #14
        fmov    x10, d10
        eor     x9, x9, x10
        orr     x0, x0, x9
        add     x9, x2, #15
        fmov    x10, d11
        eor     x9, x9, x10
        orr     x0, x0, x9
        add     x9, x2, #16
        fmov    x10, d12
        eor     x9, x9, x10
        orr     x0, x0, x9
        add     x9, x2, #17
        fmov    x10, d13
        eor     x9, x9, x10
        orr     x0, x0, x9
        add     x9, x2, #18
        fmov    x10, d14
        eor     x9, x9, x10
        orr     x0, x0, x9
        add     x9, x2, #19
        fmov    x10, d15
        eor     x9, x9, x10
        orr     x0, x0, x9
        ldp     d14, d15, [sp, #144]
        ldp     d12, d13, [sp, #128]
        ldp     d10, d11, [sp, #112]
        ldp     d8, d9, [sp, #96]
        ldp     x27, x28, [sp, #80]
        ldp     x25, x26, [sp, #64]
        ldp     x23, x24, [sp, #48]
        ldp     x21, x22, [sp, #32]
        ldp     x19, x20, [sp, #16]
        ldp     x29, x30, [sp], #176
        ret
        .size   weft_test_switch_with_sentinels, . - weft_test_switch_with_sentinels
)");

namespace weft::context {
namespace {

using test::Coroutine;

// R-FIBER-09
TEST(ContextOnAarch64, HasItsStackPointerFirstAndTheReturnAddressAtHand) {
  EXPECT_EQ(offsetof(Context, sp), 0u);
  EXPECT_EQ(offsetof(Context, fp), 8u);
  EXPECT_EQ(offsetof(Context, lr), 16u);
  EXPECT_EQ(offsetof(Context, x19), 24u);
  EXPECT_EQ(offsetof(Context, x22), 48u);
  EXPECT_EQ(offsetof(Context, fpcr), 56u);
}

// R-FIBER-09
TEST(ContextOnAarch64, HoldsTheRegistersOfAStackThatWasLeft) {
  Coroutine coroutine(
      [](void*) { (void)Coroutine::current().leave_with_sentinels(100); },
      nullptr);
  coroutine.enter();
  const Context& saved = coroutine.inside();
  EXPECT_EQ(saved.x19, 101u);
  EXPECT_EQ(saved.x20, 102u);
  EXPECT_EQ(saved.x21, 103u);
  EXPECT_EQ(saved.x22, 104u);
  EXPECT_EQ(saved.fp, reinterpret_cast<void*>(111));
  ASSERT_NE(saved.sp, nullptr);
  const auto& rest = *static_cast<const StackPart*>(saved.sp);
  EXPECT_EQ(rest.x23, 105u);
  EXPECT_EQ(rest.x28, 110u);
  EXPECT_EQ(rest.d8, 112u);
  EXPECT_EQ(rest.d15, 119u);
  coroutine.enter();
  EXPECT_TRUE(coroutine.ended());
}

std::uint64_t fpcr() {
  std::uint64_t bits;
  asm volatile("mrs %0, fpcr" : "=r"(bits));
  return bits;
}

// R-FIBER-13: X1
TEST(ContextOnAarch64, KeepsFlushToZeroOfEachStackApart) {
  constexpr std::uint64_t kFlushToZero = 1 << 24;
  const auto before = fpcr();
  std::uint64_t inside = 0;
  Coroutine coroutine(
      [](void* argument) {
        asm volatile("msr fpcr, %0" : : "r"(fpcr() | kFlushToZero));
        Coroutine::current().leave();
        *static_cast<std::uint64_t*>(argument) = fpcr();
      },
      &inside);
  coroutine.enter();
  EXPECT_EQ(fpcr(), before);
  coroutine.enter();
  EXPECT_EQ(inside & kFlushToZero, kFlushToZero);
  EXPECT_EQ(fpcr(), before);
}

}  // namespace
}  // namespace weft::context
