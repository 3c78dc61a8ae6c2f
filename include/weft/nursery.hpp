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
#include <cstdint>
#include <exception>
#include <functional>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/budget.hpp"
#include "weft/capability.hpp"
#include "weft/config.hpp"
#include "weft/detail/body.hpp"
#include "weft/detail/license.hpp"
#include "weft/fiber.hpp"
#include "weft/result.hpp"
#include "weft/task.hpp"
#include "weft/time.hpp"

namespace weft {

class RuntimeRef;
class Runtime;
template <typename P>
class NurseryIn;

enum class OnFailure : std::uint8_t {
  inherit,          // spawn: as the nursery; nursery: cancel_siblings
  cancel_siblings,  // fail fast
  wait_for_all,     // the others finish; join() reports the first
  keep,             // spawn only: the failure is the Task's alone
};

struct SpawnOptions {
  std::string_view name = {};  // copied
  StackSize stack_size = StackSize::automatic;
  Priority priority = Priority::normal;
  // Of the body, as if it opened a CancelScope: its waits end with timed_out,
  // which is a failure like any other. If it passes before the child's turn
  // comes, the body never starts.
  Deadline deadline = Deadline::never();
  // Taken from the nursery's, or from the spawner's if that has none. Without
  // it a child gets what there is of Budget::child() if either is limited, else
  // it has no limits.
  std::optional<Budget> budget = {};
  OnFailure on_failure = OnFailure::inherit;
};

struct NurseryOptions {
  std::string_view name = {};  // must outlive the nursery
  Deadline deadline = Deadline::never();
  // A pool for the children. If this fiber is limited it is taken from its own,
  // as much as there is, and what is left comes back. Without it, children are
  // paid for by whoever spawns them.
  std::optional<Budget> budget = {};
  OnFailure on_failure = OnFailure::cancel_siblings;
};

struct Failure {  // one child that failed
  FiberId fiber;
  std::string name;
  Error error;  // panicked if it threw exception
  std::exception_ptr exception;
};

namespace detail {

struct Closer {  // what close_on() keeps
  Closer* next = nullptr;
  virtual ~Closer() = default;
  virtual void close() noexcept = 0;
};

struct Keeper;  // a supervisor's

// What a child is started by: a place of it, and the most it may get.
struct Permit {
  License* license;
  Budget most = Budget::unlimited();
  bool used = false;  // the place is the child's, which gives it back
};

struct Reserved {
  Frame* frame = nullptr;
  void* storage = nullptr;
  const void* nursery = nullptr;
  Error refused{Errc{}};
};

}  // namespace detail

class Nursery {
 public:
  // Inside the current fiber's innermost scope, whose cancel and deadline it
  // inherits. Covers the rest of the C++ scope, until join(): a failing child
  // also ends this fiber's waits. Misuse on a plain thread.
  Nursery() noexcept;
  explicit Nursery(const NurseryOptions& options) noexcept;
  // A root scope, for plain threads too; may be a member. Covers no waits but
  // those of join(): who is cancelled there, cancels.
  //   Callers:  any fiber or thread.
  explicit Nursery(RuntimeRef runtime,
                   const NurseryOptions& options = {}) noexcept;
  // Inside of another one, by name: for an object that owns fibers. Stopped
  // with its parent, whose join() waits for these children, too, and closes
  // this nursery. Covers no waits, as a root. A failure stays here, for its own
  // join(). Throws std::bad_alloc.
  //   Callers:  any fiber or thread while the parent lives. Ends before it.
  explicit Nursery(Nursery& parent, const NurseryOptions& options = {});
  Nursery(const Nursery&) = delete;
  Nursery& operator=(const Nursery&) = delete;
  // If not joined: cancels, and waits for the children. A failure that join()
  // has not reported becomes the current fiber's own, unless that fails anyway;
  // a plain thread has no parent to tell, so there it prints and aborts. So it
  // does in a fiber without memory to keep the failure; join() needs none.
  ~Nursery();

  // Starts a child: f(args...), or f(Nursery&, args...) to give it a nursery of
  // its own. Returns Task<T>, where the body returns T or Result<T>. f and
  // args are decay-copied, so move-only closures and values work. A child that
  // cannot be started counts as a child that failed at once.
  //
  //   Suspends:  never (the child may already run on another worker).
  //   Errors:    none here; the Task's and join()'s: exhausted (budget, memory,
  //              max_fibers; stacks, when it first runs), invalid (stack size),
  //              closed (join() was called, or the runtime is stopped), denied
  //              (the runtime's profile is sovereign: NurseryIn). The
  //              Task's: cancelled, timed_out (the nursery is: the body never
  //              starts). Throws what copying f or args throws, and
  //              std::bad_alloc for a closure over 64 bytes; then no child was
  //              started.
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
  //   Suspends:  until no child is left, also when this fiber is cancelled: the
  //              children are told, and waited for.
  //   Errors:    the first failure of a child; else cancelled, timed_out (from
  //              outside, or its own deadline; all have ended); timed_out (the
  //              argument: some still run, join again); exhausted (all left
  //              wait to be recharged, without deadline or cancel, nobody else
  //              called wait_exhausted(): recharge or cancel, and join again).
  //              cancel() by oneself is no error. Rethrows a child's exception
  //              (BadResult of cancelled, timed_out: as if it had returned the
  //              error); in a client built with -fno-exceptions: panicked.
  //   Ordering:  everything the children did is visible afterwards.
  //   Callers:   the owner; not a child.
  template <typename OnException = detail::OnException>
  Status join(Deadline deadline = Deadline::never()) {
    Status end = await_children(deadline);
    if (end || !(end.error() == Errc::panicked)) return end;
    return OnException::exception(*this);
  }

  // The way out on an error: cancels, waits, and gives the first failure in
  // time, a child's or this one.  return nursery.fail(job.error());
  //
  //   Suspends, Ordering, Callers:  as join().
  template <typename OnException = detail::OnException>
  Error fail(Error error) {
    error = detail::as_failure(error);
    refuse(error);
    cancel();
    const Status end = join<OnException>();
    return end ? error : end.error();
  }

  // Wakes every child that waits; those not started never start, and each child
  // tells its own nurseries. Idempotent; nothing after join().
  //
  //   Ordering:  what the caller did before is seen by those it stops.
  //   Callers:   any fiber or thread while the nursery lives, children too.
  void cancel() noexcept;
  bool cancelled() const noexcept;  // by cancel(); stays after join()
  // May be moved either way until it has passed. Callers: as cancel().
  void set_deadline(Deadline deadline) noexcept;

  // All that failed, first first; of refused spawns and of fail() the first 64.
  // Complete after join(). Throws std::bad_alloc.
  std::vector<Failure> failures() const;

  // join() closes the channel (or whatever has a close()) behind the last
  // child, so another fiber receives from it. Throws std::bad_alloc.
  //   Callers:  the owner.
  template <typename Closable>
  void close_on(Closable end) {
    struct Closer : detail::Closer {
      explicit Closer(Closable&& kept) : end(std::move(kept)) {}
      void close() noexcept override { end.close(); }
      Closable end;
    };
    add_closer(new Closer(std::move(end)));
  }

  // What the pool still holds; without one, what this fiber may spend.
  Budget budget() const noexcept;
  // From the pool, or from the caller's own if there is none, to a child.
  //   Errors:   exhausted (there is not so much), invalid (no such child, or it
  //             is not metered), denied (to oneself). Then nothing happened.
  //   Callers:  as cancel().
  Status recharge(FiberId child, const Budget& amount) noexcept;
  // From the capability to the pool. What is left of the pool in the end goes
  // to whoever paid for it first.
  //   Errors:   denied (the capability has not so much), invalid (there is no
  //             pool). Then nothing happened.
  //   Callers:  as cancel().
  Status refill(CapBudget& from, const Budget& amount) noexcept;
  // A child that has run out of ops or memory; each is reported once per time.
  //   Suspends:  until there is one. Always a cancel point.
  //   Errors:    closed (no metered child is left), cancelled, timed_out.
  //   Callers:   as cancel().
  Result<Exhausted> wait_exhausted(
      Deadline deadline = Deadline::never()) noexcept;

  // Memory that lives until the nursery goes; what is freed is used again. A
  // metered fiber pays 1 op and the bytes, and has them back if it frees them.
  // Throws std::bad_alloc, also to one that must stop while it waits.
  //   Suspends:  allocate() of a metered fiber as a check. Callers: as cancel()
  std::pmr::memory_resource* memory();

  std::size_t live() const noexcept;
  RuntimeRef runtime() const noexcept;
  std::string_view name() const noexcept;

 private:
  friend class Runtime;
  template <typename P>
  friend class NurseryIn;
  friend struct detail::Keeper;
  friend struct detail::Rethrows;
  friend struct detail::Panics;
  template <typename F, typename... Args>
  friend decltype(auto) detail::call_scoped(F&& f, Args&&... args);

  // from: not nullptr if a capability pays for the pool. If it cannot, no child
  // may start.
  Nursery(const NurseryOptions& options, CapBudget* from,
          const Budget* pool) noexcept;
  Nursery(RuntimeRef runtime, const NurseryOptions& options, CapBudget* from,
          const Budget* pool) noexcept;
  // Runtime::run()'s: who has the runtime may start one. First: no {} is one.
  enum class ForRoot : bool { yes };
  Nursery(ForRoot root, RuntimeRef runtime) noexcept;

  // Waits for the children, stops them first if it did not go well.
  void end_children(bool went_well) noexcept;
  detail::Reserved reserve(const SpawnOptions* options,
                           detail::Permit* permit = nullptr) noexcept;
  detail::Reserved reserve_otherwise(const SpawnOptions* options,
                                     detail::Permit* permit) noexcept;
  detail::Reserved reserve_by(CapSpawn& by,
                              const SpawnOptions& options) noexcept;
  Status give_purse(detail::Frame* frame, const Budget* asked,
                    detail::Permit* permit) noexcept;
  Status await_standstill(Deadline deadline) noexcept;
  detail::ClosureBlock allocate_closure(std::size_t bytes, std::size_t align);
  void abandon(detail::Frame* frame) noexcept;
  void publish(detail::Frame* frame, const detail::BodyOps& ops) noexcept;
  void refuse(Error error) noexcept;
  void add_closer(detail::Closer* closer) noexcept;
  Status await_children(Deadline deadline) noexcept;

  template <typename Handle, typename F, typename... Args>
  Handle start(const SpawnOptions* options, F&& f, Args&&... args) {
    return start_in<Handle>(reserve(options), options, std::forward<F>(f),
                            std::forward<Args>(args)...);
  }

  template <typename Handle, typename F, typename... Args>
  Handle start_in(const detail::Reserved& reserved, const SpawnOptions* options,
                  F&& f, Args&&... args) {
    if (reserved.frame == nullptr) {
      if (options == nullptr || options->on_failure != OnFailure::keep) {
        refuse(reserved.refused);
      }
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
    detail::ClosureSlot<typename Closure::Data>::make(
        reserved.storage,
        [this](std::size_t bytes, std::size_t align) {
          return allocate_closure(bytes, align);
        },
        std::forward<F>(f), std::forward<Args>(args)...);
    unless_made.frame = nullptr;
    publish(reserved.frame, Closure::kOps);
    return Handle(reserved.frame, reserved.nursery);
  }

  alignas(void*) std::byte state_[272];
};

namespace detail {

// An error cancels the children, an exception too; else they are waited for.
// What failed of them and was not reported is the fiber's failure.
template <typename F, typename... Args>
decltype(auto) call_scoped(F&& f, Args&&... args) {
  Nursery nursery;
  using Raw = std::invoke_result_t<F, Nursery&, Args...>;
  if constexpr (std::is_void_v<Raw>) {
    std::invoke(std::forward<F>(f), nursery, std::forward<Args>(args)...);
    nursery.end_children(true);
  } else {
    Raw result =
        std::invoke(std::forward<F>(f), nursery, std::forward<Args>(args)...);
    if constexpr (std::is_same_v<Raw, typename Unwrap<Raw>::type>) {
      nursery.end_children(true);
    } else {
      nursery.end_children(result.has_value());
    }
    return result;
  }
}

}  // namespace detail

// Runs body(nursery) and joins; cancels first if the body fails. Gives the
// first failure in time, the body's or a child's; else the body's value. What
// the body throws goes on then, but for BadResult of cancelled or timed_out.
template <typename F, typename OnStop = detail::OnStop>
auto with_nursery(const NurseryOptions& options, F&& body)
    -> Result<typename detail::BodyOf<F>::type> {
  using T = typename detail::BodyOf<F>::type;
  Nursery nursery(options);
  auto result = OnStop::template call<T>(std::forward<F>(body), nursery);
  if (!result) return nursery.fail(result.error());
  if (Status end = nursery.join(); !end) return end.error();
  return result;
}

template <typename F, typename OnStop = detail::OnStop>
auto with_nursery(F&& body) {
  return with_nursery<F, OnStop>(NurseryOptions{}, std::forward<F>(body));
}

}  // namespace weft
