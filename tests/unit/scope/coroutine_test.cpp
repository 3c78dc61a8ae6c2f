// coroutine_test.cpp: C++20 coroutines inside fibers.

#include <gtest/gtest.h>

#include <coroutine>
#include <exception>
#include <utility>

#include "support/gate.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

// Runs at once up to its first wait, and that is the fiber's.
struct Coroutine {
  struct promise_type {
    Coroutine get_return_object() { return {*this}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_value(int what) { value = what; }
    void unhandled_exception() { std::terminate(); }
    int value = 0;
  };
  using Handle = std::coroutine_handle<promise_type>;

  Coroutine(promise_type& promise) : handle(Handle::from_promise(promise)) {}
  Coroutine(Coroutine&& other) noexcept
      : handle(std::exchange(other.handle, nullptr)) {}
  ~Coroutine() {
    if (handle) handle.destroy();
  }

  Handle handle;
};

// All an awaitable needs: the join parks the fiber, not the coroutine.
template <typename T>
struct End {
  Task<T>& task;
  bool await_ready() noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) noexcept {}
  T await_resume() { return task.join().value(); }
};
template <typename T>
End(Task<T>&) -> End<T>;

Coroutine sum_of(Task<int> left, Task<int> right) {
  co_return co_await End{left} + co_await End{right};
}

class CoroutineTest : public test::RuntimeTest {};

// R-FIBER-15
TEST_F(CoroutineTest, AwaitsTasksByParkingItsFiber) {
  Runtime runtime = start(2);
  test::Gate gate;
  const auto sum = runtime.run([&](Nursery& nursery) {
    const auto number = [&gate](int n) {
      EXPECT_TRUE(gate.pass());
      return n;
    };
    auto left = nursery.spawn(number, 40);
    auto right = nursery.spawn(number, 2);
    nursery.spawn([&] {
      while (gate.waiting() != 2) this_fiber::yield();
      gate.open();
    });
    const auto coroutine = sum_of(std::move(left), std::move(right));
    EXPECT_TRUE(coroutine.handle.done());
    return coroutine.handle.promise().value;
  });
  EXPECT_EQ(sum.value(), 42);
  expect_empty(runtime);
}

}  // namespace
}  // namespace weft
