// tour.cpp: what weft can do, in a few seconds (`./dev run`).
//
// Each stop does something, says what it showed, and checks it: the program
// fails if one of them is wrong.
#include "tour.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tour {

namespace {

bool terminal = false;
int wrong = 0;
int stops = 0;

const char* colour(const char* code) { return terminal ? code : ""; }
const char* bold() { return colour("\033[1m"); }
const char* dim() { return colour("\033[2m"); }
const char* red() { return colour("\033[31m"); }
const char* plain() { return colour("\033[0m"); }

}  // namespace

void stop(const char* title, const char* shows) {
  std::printf("\n%s%2d  %s%s  %s%s%s\n", bold(), ++stops, title, plain(), dim(),
              shows, plain());
}

void tell(bool right, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::printf("    ");
  std::vprintf(format, arguments);
  va_end(arguments);
  if (!right) ++wrong;
  std::printf("%s%s%s\n", red(), right ? "" : "  WRONG", plain());
  std::fflush(stdout);
}

std::string grouped(double number) {
  const std::string digits = std::to_string(static_cast<long long>(number));
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

double since(Clock::time_point start) {  // milliseconds
  return std::chrono::duration<double, std::milli>(Clock::now() - start)
      .count();
}

}  // namespace tour

int main(int count, char** arguments) {
  if (count > 1 && std::strcmp(arguments[1], "--overflow") == 0) {
    return tour::overflow();
  }
  tour::terminal =
      ::isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
  const auto start = weft::Clock::now();
  const int status = weft::run_main([] {
    std::printf("%sweft%s: a tour with %u workers\n", tour::bold(),
                tour::plain(), weft::this_fiber::runtime().worker_count());
    tour::many_parked();
    tour::many_fibers();
    tour::fork_join();
    tour::timers();
    tour::exceptions();
    tour::migration();
    tour::guards();
    tour::two_runtimes();
    tour::threads();
    tour::locks();
    tour::channels();
    tour::cancellation();
    tour::budgets();
    tour::actors();
    tour::statistics();
  });
  tour::exploration();
  std::printf("\n%s%d stops in %.1f s, %d wrong%s\n", tour::bold(), tour::stops,
              tour::since(start) / 1000, tour::wrong, tour::plain());
  return status != 0 || tour::wrong != 0 ? 1 : 0;
}
