// line.hpp: a line of text, put together without the library.
//
// Async-signal-safe: for handlers that report and die.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace weft::base {

// What does not fit is left out.
class Line {
 public:
  Line& text(const char* text) noexcept {
    while (*text != '\0') put(*text++);
    return *this;
  }
  Line& number(std::uintptr_t value, unsigned base = 10) noexcept {
    char digits[24];
    int count = 0;
    do {
      digits[count++] = "0123456789abcdef"[value % base];
      value /= base;
    } while (value != 0);
    if (base == 16) text("0x");
    while (count > 0) put(digits[--count]);
    return *this;
  }
  void write(int fd = STDERR_FILENO) noexcept {
    // Nothing can be done about a refusal.
    if (::write(fd, text_, length_) < 0) return;
  }

 private:
  void put(char c) noexcept {
    if (length_ < sizeof text_) text_[length_++] = c;
  }
  char text_[160];
  std::size_t length_ = 0;
};

}  // namespace weft::base
