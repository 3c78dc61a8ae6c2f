// combine.hpp: several at once: all of them, the first, the first to succeed.
//
//   auto [user, orders] = WEFT_TRY(weft::all([&] { return load_user(id); },
//                                            [&] { return load_orders(id); }));
//   auto page = WEFT_TRY(weft::any([] { return fetch("a"); },
//                                  [] { return fetch("b"); }));
//
// join_all(), join_race() and join_any() wait for handles that one has; the
// tasks stay their nursery's, and nobody is cancelled. all(), race() and any()
// start functions and end them all.
#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "weft/detail/body.hpp"
#include "weft/nursery.hpp"
#include "weft/result.hpp"
#include "weft/task.hpp"
#include "weft/time.hpp"

namespace weft {

template <typename T>
struct Winner {
  std::size_t index;  // as given
  T value;            // std::monostate, if that is void
};

namespace detail {

template <typename T>
using Value = std::conditional_t<std::is_void_v<T>, std::monostate, T>;
template <typename... Fs>
using ValuesOf = std::tuple<Value<typename BodyOf<Fs>::type>...>;
template <typename... Fs>
struct Common {
  static constexpr bool exists = requires {
    typename std::common_type_t<Value<typename BodyOf<Fs>::type>...>;
  };
  static_assert(exists,
                "weft: race() and any() give the value of one function: what "
                "these return has no type in common");
  using type = typename std::conditional_t<
      exists, std::common_type<Value<typename BodyOf<Fs>::type>...>,
      std::type_identity<int>>::type;
};
template <typename... Fs>
using CommonOf = typename Common<Fs...>::type;

// How a wait for several came out, of which nothing was taken yet.
struct EndOfSeveral {
  Error error{Errc{}};  // the caller's, or a child's with outcome error
  Outcome outcome = Outcome::none;  // none: the caller's wait failed
  std::size_t index = 0;            // whose outcome it is
  Frame* frame = nullptr;           // the same, of an exception
};

// Handles of any type, in order.
struct Handles {
  void* first;
  std::size_t count;
  AnyTask& (*at)(void* first, std::size_t i) noexcept;

  // All have ended: the first in order that failed, else a value.
  EndOfSeveral await_all(Deadline deadline) const noexcept;
  // The first to end. Errors: cancelled, timed_out, exhausted (memory); invalid
  // (none, or oneself).
  Result<std::size_t> await_first(Deadline deadline) const noexcept;
  // The first to succeed; else, all have ended, the first that failed.
  EndOfSeveral await_success(Deadline deadline) const noexcept;

 private:
  EndOfSeveral end_of(std::size_t i) const noexcept;
  bool has_oneself() const noexcept;
  class Cases;
};

template <typename T>
Handles handles_of(std::span<Task<T>> tasks) noexcept {
  return {tasks.data(), tasks.size(),
          [](void* first, std::size_t i) noexcept -> AnyTask& {
            return static_cast<Task<T>*>(first)[i];
          }};
}
template <std::size_t Count>
Handles handles_of(std::array<AnyTask*, Count>& tasks) noexcept {
  return {tasks.data(), Count,
          [](void* first, std::size_t i) noexcept -> AnyTask& {
            return *static_cast<AnyTask**>(first)[i];
          }};
}

// Gives the error, or rethrows the exception, which stays where it is.
template <typename OnException>
Error failure_of(const EndOfSeveral& end) {
  if (end.outcome != Outcome::exception) return end.error;
  return OnException::kept_exception(end.frame);
}

// The value of a task that has succeeded.
template <typename OnException, typename T>
Value<T> value_of(Task<T>& task) {
  if constexpr (std::is_void_v<T>) {
    (void)task.template try_join<OnException>();
    return {};
  } else {
    return *task.template try_join<OnException>();
  }
}

template <typename Handle>
struct TaskOf;  // of anything else
template <typename T>
struct TaskOf<Task<T>> {
  using value = T;
};
template <typename Tasks>
using HandleIn = std::remove_pointer_t<decltype(std::data(
    std::declval<std::remove_reference_t<Tasks>&>()))>;
template <typename Tasks>
using ValueIn = typename TaskOf<HandleIn<Tasks>>::value;

// A span, vector or array of Task<T>.
template <typename Tasks>
concept TaskRange = requires(std::remove_reference_t<Tasks>& tasks) {
  typename TaskOf<HandleIn<Tasks>>::value;
  std::size(tasks);
};

template <typename Tasks>
Handles handles_in(Tasks& tasks) noexcept {
  return handles_of(
      std::span<HandleIn<Tasks>>(std::data(tasks), std::size(tasks)));
}

template <typename T>
struct AllOf {
  using type = std::vector<T>;
};
template <>
struct AllOf<void> {
  using type = void;
};

}  // namespace detail

// Waits for all; the values, in order: Result<std::vector<T>>, of Task<> a
// Status. Takes the results when all have succeeded, else none.
//
//   Suspends:  until all have ended, well or badly; as Task::join().
//   Errors:    of the first in order that failed: its own, as Task::join()
//              gives it; an exception is rethrown and stays in the task. The
//              caller's: cancelled, timed_out (not all have ended: join again);
//              invalid (oneself). Of no task at all: ok. Throws std::bad_alloc.
//   Ordering:  everything the children did is visible afterwards.
//   Callers:   the holder of the handles, fiber or thread.
template <typename OnException = detail::OnException, typename Tasks>
requires detail::TaskRange<Tasks>
auto join_all(Tasks&& tasks, Deadline deadline = Deadline::never())
    -> Result<typename detail::AllOf<detail::ValueIn<Tasks>>::type> {
  using T = detail::ValueIn<Tasks>;
  const auto end = detail::handles_in(tasks).await_all(deadline);
  if (end.outcome != detail::Outcome::value) {
    return detail::failure_of<OnException>(end);
  }
  if constexpr (std::is_void_v<T>) {
    for (auto& task : tasks) (void)detail::value_of<OnException>(task);
    return {};
  } else {
    std::vector<T> values;
    values.reserve(std::size(tasks));
    for (auto& task : tasks) {
      values.push_back(detail::value_of<OnException>(task));
    }
    return values;
  }
}

// Waits for the first to end, well or badly: its index. It is still to be
// joined, and the others go on. Of several that have ended the first in order;
// a spawn that was refused, and an empty handle, have.
//
//   Suspends:  until one has ended. Always a cancel point.
//   Errors:    cancelled, timed_out; invalid (no task, more than 60,000, or
//              oneself); exhausted (memory, for more than 16).
//   Ordering:  everything that child did is visible afterwards.
//   Callers:   the holder of the handles, fiber or thread; no other waits.
template <typename Tasks>
requires detail::TaskRange<Tasks> Result<std::size_t> join_race(
    Tasks&& tasks, Deadline deadline = Deadline::never()) {
  return detail::handles_in(tasks).await_first(deadline);
}

// Waits for the first to succeed and takes its value: Result<Winner<T>>. The
// others stay as they are, those that failed before with their results.
//
//   Suspends:  until one has succeeded, or all have failed. Always a cancel
//              point.
//   Errors:    if all have failed: of the first in time, as Task::join() gives
//              it; an exception is rethrown and stays in the task. Else as
//              join_race(). After an error nothing was taken.
//   Ordering, Callers:  as join_race().
template <typename OnException = detail::OnException, typename Tasks>
requires detail::TaskRange<Tasks>
auto join_any(Tasks&& tasks, Deadline deadline = Deadline::never())
    -> Result<Winner<detail::Value<detail::ValueIn<Tasks>>>> {
  using T = detail::Value<detail::ValueIn<Tasks>>;
  const auto end = detail::handles_in(tasks).await_success(deadline);
  if (end.outcome != detail::Outcome::value) {
    return detail::failure_of<OnException>(end);
  }
  auto& task = std::data(tasks)[end.index];
  return Winner<T>{end.index, detail::value_of<OnException>(task)};
}

namespace detail {

// The winner's result, when all have ended.
template <typename T, typename OnException, std::size_t I = 0, typename Tasks>
Result<Winner<T>> winner_at(std::size_t index, Tasks& tasks) {
  if constexpr (I + 1 < std::tuple_size_v<Tasks>) {
    if (index != I) return winner_at<T, OnException, I + 1>(index, tasks);
  }
  auto end = std::get<I>(tasks).template try_join<OnException>();
  if (!end) return end.error();
  if constexpr (std::is_void_v<typename decltype(end)::value_type>) {
    return Winner<T>{index, T()};
  } else {
    return Winner<T>{index, static_cast<T>(*std::move(end))};
  }
}

template <typename... Ts>
std::array<AnyTask*, sizeof...(Ts)> pointers_to(std::tuple<Ts...>& tasks) {
  return std::apply(
      [](Ts&... task) { return std::array<AnyTask*, sizeof...(Ts)>{&task...}; },
      tasks);
}

// Of race() and any(): who fails is out, which is no failure of the others.
inline constexpr SpawnOptions kOnItsOwn{.on_failure = OnFailure::keep};

// Cancels the losers and waits for them.
inline void end_losers(Nursery& nursery) {
  nursery.cancel();
  (void)nursery.join<Panics>();  // whose failures nobody asked for
}

}  // namespace detail

// Runs functions side by side, each a child in a nursery of this call: called
// as f() or f(Nursery&), copied or moved in, as by spawn(). Gives a std::tuple
// of what they return, in order; std::monostate for void.
//
//   Suspends:  until all have ended; as Nursery::join().
//   Errors:    the first failure in time, which cancels the others; cancelled,
//              timed_out (from outside); exhausted (no room for a fiber).
//              Rethrows a function's exception. Throws what copying throws.
//   Ordering:  everything the functions did is visible afterwards.
//   Callers:   any fiber.
template <typename OnException = detail::OnException, typename... Fs>
auto all(Fs&&... fs) -> Result<detail::ValuesOf<Fs...>> {
  Nursery nursery;
  std::tuple<Task<typename detail::BodyOf<Fs>::type>...> tasks{
      nursery.spawn(std::forward<Fs>(fs))...};
  if (Status end = nursery.join<OnException>(); !end) return end.error();
  auto pointers = detail::pointers_to(tasks);
  if (const auto end =
          detail::handles_of(pointers).await_all(Deadline::never());
      end.outcome != detail::Outcome::value) {
    return detail::failure_of<OnException>(end);
  }
  return std::apply(
      [](auto&... task) {
        return detail::ValuesOf<Fs...>{detail::value_of<OnException>(task)...};
      },
      tasks);
}

// The same, but gives what the first to end returned, well or badly, and
// cancels the others. What becomes of those does not count, also if they fail.
// The functions have one type in common: Result<Winner<T>>.
//
//   Suspends:  until all have ended.
//   Errors:    the winner's own, or it rethrows; cancelled, timed_out (from
//              outside). One that cannot be started has ended at once.
//   Ordering, Callers:  as all().
template <typename OnException = detail::OnException, typename... Fs>
auto race(Fs&&... fs) -> Result<Winner<detail::CommonOf<Fs...>>> {
  static_assert(sizeof...(Fs) != 0, "weft: a race of nobody has no winner");
  Nursery nursery;
  std::tuple<Task<typename detail::BodyOf<Fs>::type>...> tasks{
      nursery.spawn(detail::kOnItsOwn, std::forward<Fs>(fs))...};
  auto pointers = detail::pointers_to(tasks);
  const auto first =
      detail::handles_of(pointers).await_first(Deadline::never());
  detail::end_losers(nursery);
  if (!first) return first.error();
  return detail::winner_at<detail::CommonOf<Fs...>, OnException>(*first, tasks);
}

// The same, but gives the first that succeeds. If none does: the first failure
// in time.
//
//   Suspends, Errors, Ordering, Callers:  as race().
template <typename OnException = detail::OnException, typename... Fs>
auto any(Fs&&... fs) -> Result<Winner<detail::CommonOf<Fs...>>> {
  static_assert(sizeof...(Fs) != 0, "weft: of nobody none can succeed");
  Nursery nursery;
  std::tuple<Task<typename detail::BodyOf<Fs>::type>...> tasks{
      nursery.spawn(detail::kOnItsOwn, std::forward<Fs>(fs))...};
  auto pointers = detail::pointers_to(tasks);
  const auto end =
      detail::handles_of(pointers).await_success(Deadline::never());
  detail::end_losers(nursery);
  if (end.outcome != detail::Outcome::value) {
    return detail::failure_of<OnException>(end);
  }
  return detail::winner_at<detail::CommonOf<Fs...>, OnException>(end.index,
                                                                 tasks);
}

}  // namespace weft
