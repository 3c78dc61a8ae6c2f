// guard.hpp: what lies below a stack, and who notices that it was written.
//
// The guard page of a slot always exists in the address space; the kinds
// differ in what it is filled with. See docs/design/stack.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/atomic.hpp"

namespace weft::stack {

// What stops a fiber that runs out of stack; from strong to weak.
enum class GuardKind : std::uint8_t {
  automatic,  // only a wish: the best that works
  madvise,    // MADV_GUARD_INSTALL: traps, costs no mapping (Linux 6.13)
  mprotect,   // traps, costs two mappings each
  canary,     // does not trap: whoever switches away asks canary_intact()
};

constexpr const char* to_string(GuardKind kind) noexcept {
  constexpr const char* kNames[] = {"automatic", "madvise", "mprotect",
                                    "canary"};
  return kNames[static_cast<std::size_t>(kind)];
}

// Any thread. Asks the kernel once.
bool madvise_guards_work() noexcept;

// Any thread. Half of vm.max_map_count: what mprotect guards may cost the
// process if nobody says otherwise.
std::size_t default_mapping_budget() noexcept;

// The guards of one pool.
class Guards {
 public:
  // The budget limits the mprotect guards of the whole process, in mappings.
  // 0: the default one.
  Guards(GuardKind wish, std::size_t mapping_budget) noexcept;
  // Once the memory is unmapped.
  ~Guards();
  Guards(const Guards&) = delete;
  Guards& operator=(const Guards&) = delete;

  // Any thread. Makes the page a guard of the best kind that works.
  GuardKind install(std::byte* page) noexcept;

  // Any thread. What install() answered at worst, or is expected to answer.
  GuardKind weakest() const noexcept {
    return weakest_.load(relaxed);  // set before the stack is handed out
  }

 private:
  bool install_mprotect(std::byte* page) noexcept;

  const GuardKind strongest_;  // tried first, for each page
  const std::size_t mapping_budget_;
  Atomic<GuardKind> weakest_;
  Atomic<std::size_t> protected_{0};  // a counter: mprotect guards of the pool
};

}  // namespace weft::stack
