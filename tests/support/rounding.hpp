// rounding.hpp: how this thread rounds now, without <cfenv>'s detours.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <cstdint>

namespace weft::test {

// 0: to the nearest, 1 to 3: others, in the order of the processor.
inline unsigned rounding() {
#if defined(__x86_64__)
  return (_mm_getcsr() >> 13) & 3;
#else
  std::uint64_t fpcr;
  asm volatile("mrs %0, fpcr" : "=r"(fpcr));
  return static_cast<unsigned>(fpcr >> 22) & 3;
#endif
}

inline void set_rounding(unsigned mode) {
#if defined(__x86_64__)
  _mm_setcsr((_mm_getcsr() & ~0x6000u) | mode << 13);
#else
  std::uint64_t fpcr;
  asm volatile("mrs %0, fpcr" : "=r"(fpcr));
  fpcr = (fpcr & ~(std::uint64_t{3} << 22)) | std::uint64_t{mode} << 22;
  asm volatile("msr fpcr, %0" : : "r"(fpcr));
#endif
}

}  // namespace weft::test
