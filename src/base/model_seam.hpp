// model_seam.hpp: where the model build hands an operation to its checker.
//
// On a thread that runs a model, model_seam() is the checker, and Atomic,
// Plain, pause(), the futex and the checks go to it. Elsewhere it is nullptr,
// and they do what they do in every build.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <source_location>

namespace weft::base {

#if defined(__cpp_lib_source_location)
using Site = std::source_location;
#else
class Site {  // the same for clang 14, which knows less of the function
 public:
  static constexpr Site current(const char* file = __builtin_FILE(),
                                const char* function = __builtin_FUNCTION(),
                                unsigned line = __builtin_LINE(),
                                unsigned column = __builtin_COLUMN()) noexcept {
    Site site;
    site.file_ = file;
    site.function_ = function;
    site.line_ = line;
    site.column_ = column;
    return site;
  }
  constexpr const char* file_name() const noexcept { return file_; }
  constexpr const char* function_name() const noexcept { return function_; }
  constexpr unsigned line() const noexcept { return line_; }
  constexpr unsigned column() const noexcept { return column_; }

 private:
  const char* file_ = "";
  const char* function_ = "";
  unsigned line_ = 0;
  unsigned column_ = 0;
};
#endif

// An atomic object as the checker sees it: the value is a string of bits.
struct ModelWord {
  const void* address;
  std::size_t size;
  std::uint64_t bits;  // what memory holds: the latest store, or the first one
};

enum class Change : std::uint8_t { exchange, add, sub, bit_or, bit_and };

class ModelSeam {
 public:
  virtual ~ModelSeam() = default;

  virtual void created(ModelWord word) noexcept = 0;
  virtual std::uint64_t load(ModelWord word, std::memory_order order,
                             Site site) noexcept = 0;
  virtual void store(ModelWord word, std::uint64_t bits,
                     std::memory_order order, Site site) noexcept = 0;
  // Answers what was there.
  virtual std::uint64_t change(ModelWord word, Change what,
                               std::uint64_t operand, std::memory_order order,
                               Site site) noexcept = 0;
  // False: `expected` is what was read instead.
  virtual bool compare_exchange(ModelWord word, std::uint64_t& expected,
                                std::uint64_t desired,
                                std::memory_order success,
                                std::memory_order failure, bool weak,
                                Site site) noexcept = 0;

  // Every other thread passes a full barrier between two of its operations.
  virtual bool has_heavy_barriers() const noexcept = 0;
  virtual void heavy_barrier(Site site) noexcept = 0;

  // Plain data: checked for races, no step of its own.
  virtual void plain(const void* address, bool writes, Site site) noexcept = 0;

  // In a loop that waits: until a word that it read has changed.
  virtual void pause(Site site) noexcept = 0;
  virtual void futex_wait(ModelWord word, std::uint32_t expected,
                          bool has_deadline) noexcept = 0;
  virtual void futex_wake(ModelWord word, int count) noexcept = 0;

  // A check failed: ends this execution.
  [[noreturn]] virtual void fail(const char* file, int line,
                                 const char* text) noexcept = 0;
};

// The checker of the calling thread, or nullptr.
ModelSeam* model_seam() noexcept;
void set_model_seam(ModelSeam* seam) noexcept;

}  // namespace weft::base
