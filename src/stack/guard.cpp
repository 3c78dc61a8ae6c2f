#include "stack/guard.hpp"

#include <sys/mman.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "base/atomic.hpp"
#include "base/fault.hpp"
#include "stack/slab.hpp"
#include "stack/stack.hpp"

namespace weft::stack {

namespace {

constexpr int kGuardInstall = 102;            // MADV_GUARD_INSTALL, Linux 6.13
constexpr std::size_t kMappingsPerGuard = 2;  // the guard, and the rest
constexpr std::size_t kUsualMaxMapCount = 65530;

// A counter of the whole process, hence relaxed throughout.
constinit Atomic<std::size_t> mprotect_guards{0};

// The canary is the end of the guard page: the first line that is written
// when a stack grows beyond `low`.
using Canary = std::array<std::uint64_t, kCacheLine / sizeof(std::uint64_t)>;

Canary pattern_for(const std::byte* address) noexcept {
  Canary pattern;
  auto word = reinterpret_cast<std::uintptr_t>(address);
  for (auto& each : pattern) {
    word = (word ^ 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    each = word;
  }
  return pattern;
}

// Emulators take an advice that they do not know for done. So the kernel is to
// write into a guard: it must refuse.
bool traps(void* page) noexcept {
  return ::getrandom(page, 1, GRND_NONBLOCK) == -1 && errno == EFAULT;
}

bool probe_madvise_guards() noexcept {
  void* page = ::mmap(nullptr, page_size(), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  const bool works =
      ::madvise(page, page_size(), kGuardInstall) == 0 && traps(page);
  ::munmap(page, page_size());
  return works;
}

GuardKind strongest(GuardKind wish) noexcept {
  if (wish == GuardKind::mprotect || wish == GuardKind::canary) return wish;
  return madvise_guards_work() ? GuardKind::madvise : GuardKind::mprotect;
}

std::size_t read_max_map_count() noexcept {
  std::size_t count = kUsualMaxMapCount;
  if (std::FILE* file = std::fopen("/proc/sys/vm/max_map_count", "re")) {
    if (std::fscanf(file, "%zu", &count) != 1) count = kUsualMaxMapCount;
    std::fclose(file);
  }
  return count;
}

}  // namespace

bool madvise_guards_work() noexcept {
  static const bool works = probe_madvise_guards();
  return works;
}

std::size_t default_mapping_budget() noexcept {
  static const std::size_t budget = read_max_map_count() / 2;
  return budget;
}

Guards::Guards(GuardKind wish, std::size_t mapping_budget) noexcept
    : strongest_(strongest(wish)),
      mapping_budget_(mapping_budget != 0 ? mapping_budget
                                          : default_mapping_budget()),
      weakest_(strongest_) {}

Guards::~Guards() {
  mprotect_guards.fetch_sub(protected_.load(relaxed), relaxed);
}

// Steps down from kind to kind until one works: a canary always does.
GuardKind Guards::install(std::byte* page) noexcept {
  auto kind = strongest_;
  if (kind == GuardKind::madvise &&
      (base::refused(base::FaultPoint::guard_madvise) ||
       ::madvise(page, page_size(), kGuardInstall) != 0)) {
    kind = GuardKind::mprotect;
  }
  if (kind == GuardKind::mprotect && !install_mprotect(page)) {
    kind = GuardKind::canary;
  }
  if (kind == GuardKind::canary) {
    std::byte* const place = page + page_size() - sizeof(Canary);
    const Canary pattern = pattern_for(place);
    std::memcpy(place, pattern.data(), sizeof pattern);
  }
  auto seen = weakest();
  while (seen < kind && !weakest_.compare_exchange_weak(seen, kind, relaxed)) {
  }
  return kind;
}

bool Guards::install_mprotect(std::byte* page) noexcept {
  const auto before = mprotect_guards.fetch_add(1, relaxed);
  if ((before + 1) * kMappingsPerGuard <= mapping_budget_ &&
      !base::refused(base::FaultPoint::guard_mprotect) &&
      ::mprotect(page, page_size(), PROT_NONE) == 0) {
    protected_.fetch_add(1, relaxed);
    return true;
  }
  mprotect_guards.fetch_sub(1, relaxed);
  return false;
}

bool canary_intact(const Stack& stack) noexcept {
  if (stack.guard != GuardKind::canary) return true;
  const std::byte* const place = stack.low - sizeof(Canary);
  const Canary pattern = pattern_for(place);
  return std::memcmp(place, pattern.data(), sizeof pattern) == 0;
}

}  // namespace weft::stack
