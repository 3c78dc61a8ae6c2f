// detail/observed_atomic.hpp: a std::atomic that explore() can get between.
#pragma once

#include <atomic>

namespace weft::testing {

namespace detail {
void before_access(const void* object) noexcept;
}

// A std::atomic whose uses are such places: for a lock-free header that takes
// its atomic type as a parameter. All accesses are sequentially consistent in a
// simulation; for what weaker orders allow see docs/design/models.md.
template <typename T>
class Atomic {
 public:
  constexpr Atomic() noexcept = default;
  constexpr Atomic(T value) noexcept : value_(value) {}  // NOLINT: as std's
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(std::memory_order order = std::memory_order_seq_cst) const noexcept {
    detail::before_access(this);
    return value_.load(order);
  }
  void store(T value,
             std::memory_order order = std::memory_order_seq_cst) noexcept {
    detail::before_access(this);
    value_.store(value, order);
  }
  T exchange(T value,
             std::memory_order order = std::memory_order_seq_cst) noexcept {
    detail::before_access(this);
    return value_.exchange(value, order);
  }
  bool compare_exchange_strong(
      T& expected, T desired,
      std::memory_order order = std::memory_order_seq_cst) noexcept {
    detail::before_access(this);
    return value_.compare_exchange_strong(expected, desired, order);
  }
  bool compare_exchange_weak(
      T& expected, T desired,
      std::memory_order order = std::memory_order_seq_cst) noexcept {
    return compare_exchange_strong(expected, desired, order);
  }
  T fetch_add(T by,
              std::memory_order order = std::memory_order_seq_cst) noexcept {
    detail::before_access(this);
    return value_.fetch_add(by, order);
  }
  T fetch_sub(T by,
              std::memory_order order = std::memory_order_seq_cst) noexcept {
    detail::before_access(this);
    return value_.fetch_sub(by, order);
  }

 private:
  std::atomic<T> value_{};
};

}  // namespace weft::testing
