// channel_test.hpp: a fixture for channels of all kinds.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <initializer_list>
#include <ostream>
#include <tuple>
#include <vector>

#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft::test {

inline constexpr std::size_t kNone = 0;  // a rendezvous

// What a case does with its value, or without.
inline constexpr auto kIgnore = [](auto&&) {};
inline constexpr auto kNothing = [] {};

// Over numbers of workers, with and without the exchange that needs no lock.
class ChannelsTest
    : public OneRuntimeTest,
      public ::testing::WithParamInterface<std::tuple<unsigned, bool>> {
 protected:
  void SetUp() override { start_on(std::get<0>(GetParam())); }
  static bool lock_free() { return std::get<1>(GetParam()); }
  static ChannelOptions options(OnFull on_full = OnFull::wait) {
    return {.on_full = on_full, .lock_free = lock_free()};
  }
  template <typename T>
  static Channel<T> make(std::size_t capacity, OnFull on_full = OnFull::wait) {
    return make_channel<T>(capacity, options(on_full));
  }
  // Runs the body in a fiber, once with each capacity.
  template <typename F>
  void at(std::initializer_list<std::size_t> capacities, F body) {
    for (const auto capacity : capacities) {
      SCOPED_TRACE(::testing::Message() << "capacity " << capacity);
      in_fiber([&] { body(capacity); });
    }
  }
  template <typename F>
  void at_each_capacity(F body) {
    at({kNone, 1, 2, 3, 128}, body);
  }
  template <typename F>
  void at_each_buffer(F body) {
    at({1, 2, 3, 128}, body);
  }
};

// All that comes, until the end.
template <typename T>
std::vector<T> take_all(Receiver<T>& from) {
  std::vector<T> all;
  for (T& value : from) all.push_back(std::move(value));
  return all;
}

// first, first + 1, …
inline std::vector<int> numbers(int first, std::size_t count) {
  std::vector<int> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(first + static_cast<int>(i));
  }
  return all;
}

// Sends them; answers how many went in without a wait.
inline std::size_t fill(Sender<int>& to, int first = 0) {
  std::size_t count = 0;
  while (to.try_send(first + static_cast<int>(count))) ++count;
  return count;
}

}  // namespace weft::test
