#include "context/context.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <unwind.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/rounding.hpp"
#include "support/watchdog.hpp"
#include "unit/context/coroutine.hpp"

namespace weft::context {
namespace {

using test::Coroutine;
using weft::test::Watchdog;

// R-FIBER-10
TEST(Context, KeepsCalleeSavedRegistersOverAMillionSwitches) {
  Watchdog watchdog;
  constexpr std::uint64_t kRounds = 500'000;  // two switches each
  struct Shared {
    std::uint64_t wrong = 0;
  } shared;
  Coroutine coroutine(
      [](void* argument) {
        auto& result = *static_cast<Shared*>(argument);
        for (std::uint64_t i = 0; i < kRounds; ++i) {
          result.wrong |= Coroutine::current().leave_with_sentinels(~i);
        }
      },
      &shared);
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i <= kRounds; ++i) {
    wrong |= coroutine.enter_with_sentinels(i * 1000);
  }
  EXPECT_TRUE(coroutine.ended());
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(shared.wrong, 0u);
}

// R-FIBER-11
TEST(Context, CallsItsEntryWithTheArgumentAndThenCleanupOnce) {
  constexpr int kContexts = 1000;
  std::vector<int> seen(kContexts, -1);
  struct Argument {
    int index;
    std::vector<int>* seen;
  };
  for (int i = 0; i < kContexts; ++i) {
    Argument argument{i, &seen};
    Coroutine coroutine(
        [](void* given) {
          const auto& a = *static_cast<Argument*>(given);
          (*a.seen)[static_cast<std::size_t>(a.index)] = a.index;
        },
        &argument);
    coroutine.enter();
    ASSERT_TRUE(coroutine.ended());
    ASSERT_EQ(coroutine.cleanups(), 1);
  }
  for (int i = 0; i < kContexts; ++i) {
    EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
  }
}

// By an instruction that traps where an address is not aligned to 16 bytes, or,
// where there is none, through the stack pointer, which must be.
void store_aligned(void* to, const void* from) {
#if defined(__x86_64__)
  asm volatile(
      "movaps (%1), %%xmm0\n\t"
      "movaps %%xmm0, (%0)"
      :
      : "r"(to), "r"(from)
      : "xmm0", "memory");
#else
  std::uint64_t low;
  std::uint64_t high;
  asm volatile(
      "ldp %0, %1, [%3]\n\t"
      "stp %0, %1, [sp, #-16]!\n\t"
      "ldp %0, %1, [sp], #16\n\t"
      "stp %0, %1, [%2]"
      : "=&r"(low), "=&r"(high)
      : "r"(to), "r"(from)
      : "memory");
#endif
}

// R-FIBER-12
TEST(Context, StartsOnAStackThatIsAlignedForTheAbi) {
  struct Found {
    std::uintptr_t misaligned = 1;
    std::string text;
  } found;
  Coroutine coroutine(
      [](void* argument) {
        auto& out = *static_cast<Found*>(argument);
        alignas(16) std::array<float, 4> local{};
        using Vector [[gnu::vector_size(16)]] = float;
        const Vector value{1, 2, 3, 4};
        store_aligned(local.data(), &value);
        out.misaligned = reinterpret_cast<std::uintptr_t>(&local) % 16;
        char text[64];
        std::snprintf(text, sizeof text, "%.3f %d",
                      static_cast<double>(local[3]) + 0.125, 7);
        out.text = text;
      },
      &found);
  coroutine.enter();
  EXPECT_EQ(found.misaligned, 0u);
  EXPECT_EQ(found.text, "4.125 7");
}

// R-FIBER-13: X1
TEST(Context, KeepsTheRoundingModeOfEachStackApart) {
  const auto before = weft::test::rounding();
  struct Seen {
    unsigned inside = 0;
    unsigned after = 0;
  } seen;
  Coroutine coroutine(
      [](void* argument) {
        auto& out = *static_cast<Seen*>(argument);
        weft::test::set_rounding(3);
        Coroutine::current().leave();
        out.inside = weft::test::rounding();
        Coroutine::current().leave();
        out.after = weft::test::rounding();
      },
      &seen);
  coroutine.enter();
  EXPECT_EQ(weft::test::rounding(), before);
  weft::test::set_rounding(1);
  coroutine.enter();
  EXPECT_EQ(seen.inside, 3u);
  EXPECT_EQ(weft::test::rounding(), 1u);
  coroutine.enter();
  EXPECT_EQ(seen.after, 3u);
  weft::test::set_rounding(before);
}

// R-FIBER-13: X4
TEST(Context, IsContinuedByAnotherThread) {
  std::vector<pid_t> ran;  // not pthread_self(): the compiler may keep that
  Coroutine coroutine(
      [](void* argument) {
        auto& out = *static_cast<std::vector<pid_t>*>(argument);
        out.push_back(::gettid());
        Coroutine& self = Coroutine::current();
        self.leave();
        out.push_back(::gettid());
      },
      &ran);
  coroutine.enter();
  pid_t other_id = 0;
  std::thread other([&] {
    other_id = ::gettid();
    coroutine.enter();
  });
  other.join();
  EXPECT_TRUE(coroutine.ended());
  EXPECT_EQ(ran, (std::vector<pid_t>{::gettid(), other_id}));
}

[[gnu::noinline]] int throw_at_depth(int depth) {
  if (depth == 0) throw std::runtime_error("deep");
  const std::string local(static_cast<std::size_t>(depth), 'x');
  return throw_at_depth(depth - 1) + static_cast<int>(local.size());
}

TEST(Context, UnwindsAnExceptionThatIsCaughtOnItsStack) {
  std::vector<std::string> caught;
  Coroutine coroutine(
      [](void* argument) {
        auto& out = *static_cast<std::vector<std::string>*>(argument);
        for (int depth = 1; depth <= 100; ++depth) {
          try {
            (void)throw_at_depth(depth);
          } catch (const std::runtime_error& error) {
            out.emplace_back(error.what());
          }
          Coroutine::current().leave();
        }
      },
      &caught);
  while (!coroutine.ended()) coroutine.enter();
  EXPECT_EQ(caught, std::vector<std::string>(100, "deep"));
}

TEST(Context, EndsABacktraceAtItsEntry) {
  int frames = 0;
  Coroutine coroutine(
      [](void* argument) {
        _Unwind_Backtrace(
            [](_Unwind_Context*, void* count) {
              ++*static_cast<int*>(count);
              return *static_cast<int*>(count) < 1000 ? _URC_NO_REASON
                                                      : _URC_END_OF_STACK;
            },
            argument);
      },
      &frames);
  coroutine.enter();
  EXPECT_GE(frames, 2);
  EXPECT_LE(frames, 10);
}

}  // namespace
}  // namespace weft::context
