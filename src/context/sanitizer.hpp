// sanitizer.hpp: tells ASan and TSan which stack runs now, and valgrind which
// stacks there are.
//
// Each stack has one Handle: ASan's fake stack while it is left, or TSan's
// fiber object. The handle belongs to the stack, not to the fiber on it: a
// child that runs in place on its joiner's stack needs no annotation. All of
// it compiles to nothing in plain builds, but for valgrind's part where its
// header was there: a few instructions for each stack that is mapped.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define WEFT_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define WEFT_TSAN 1
#endif
#endif

#if defined(WEFT_ASAN)
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#if defined(WEFT_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

#if !defined(WEFT_ASAN) && !defined(WEFT_TSAN) && \
    __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#define WEFT_VALGRIND 1
#endif

namespace weft::context {

using Handle = void*;

struct Ground {  // one stack as the sanitizers know it
  Handle* handle;
  const void* low;
  std::size_t size;
};

// A stack's memory comes, before its first use.
inline void introduce_stack([[maybe_unused]] Handle& handle,
                            [[maybe_unused]] const void* low,
                            [[maybe_unused]] const void* top) noexcept {
#if defined(WEFT_VALGRIND)
  // Its own number for the stack; 0 where no valgrind runs.
  const std::uintptr_t number = VALGRIND_STACK_REGISTER(low, top);
  handle = reinterpret_cast<Handle>(number);
#endif
}

// A stack comes into use. On the thread that will switch to it. Each use leaves
// calls in TSan's object that never return, so now and then it gets a new one;
// not each time, they are large.
inline void adopt_stack([[maybe_unused]] Handle& handle,
                        [[maybe_unused]] unsigned& uses) noexcept {
#if defined(WEFT_TSAN)
  constexpr unsigned kUses = 1024;
  if (handle != nullptr && ++uses % kUses == 0) {
    __tsan_destroy_fiber(handle);
    handle = nullptr;
  }
  if (handle == nullptr) handle = __tsan_create_fiber(0);
#endif
}

// Where the current thread's stack is. ASan alone wants to know: the answer
// for the main thread is read from a file that grows with every mapping.
inline void find_thread_stack([[maybe_unused]] const void*& low,
                              [[maybe_unused]] std::size_t& size) noexcept {
#if defined(WEFT_ASAN)
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return;
  void* its_low = nullptr;
  ::pthread_attr_getstack(&attributes, &its_low, &size);
  low = its_low;
  ::pthread_attr_destroy(&attributes);
#endif
}

// A thread's own stack, before its first switch.
inline void adopt_thread([[maybe_unused]] Handle& handle) noexcept {
#if defined(WEFT_TSAN)
  handle = __tsan_get_current_fiber();
#endif
}

// A stack's memory goes. Not on that stack.
inline void abandon_stack([[maybe_unused]] Handle& handle) noexcept {
#if defined(WEFT_TSAN)
  if (handle != nullptr) __tsan_destroy_fiber(handle);
#endif
#if defined(WEFT_VALGRIND)
  VALGRIND_STACK_DEREGISTER(reinterpret_cast<std::uintptr_t>(handle));
#endif
  handle = nullptr;
}

// What this memory points to is in use, for good.
inline void keep_reachable([[maybe_unused]] const void* memory,
                           [[maybe_unused]] std::size_t size) noexcept {
#if defined(WEFT_ASAN)
  __lsan_register_root_region(memory, size);
#endif
}

// The same for a stack that was left for good. What ASan moved from there to
// its fake stack, to find uses after return, is found by the pointers to it.
#if defined(WEFT_ASAN)
[[gnu::no_sanitize_address]]
#endif
inline void
keep_stack_reachable(const Ground& ground) noexcept {
  keep_reachable(ground.low, ground.size);
#if defined(WEFT_ASAN)
  if (*ground.handle == nullptr) return;
  void* const* const words = static_cast<void* const*>(ground.low);
  const void* last = nullptr;
  for (std::size_t i = 0; i < ground.size / sizeof *words; ++i) {
    void* begin = nullptr;
    void* end = nullptr;
    if (words[i] == nullptr ||
        __asan_addr_is_in_fake_stack(*ground.handle, words[i], &begin, &end) ==
            nullptr ||
        begin == last) {
      continue;
    }
    last = begin;
    keep_reachable(begin, static_cast<std::size_t>(static_cast<char*>(end) -
                                                   static_cast<char*>(begin)));
  }
#endif
}

// Right before a switch. from_ends: nobody will ever arrive at `from` again.
inline void leave_stack([[maybe_unused]] Ground from,
                        [[maybe_unused]] Ground to,
                        [[maybe_unused]] bool from_ends) noexcept {
#if defined(WEFT_ASAN)
  __sanitizer_start_switch_fiber(from_ends ? nullptr : from.handle, to.low,
                                 to.size);
#endif
#if defined(WEFT_TSAN)
  __tsan_switch_to_fiber(*to.handle, 0);
#endif
}

// Right after arriving, on the new stack.
inline void arrive_on_stack([[maybe_unused]] Handle& handle) noexcept {
#if defined(WEFT_ASAN)
  __sanitizer_finish_switch_fiber(handle, nullptr, nullptr);
  handle = nullptr;
#endif
}

}  // namespace weft::context
