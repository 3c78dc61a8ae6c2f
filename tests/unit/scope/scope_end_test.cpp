// scope_end_test.cpp: a scope that goes while whoever stopped it, or gave it a
// deadline, is still on the way out.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <new>
#include <thread>

#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using namespace std::chrono_literals;

class ScopeEndTest : public test::RuntimeTest {
 protected:
  static constexpr int kRounds = 2000;

  // A fiber opens a scope, tells another thread of it, leaves it as soon as
  // `stay` returns, and writes over its place, which nobody else may touch
  // then.
  template <typename Touch, typename Stay>
  void run(Touch touch, Stay stay) {
    Runtime runtime = start(2);
    std::atomic<CancelScope*> open{nullptr};
    std::atomic<bool> through{false};
    std::atomic<bool> over{false};
    std::thread other([&] {
      while (!over) {
        if (auto* const scope = open.exchange(nullptr)) {
          touch(*scope);
          through = true;
        }
      }
    });
    EXPECT_TRUE(runtime.run([&] {
      alignas(CancelScope) std::array<std::byte, sizeof(CancelScope)> place;
      int touched = 0;
      for (int round = 0; round < kRounds; ++round) {
        auto* const scope = ::new (place.data()) CancelScope;
        open = scope;
        stay(*scope);
        scope->~CancelScope();
        std::memset(place.data(), 0x5A, place.size());
        while (!through.exchange(false)) this_fiber::yield();
        touched += std::any_of(place.begin(), place.end(), [](std::byte b) {
          return b != std::byte{0x5A};
        });
      }
      EXPECT_EQ(touched, 0);
    }));
    over = true;
    other.join();
  }
};

TEST_F(ScopeEndTest, WaitsForWhoSetsADeadlineThatPassesAtOnce) {
  run([](CancelScope& scope) { scope.set_deadline(Deadline::after(2us)); },
      [](CancelScope& /*scope*/) {
        EXPECT_EQ(this_fiber::sleep_until(Deadline::never()).error(),
                  Errc::timed_out);
      });
}

TEST_F(ScopeEndTest, WaitsForItsStopperIfItsFiberSeesTheStopItself) {
  run([](CancelScope& scope) { scope.cancel(); },
      [](CancelScope& scope) {
        while (!scope.cancelled()) this_fiber::yield();
      });
}

TEST_F(ScopeEndTest, WaitsForItsStopperIfItsFiberIsAboutToWait) {
  run([](CancelScope& scope) { scope.cancel(); },
      [](CancelScope& /*scope*/) {
        EXPECT_EQ(this_fiber::sleep_until(Deadline::never()).error(),
                  Errc::cancelled);
      });
}

}  // namespace
}  // namespace weft
