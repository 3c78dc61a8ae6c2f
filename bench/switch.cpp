// switch.cpp: what does the bare context switch cost, without a scheduler?
#include <array>
#include <cstddef>
#include <stdexcept>

#include "context/context.hpp"
#include "context/sanitizer.hpp"
#include "harness.hpp"

namespace {

#if defined(WEFT_ASAN) || defined(WEFT_TSAN)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// Two contexts in one loop, as two fibers that yield to each other: the switch
// leaves by ret, and both return to the same place (see switch_*.S).
struct Side {
  weft::context::Context mine;
  weft::context::Context* other = nullptr;
  std::int64_t rounds = 0;
};

[[gnu::noinline]] void shuttle(Side& side) {
  for (std::int64_t i = 0; i < side.rounds; ++i) {
    weft::context::weft_switch_context(&side.mine, side.other);
  }
}

bench::Outcome switch_bare(const bench::Options& options) {
  if (kSanitized) {
    throw std::runtime_error("a bare switch would confuse the sanitizer");
  }
  alignas(64) static std::array<std::byte, 64 << 10> stack;
  Side here;
  Side there;
  here.other = &there.mine;
  there.other = &here.mine;
  here.rounds = options.n / 2;
  there.rounds = options.n;  // never gets to its end
  weft::context::prepare(
      there.mine, stack.data() + stack.size(),
      [](void* side) { shuttle(*static_cast<Side*>(side)); }, &there,
      [] { bench::check(false, "the other side has more rounds"); });
  return bench::per_op(options.n, [&] { shuttle(here); });
}

const bench::Register kSwitch({
    .name = "switch",
    .question = "the bare context switch between two contexts: ns",
    .usual_n = 10'000'000,
    .run = switch_bare,
});

}  // namespace
