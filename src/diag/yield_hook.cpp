// yield_hook.cpp: the check that compilers insert.
//
// GCC and clang call __sanitizer_cov_trace_pc() from the code of a target that
// weft_enable_yield_checks() was called for (cmake/WeftYieldChecks.cmake): at
// the entry of each function and in each loop, in fact in each block of code.
// That may be anywhere: before main(), on any thread, under any lock. This
// file must not be instrumented itself, nor be subject to link-time
// optimization, which does not know of the calls.

#include <weft/yield_check.hpp>

extern "C" {

// Whoever asks for this gets the other: sanitizers have a weak one.
void weft_yield_checks();
void weft_yield_checks() {}

// NOLINTNEXTLINE(bugprone-reserved-identifier): the compilers' name for it
void __sanitizer_cov_trace_pc();
// NOLINTNEXTLINE(bugprone-reserved-identifier)
void __sanitizer_cov_trace_pc() { weft::yield_check(); }

}  // extern "C"
