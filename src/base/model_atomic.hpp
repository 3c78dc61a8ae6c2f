// model_atomic.hpp: Atomic and Plain of the model build.
//
// Both ask model_seam(): in a model the checker answers, else they are what
// std::atomic and a plain object are. The value in memory is always the latest
// one, so what is built before a model and read after it needs no care.
#pragma once

#include <atomic>
#include <cstring>
#include <type_traits>

#include "base/model_seam.hpp"

namespace weft::base {

template <typename T>
class ModelAtomic {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  static_assert(std::is_trivially_copyable_v<T>);
  static_assert(sizeof(std::atomic<T>) == sizeof(T));
  using Order = std::memory_order;
  static constexpr Order kDefault = std::memory_order_seq_cst;

 public:
  using value_type = T;

  constexpr ModelAtomic() noexcept : ModelAtomic(T{}) {}
  // NOLINTNEXTLINE(google-explicit-constructor): as std::atomic
  constexpr ModelAtomic(T value) noexcept : value_(value) {
    if (!std::is_constant_evaluated()) announce();
  }
  ModelAtomic(const ModelAtomic&) = delete;
  ModelAtomic& operator=(const ModelAtomic&) = delete;

  T load(Order order = kDefault, Site site = Site::current()) const noexcept {
    if (auto* seam = model_seam())
      return from_bits(seam->load(word(), order, site));
    return value_.load(order);
  }
  void store(T value, Order order = kDefault,
             Site site = Site::current()) noexcept {
    if (auto* seam = model_seam()) {
      seam->store(word(), to_bits(value), order, site);
    } else {
      value_.store(value, order);
    }
  }
  T exchange(T value, Order order = kDefault,
             Site site = Site::current()) noexcept {
    if (auto* seam = model_seam()) {
      return change(*seam, Change::exchange, value, order, site);
    }
    return value_.exchange(value, order);
  }
  T fetch_add(T value, Order order = kDefault,
              Site site = Site::current()) noexcept {
    if (auto* seam = model_seam()) {
      return change(*seam, Change::add, value, order, site);
    }
    return value_.fetch_add(value, order);
  }
  T fetch_sub(T value, Order order = kDefault,
              Site site = Site::current()) noexcept {
    if (auto* seam = model_seam()) {
      return change(*seam, Change::sub, value, order, site);
    }
    return value_.fetch_sub(value, order);
  }
  T fetch_or(T value, Order order = kDefault,
             Site site = Site::current()) noexcept {
    if (auto* seam = model_seam()) {
      return change(*seam, Change::bit_or, value, order, site);
    }
    return value_.fetch_or(value, order);
  }
  T fetch_and(T value, Order order = kDefault,
              Site site = Site::current()) noexcept {
    if (auto* seam = model_seam()) {
      return change(*seam, Change::bit_and, value, order, site);
    }
    return value_.fetch_and(value, order);
  }

  bool compare_exchange_strong(T& expected, T desired, Order success,
                               Order failure,
                               Site site = Site::current()) noexcept {
    if (auto* seam = model_seam()) {
      return compare(*seam, expected, desired, success, failure, false, site);
    }
    return value_.compare_exchange_strong(expected, desired, success, failure);
  }
  bool compare_exchange_strong(T& expected, T desired, Order order = kDefault,
                               Site site = Site::current()) noexcept {
    return compare_exchange_strong(expected, desired, order, on_failure(order),
                                   site);
  }
  bool compare_exchange_weak(T& expected, T desired, Order success,
                             Order failure,
                             Site site = Site::current()) noexcept {
    if (auto* seam = model_seam()) {
      return compare(*seam, expected, desired, success, failure, true, site);
    }
    return value_.compare_exchange_weak(expected, desired, success, failure);
  }
  bool compare_exchange_weak(T& expected, T desired, Order order = kDefault,
                             Site site = Site::current()) noexcept {
    return compare_exchange_weak(expected, desired, order, on_failure(order),
                                 site);
  }

  // For the futex: the word in memory, and what the checker calls it.
  ModelWord word() const noexcept {
    return {this, sizeof(T), to_bits(value_.load(std::memory_order_relaxed))};
  }

 private:
  void announce() const noexcept {
    if (auto* seam = model_seam()) seam->created(word());
  }
  static std::uint64_t to_bits(T value) noexcept {
    std::uint64_t all = 0;
    std::memcpy(&all, &value, sizeof value);
    return all;
  }
  static T from_bits(std::uint64_t all) noexcept {
    T value;
    std::memcpy(&value, &all, sizeof value);
    return value;
  }
  static constexpr Order on_failure(Order order) noexcept {
    switch (order) {
      case std::memory_order_acq_rel:  // what is left of it without a store
        return std::memory_order_acquire;
      case std::memory_order_release:  // the same
        return std::memory_order_relaxed;
      default:
        return order;
    }
  }

  T change(ModelSeam& seam, Change what, T operand, Order order,
           Site site) noexcept {
    return from_bits(seam.change(word(), what, to_bits(operand), order, site));
  }
  bool compare(ModelSeam& seam, T& expected, T desired, Order success,
               Order failure, bool weak, Site site) noexcept {
    auto seen = to_bits(expected);
    const bool done = seam.compare_exchange(word(), seen, to_bits(desired),
                                            success, failure, weak, site);
    if (!done) expected = from_bits(seen);
    return done;
  }

  std::atomic<T> value_;
};

// Plain data of several threads that an edge keeps apart.
template <typename T>
class ModelPlain {
 public:
  constexpr ModelPlain() noexcept : ModelPlain(T{}) {}
  // NOLINTNEXTLINE(google-explicit-constructor): as a plain object
  constexpr ModelPlain(T value) noexcept : value_(value) {
    if (!std::is_constant_evaluated()) touch(true, Site::current());
  }
  ModelPlain(const ModelPlain& other) noexcept : value_(other.get()) {}
  ModelPlain& operator=(const ModelPlain& other) noexcept {
    return *this = other.get();
  }

  T get(Site site = Site::current()) const noexcept {
    touch(false, site);
    return value_;
  }
  void set(T value, Site site = Site::current()) noexcept {
    touch(true, site);
    value_ = value;
  }
  // NOLINTNEXTLINE(google-explicit-constructor): as a plain object
  operator T() const noexcept { return get(); }
  T operator->() const noexcept requires std::is_pointer_v<T> { return get(); }
  ModelPlain& operator=(T value) noexcept {
    set(value);
    return *this;
  }
  T operator++() noexcept { return step(1) + 1; }
  T operator--() noexcept { return step(-1) - 1; }
  T operator++(int) noexcept { return step(1); }
  T operator--(int) noexcept { return step(-1); }

 private:
  // Answers what was there.
  T step(int by) noexcept {
    touch(true, Site::current());
    const T was = value_;
    value_ = static_cast<T>(was + static_cast<T>(by));
    return was;
  }
  void touch(bool writes, Site site) const noexcept {
    if (auto* seam = model_seam()) seam->plain(this, writes, site);
  }

  T value_{};
};

}  // namespace weft::base
