// scale.hpp: how much of a storm a build can bear.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define WEFT_TEST_TSAN 1
#elif defined(__SANITIZE_ADDRESS__)
#define WEFT_TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEFT_TEST_TSAN 1
#elif __has_feature(address_sanitizer)
#define WEFT_TEST_ASAN 1
#endif
#endif

namespace weft::test {

#if defined(WEFT_TEST_TSAN)
inline constexpr bool kSanitized = true;
inline constexpr int kShrink = 20;
#elif defined(WEFT_TEST_ASAN)
inline constexpr bool kSanitized = true;
inline constexpr int kShrink = 5;
#elif defined(WEFT_TEST_EMULATED)
inline constexpr bool kSanitized = false;
inline constexpr int kShrink = 20;
#else
inline constexpr bool kSanitized = false;
inline constexpr int kShrink = 1;
#endif

// As users run it: optimized, without checks of weft's own. Here numbers of the
// order that rows of the specification name are cheap.
#if defined(__OPTIMIZE__) && !defined(WEFT_DEBUG_CHECKS)
inline constexpr bool kForSpeed = true;
#else
inline constexpr bool kForSpeed = false;
#endif

// So many rounds in a plain build, fewer under a sanitizer or an emulator, at
// least one.
inline int scaled(int plain) {
  return plain / kShrink > 0 ? plain / kShrink : 1;
}

}  // namespace weft::test
