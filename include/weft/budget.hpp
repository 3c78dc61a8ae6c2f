// budget.hpp: what a scope may spend.
//
//   weft::Nursery sandbox({.budget = weft::Budget::service()});
//   sandbox.spawn({.budget = weft::Budget::child()}, plugin);
//
// A budget is a purse, split among children, never copied: what a nursery gives
// to a child it no longer has, and what a child has not spent comes back when
// it ends. A component of zero is not granted; the largest value is no limit. A
// fiber without any limit is not metered and pays nothing, nor do its children,
// unless their nursery or their SpawnOptions say so.
//
//   who is out of        what happens
//   ops, memory          the fiber waits until it is recharged
//   spawn_count          the spawn is refused: exhausted
//   channel_ops          the operation is refused: exhausted
//   syscalls             the operation is refused: exhausted
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <limits>

#include "weft/result.hpp"

namespace weft {

struct Budget {
  std::uint32_t ops = 0;          // loop turns and calls of checked code
  std::size_t memory = 0;         // bytes, from what charges them
  std::uint16_t spawn_count = 0;  // fibers
  std::uint16_t channel_ops = 0;  // sends and receives
  std::uint16_t syscalls = 0;     // calls that do I/O

  static constexpr Budget unlimited() noexcept {
    return {kNoLimit<std::uint32_t>, kNoLimit<std::size_t>,
            kNoLimit<std::uint16_t>, kNoLimit<std::uint16_t>,
            kNoLimit<std::uint16_t>};
  }
  // What a child gets of a limited nursery that says nothing else, and what
  // suits a service or a cluster.
  static constexpr Budget child() noexcept {
    return {10'000, std::size_t{1} << 20, 0, 100, 10};
  }
  static constexpr Budget service() noexcept {
    return {100'000, std::size_t{10} << 20, 100, 1'000, 100};
  }
  static constexpr Budget cluster() noexcept {
    return {1'000'000, std::size_t{100} << 20, 1'000, 10'000, 1'000};
  }

  friend constexpr Budget min(const Budget& a, const Budget& b) noexcept {
    return combine(a, b, [](auto x, auto y) { return x < y ? x : y; });
  }
  // Saturates: a sum of limits is a limit.
  friend constexpr Budget operator+(const Budget& a, const Budget& b) noexcept {
    return combine(a, b, [](auto x, auto y) {
      using T = decltype(x);
      if (x == kNoLimit<T> || y == kNoLimit<T>) return kNoLimit<T>;
      constexpr T most = kNoLimit<T> - 1;
      return y > most - x ? most : static_cast<T>(x + y);
    });
  }
  // What is left of a when b was taken: of no limit nothing is missing, and
  // nothing goes below zero.
  friend constexpr Budget operator-(const Budget& a, const Budget& b) noexcept {
    return combine(a, b, [](auto x, auto y) {
      using T = decltype(x);
      if (x == kNoLimit<T>) return x;
      return y > x ? T{0} : static_cast<T>(x - y);
    });
  }
  friend constexpr bool operator==(const Budget&, const Budget&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Budget& budget);

  // The first component of which b has more; none: b can be taken out of it.
  constexpr Resource lacks(const Budget& b) const noexcept {
    if (b.ops > ops) return Resource::ops;
    if (b.memory > memory) return Resource::memory;
    if (b.spawn_count > spawn_count) return Resource::spawns;
    if (b.channel_ops > channel_ops) return Resource::channel_ops;
    if (b.syscalls > syscalls) return Resource::syscalls;
    return Resource::none;
  }

 private:
  template <typename T>
  static constexpr T kNoLimit = std::numeric_limits<T>::max();
  template <typename Op>
  static constexpr Budget combine(const Budget& a, const Budget& b, Op op) {
    return {op(a.ops, b.ops), op(a.memory, b.memory),
            op(a.spawn_count, b.spawn_count), op(a.channel_ops, b.channel_ops),
            op(a.syscalls, b.syscalls)};
  }
};

// What a fiber may still spend, and what it has spent so far.
struct Ledger {
  Budget left;
  Budget spent;
};

}  // namespace weft
