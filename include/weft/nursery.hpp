// nursery.hpp: the only way to start a fiber, and where it ends.
//
//   weft::Status fetch_all(std::span<Url> urls) {
//     weft::Nursery nursery;
//     for (auto& url : urls) nursery.spawn(fetch, url);   // arguments move in
//     return nursery.join();
//   }
//
// Borrow rule: a child may refer to what was declared before its nursery. What
// comes after dies first; pass that by value, as an argument of spawn().
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/config.hpp"
#include "weft/detail/body.hpp"
#include "weft/fiber.hpp"
#include "weft/result.hpp"
#include "weft/task.hpp"
#include "weft/time.hpp"

namespace weft {

class RuntimeRef;

struct SpawnOptions {
  std::string_view name = {};  // copied
  StackSize stack_size = StackSize::automatic;
};

struct NurseryOptions {
  std::string_view name = {};  // must outlive the nursery
};

namespace detail {

struct Reserved {
  Frame* frame = nullptr;
  void* storage = nullptr;
  Error refused{Errc{}};
};

}  // namespace detail

class Nursery {
 public:
  // Inside the current fiber. Misuse on a plain thread.
  Nursery() noexcept;
  explicit Nursery(NurseryOptions options) noexcept;
  // A root scope, for plain threads too; may be a member.
  //   Callers:  any fiber or thread.
  explicit Nursery(RuntimeRef runtime, NurseryOptions options = {}) noexcept;
  Nursery(const Nursery&) = delete;
  Nursery& operator=(const Nursery&) = delete;
  // If not joined: waits for the children. A failure that join() has not
  // reported becomes the current fiber's own, unless that fails anyway; a
  // plain thread has no parent to tell, so there it prints and aborts.
  ~Nursery();

  // Starts a child: f(args...), or f(Nursery&, args...) to give it a nursery of
  // its own. Returns Task<T>, where the body returns T or Result<T>. f and
  // args are decay-copied, so move-only closures and values work. A child that
  // cannot be started counts as a child that failed at once.
  //
  //   Suspends:  never (the child may already run on another worker).
  //   Errors:    none here; the Task's and join()'s: exhausted (memory,
  //              max_fibers; stacks, when it first runs), invalid (stack size),
  //              closed (join() was called, or the runtime is stopped). Throws
  //              what copying f or args throws, and std::bad_alloc for a
  //              closure over 64 bytes; then no child was started.
  //   Ordering:  everything before spawn() is visible to the child.
  //   Callers:   any fiber or thread while the nursery is open, its children
  //              included. Others than children must be through before join().
  template <typename F, typename... Args>
  requires(!std::is_same_v<std::remove_cvref_t<F>, SpawnOptions>) auto spawn(
      F&& f, Args&&... args) {  // -> Task<T>
    return start<Task<typename detail::BodyOf<F, Args...>::type>>(
        nullptr, std::forward<F>(f), std::forward<Args>(args)...);
  }
  template <typename F, typename... Args>
  auto spawn(const SpawnOptions& options, F&& f, Args&&... args)
      -> Task<typename detail::BodyOf<F, Args...>::type> {
    return start<Task<typename detail::BodyOf<F, Args...>::type>>(
        &options, std::forward<F>(f), std::forward<Args>(args)...);
  }
  // The same, but refusal is the caller's business and leaves no trace: for
  // load shedding. On error f and args have not been moved from.
  template <typename F, typename... Args>
  auto try_spawn(const SpawnOptions& options, F&& f, Args&&... args)
      -> Result<Task<typename detail::BodyOf<F, Args...>::type>> {
    using Handle = Task<typename detail::BodyOf<F, Args...>::type>;
    const auto reserved = reserve(&options);
    if (reserved.frame == nullptr) return reserved.refused;
    return launch<Handle>(reserved, std::forward<F>(f),
                          std::forward<Args>(args)...);
  }

  template <typename F, typename... Args>
  requires(
      !std::is_same_v<
          std::remove_cvref_t<F>,
          SpawnOptions>) auto try_spawn(F&& f,
                                        Args&&... args) {  // -> Result<Task<T>>
    return try_spawn(SpawnOptions{}, std::forward<F>(f),
                     std::forward<Args>(args)...);
  }

  // Stops admission and waits for every child. Idempotent.
  //
  //   Suspends:  until no child is left, also when this fiber is cancelled.
  //   Errors:    the first failure of a child; timed_out (some still run, join
  //              again). Rethrows a child's exception; in a client built with
  //              -fno-exceptions: panicked.
  //   Ordering:  everything the children did is visible afterwards.
  //   Callers:   the owner; not a child.
  template <typename OnException = detail::OnException>
  Status join(Deadline deadline = Deadline::never()) {
    Status end = await_children(deadline);
    if (end || !(end.error() == Errc::panicked)) return end;
    return OnException::exception(*this);
  }

  std::size_t live() const noexcept;
  RuntimeRef runtime() const noexcept;
  std::string_view name() const noexcept;

 private:
  friend struct detail::Rethrows;
  friend struct detail::Panics;

  detail::Reserved reserve(const SpawnOptions* options) noexcept;
  void abandon(detail::Frame* frame) noexcept;
  void publish(detail::Frame* frame, const detail::BodyOps& ops) noexcept;
  void refuse(Error error) noexcept;
  Status await_children(Deadline deadline) noexcept;

  template <typename Handle, typename F, typename... Args>
  Handle start(const SpawnOptions* options, F&& f, Args&&... args) {
    const auto reserved = reserve(options);
    if (reserved.frame == nullptr) {
      refuse(reserved.refused);
      return Handle(reserved.refused);
    }
    return launch<Handle>(reserved, std::forward<F>(f),
                          std::forward<Args>(args)...);
  }

  template <typename Handle, typename F, typename... Args>
  Handle launch(const detail::Reserved& reserved, F&& f, Args&&... args) {
    using Closure = detail::Closure<std::decay_t<F>, std::decay_t<Args>...>;
    struct Abandon {  // a copy that throws leaves nothing behind
      Nursery* nursery;
      detail::Frame* frame;
      ~Abandon() {
        if (frame != nullptr) nursery->abandon(frame);
      }
    } unless_made{this, reserved.frame};
    detail::Slot<typename Closure::Data>::make(
        reserved.storage, std::forward<F>(f), std::forward<Args>(args)...);
    unless_made.frame = nullptr;
    publish(reserved.frame, Closure::kOps);
    return Handle(reserved.frame);
  }

  alignas(void*) std::byte state_[96];
};

namespace detail {

template <typename F, typename... Args>
decltype(auto) call_scoped(F&& f, Args&&... args) {
  Nursery nursery;
  return std::invoke(std::forward<F>(f), nursery, std::forward<Args>(args)...);
}

}  // namespace detail

// Runs body(nursery) and joins. Gives the body's error, else the first failure
// of a child, else the body's value. An exception of the body waits for the
// children, then goes on.
template <typename F>
auto with_nursery(F&& body) -> Result<typename detail::BodyOf<F>::type> {
  using T = typename detail::BodyOf<F>::type;
  Nursery nursery;
  if constexpr (std::is_void_v<std::invoke_result_t<F, Nursery&>>) {
    std::invoke(std::forward<F>(body), nursery);
    return nursery.join();
  } else {
    Result<T> result(std::invoke(std::forward<F>(body), nursery));
    if (!result) {
      (void)nursery.template join<detail::Panics>();
      return result;
    }
    if (Status end = nursery.join(); !end) return end.error();
    return result;
  }
}

}  // namespace weft
