// check.hpp: what happens when somebody broke a rule.
//
//   WEFT_CHECK   the user's rule (misuse): message, dump, abort; every build.
//   WEFT_ASSERT  our own rule (a broken invariant, named): debug builds.
//
// The dump comes from whoever registered set_crash_dump(): base knows nothing
// of fibers.
#pragma once

#include <cstdarg>

namespace weft::base {

// Any thread. Prints "weft: <text>", the registered dump, and aborts.
[[noreturn]] void die(const char* file, int line, const char* format,
                      ...) noexcept __attribute__((format(printf, 3, 4), cold));

using CrashDump = void (*)() noexcept;
// Any thread. The function prints what it knows to stderr; nullptr: none.
void set_crash_dump(CrashDump dump) noexcept;

}  // namespace weft::base

#define WEFT_CHECK(condition, ...)                        \
  do {                                                    \
    if (!(condition)) [[unlikely]]                        \
      ::weft::base::die(__FILE__, __LINE__, __VA_ARGS__); \
  } while (false)

#if defined(WEFT_DEBUG_CHECKS)
#define WEFT_ASSERT(condition, invariant)                              \
  do {                                                                 \
    if (!(condition)) [[unlikely]]                                     \
      ::weft::base::die(__FILE__, __LINE__, "broken invariant %s: %s", \
                        invariant, #condition);                        \
  } while (false)
#else
#define WEFT_ASSERT(condition, invariant) \
  do {                                    \
  } while (false)
#endif
