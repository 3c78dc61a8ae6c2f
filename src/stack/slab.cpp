// slab.cpp: maps slabs and keeps the registry.
//
// Edges
//   [slab]   map(), unmap() -> find_by_guard(): whoever sees a record's bounds
//            sees the `begin` that goes with them, or a later one.
//   [chunk]  new_record() -> find_by_guard(): an empty chunk before its link.
#include "stack/slab.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <mutex>
#include <new>

#include "base/fault.hpp"
#include "base/spin_lock.hpp"

namespace weft::stack {

namespace {

struct Chunk {
  static constexpr std::size_t kRecords = 1023;
  std::array<Slab, kRecords> records;
  Atomic<Chunk*> next{nullptr};
};
static_assert(sizeof(Chunk) <= 64 << 10);

constinit Chunk first_chunk;  // zero pages until used
constinit base::SpinLock registry_lock;
constinit Slab* free_records = nullptr;     // guarded by registry_lock
constinit Chunk* last_chunk = nullptr;      // guarded by registry_lock
constinit std::size_t records_in_last = 0;  // guarded by registry_lock

// Any thread. An unused record, or nullptr: no memory.
Slab* new_record() noexcept {
  const std::lock_guard guard(registry_lock);
  if (Slab* record = free_records) {
    free_records = record->next;
    return record;
  }
  if (last_chunk == nullptr) last_chunk = &first_chunk;
  if (records_in_last == Chunk::kRecords) {
    void* memory = ::mmap(nullptr, sizeof(Chunk), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* chunk = new (memory) Chunk;
    last_chunk->next.store(chunk, release);  // [chunk]
    last_chunk = chunk;
    records_in_last = 0;
  }
  return &last_chunk->records[records_in_last++];
}

void free_record(Slab* record) noexcept {
  const std::lock_guard guard(registry_lock);
  record->next = free_records;
  free_records = record;
}

}  // namespace

std::size_t page_size() noexcept {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

Slab* Slab::map(std::size_t size, std::size_t slots) noexcept {
  Slab* slab = new_record();
  if (slab == nullptr) return nullptr;
  const auto stride = page_size() + size + page_size();
  const auto bytes = stride * slots;
  void* memory =
      base::refused(base::FaultPoint::stack_map)
          ? MAP_FAILED
          : ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1,
                   0);
  if (memory == MAP_FAILED) {
    free_record(slab);
    return nullptr;
  }
  // One touched page must not become a resident 2 MiB. A kernel without huge
  // pages refuses, and has nothing to refuse.
  ::madvise(memory, bytes, MADV_NOHUGEPAGE);
  auto* const begin = static_cast<std::byte*>(memory);
  slab->next = slab->next_open = nullptr;
  slab->carved = 0;
  slab->stride_.store(stride, release);      // [slab]
  slab->end_.store(begin + bytes, release);  // [slab]
  slab->begin_.store(begin, release);        // [slab]
  return slab;
}

void Slab::unmap(Slab* slab) noexcept {
  std::byte* const memory = slab->base();
  const auto bytes = slab->bytes();
  slab->begin_.store(nullptr, release);  // [slab]
#if defined(WEFT_STACK_ASAN)
  // Frames that never returned left their marks; the address will be reused.
  __asan_unpoison_memory_region(memory, bytes);
#endif
  ::munmap(memory, bytes);
  free_record(slab);
}

Stack* Slab::find_by_guard(const void* address) noexcept {
  const auto* const at = static_cast<const std::byte*>(address);
  const std::less<> below;  // a total order of any pointers
  const Chunk* chunk = &first_chunk;
  while (chunk != nullptr) {
    for (const Slab& slab : chunk->records) {
      std::byte* const begin = slab.begin_.load(acquire);  // [slab]
      if (begin == nullptr || below(at, begin)) continue;
      const std::byte* const end = slab.end_.load(acquire);  // [slab]
      const auto stride = slab.stride_.load(acquire);        // [slab]
      if (!below(at, end) || slab.begin_.load(relaxed) != begin)
        continue;  // R1
      const auto offset = static_cast<std::size_t>(at - begin);
      if (offset % stride >= page_size()) return nullptr;
      const auto index = offset / stride;
      return record_at(begin + (index + 1) * stride, index);
    }
    chunk = chunk->next.load(acquire);  // [chunk]
  }
  return nullptr;
}

std::size_t release_pages(const Stack& stack) noexcept {
  constexpr std::size_t kPages = 512;
  unsigned char resident[kPages];
  const auto page = page_size();
  const auto usable = static_cast<std::size_t>(stack.top() - stack.low);
  const auto below_top_page = usable / page * page;  // low begins a page
  std::size_t bytes = 0;
  for (std::size_t at = 0; at < below_top_page; at += kPages * page) {
    std::byte* const range = stack.low + at;
    const auto length = std::min(kPages * page, below_top_page - at);
    if (::mincore(range, length, resident) != 0) continue;
    const auto touched =
        std::count_if(resident, resident + length / page,
                      [](unsigned char each) { return (each & 1) != 0; });
    if (touched != 0 && ::madvise(range, length, MADV_DONTNEED) == 0) {
      bytes += static_cast<std::size_t>(touched) * page;
    }
  }
  return bytes;
}

}  // namespace weft::stack
