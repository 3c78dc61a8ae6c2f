#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

#include "base/atomic.hpp"

namespace weft::base {

namespace {
Atomic<CrashDump> crash_dump{nullptr};
}

void set_crash_dump(CrashDump dump) noexcept {
  crash_dump.store(dump, seq_cst);  // rare; no edge to reason about
}

void die(const char* file, int line, const char* format, ...) noexcept {
  char text[512];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
#if defined(WEFT_MODEL)
  if (auto* seam = model_seam()) seam->fail(file, line, text);
#endif
  std::fprintf(stderr, "weft: %s (%s:%d)\n", text, file, line);
  // Taken, not read: a failure inside the dump must not dump again.
  if (auto dump = crash_dump.exchange(nullptr, seq_cst)) dump();
  std::fflush(stderr);
  std::abort();
}

}  // namespace weft::base
