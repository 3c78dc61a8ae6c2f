// detail/observed_atomic.hpp: a std::atomic that explore() can get between.
#pragma once

#include <atomic>

namespace weft::testing {

namespace detail {
void before_access(const void* object) noexcept;
void before_read(const void* object) noexcept;
}  // namespace detail

// A std::atomic whose uses are such places: for a lock-free header that takes
// its atomic type as a parameter. All accesses are sequentially consistent in a
// simulation; for what weaker orders allow see docs/design/models.md.
template <typename T>
class Atomic {
 public:
  using Order = std::memory_order;  // as the caller asks, as std's
  static constexpr Order kStrongest = Order::seq_cst;

  constexpr Atomic() noexcept = default;
  constexpr Atomic(T value) noexcept : value_(value) {}  // NOLINT: as std's
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  // NOLINTNEXTLINE(google-explicit-constructor): as std's
  operator T() const noexcept { return load(); }
  T operator=(T value) noexcept {  // NOLINT: as std's
    store(value);
    return value;
  }
  T operator++() noexcept { return fetch_add(1) + 1; }
  T operator--() noexcept { return fetch_sub(1) - 1; }
  T operator++(int) noexcept { return fetch_add(1); }
  T operator--(int) noexcept { return fetch_sub(1); }
  T operator+=(T by) noexcept { return fetch_add(by) + by; }
  T operator-=(T by) noexcept { return fetch_sub(by) - by; }

  T load(Order order = kStrongest) const noexcept {
    detail::before_read(this);
    return value_.load(order);
  }
  void store(T value, Order order = kStrongest) noexcept {
    detail::before_access(this);
    value_.store(value, order);
  }
  T exchange(T value, Order order = kStrongest) noexcept {
    detail::before_access(this);
    return value_.exchange(value, order);
  }
  bool compare_exchange_strong(T& expected, T desired,
                               Order order = kStrongest) noexcept {
    detail::before_access(this);
    return value_.compare_exchange_strong(expected, desired, order);
  }
  bool compare_exchange_strong(T& expected, T desired, Order success,
                               Order failure) noexcept {
    detail::before_access(this);
    return value_.compare_exchange_strong(expected, desired, success, failure);
  }
  bool compare_exchange_weak(T& expected, T desired,
                             Order order = kStrongest) noexcept {
    return compare_exchange_strong(expected, desired, order);
  }
  bool compare_exchange_weak(T& expected, T desired, Order success,
                             Order failure) noexcept {
    return compare_exchange_strong(expected, desired, success, failure);
  }
  T fetch_add(T by, Order order = kStrongest) noexcept {
    detail::before_access(this);
    return value_.fetch_add(by, order);
  }
  T fetch_sub(T by, Order order = kStrongest) noexcept {
    detail::before_access(this);
    return value_.fetch_sub(by, order);
  }
  T fetch_and(T bits, Order order = kStrongest) noexcept {
    detail::before_access(this);
    return value_.fetch_and(bits, order);
  }
  T fetch_or(T bits, Order order = kStrongest) noexcept {
    detail::before_access(this);
    return value_.fetch_or(bits, order);
  }
  T fetch_xor(T bits, Order order = kStrongest) noexcept {
    detail::before_access(this);
    return value_.fetch_xor(bits, order);
  }

 private:
  std::atomic<T> value_{};
};

}  // namespace weft::testing
