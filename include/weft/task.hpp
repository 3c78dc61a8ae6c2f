// task.hpp: the handle of one child and what it returned.
//
// A handle watches; the nursery owns. Dropping a Task neither detaches nor
// waits. Move-only: one holder, so one joiner.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/detail/body.hpp"
#include "weft/fiber.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

class AnyTask;
class Nursery;

namespace detail {

struct Frame;  // the core's fiber
struct Handles;
struct SelectAccess;

// How a wait for a child came out.
struct Ended {
  Error error{Errc{}};  // the caller's, or the child's with outcome error
  Outcome outcome = Outcome::none;  // none: not ended, the frame is still held
  void* storage = nullptr;          // of a value or an exception
};

// Waits for the end. An error, and a value that is void, release the frame.
Ended await_end(Frame* frame, const void* nursery, Deadline deadline,
                bool is_void) noexcept;
Ended try_end(Frame* frame, bool is_void) noexcept;  // would_block
void release_emptied(Frame* frame) noexcept;         // the value was taken
// Waits for the end, cancelled or not; then try_join() has it.
void await_shielded(AnyTask& task) noexcept;

// What join() does with an exception: files built without exceptions get
// panicked, and functions of their own (see result.hpp).
struct Rethrows {
  [[noreturn]] static Error exception(Frame* frame);  // and releases
  [[noreturn]] static Error exception(Nursery& nursery);
  [[noreturn]] static Error kept_exception(Frame* frame);  // stays there
};
struct Panics {
  static Error exception(Frame* frame) noexcept;
  static Error exception(Nursery& nursery) noexcept;
  static Error kept_exception(Frame* frame) noexcept;
};
#if defined(__cpp_exceptions)
using OnException = Rethrows;
#else
using OnException = Panics;
#endif

}  // namespace detail

class AnyTask {  // what all Task<T> can do
 public:
  AnyTask() = default;  // empty
  AnyTask(AnyTask&& other) noexcept
      : frame_(std::exchange(other.frame_, nullptr)),
        nursery_(other.nursery_),
        refused_(std::exchange(other.refused_, Error(Errc::invalid))) {}
  AnyTask& operator=(AnyTask&& other) noexcept {
    AnyTask old(std::move(*this));
    frame_ = std::exchange(other.frame_, nullptr);
    nursery_ = other.nursery_;
    refused_ = std::exchange(other.refused_, Error(Errc::invalid));
    return *this;
  }
  ~AnyTask() {
    if (frame_ != nullptr) drop();
  }

  // False: empty, already joined, or never started.
  explicit operator bool() const noexcept { return frame_ != nullptr; }

  FiberId id() const noexcept;             // 0 if empty
  std::string_view name() const noexcept;  // while this handle is held
  FiberState state() const noexcept;       // completed if empty
  Priority priority() const noexcept;      // normal if empty
  bool done() const noexcept;              // has it ended, or never started?
  static constexpr Tenancy tenancy() noexcept { return Tenancy::cpu_parallel; }
  // What it may still spend and has spent, as of a moment ago; unlimited and
  // nothing if it is not metered, or the handle is empty.
  Ledger ledger() const noexcept;

  // Cancels this child alone: its waits fail with cancelled from now on, and a
  // body that has not started never does. That is no failure of the nursery.
  //
  //   Callers:   the holder of the handle, but not while another fiber or
  //              thread is in a call of the same handle.
  void cancel() noexcept;

  // Waits for the end without taking the result.
  //
  //   Suspends:  until the child has ended. A cancel point, unless the caller's
  //              own nursery has it, and is stopped too: its end is near.
  //   Errors:    cancelled, timed_out; invalid (empty handle, or oneself); what
  //              refused the spawn.
  //   Callers:   the holder of the handle, fiber or thread; one at a time.
  Status wait(Deadline deadline = Deadline::never()) noexcept;

 protected:
  friend class Nursery;
  friend struct detail::Handles;
  friend struct detail::SelectAccess;
  friend void detail::await_shielded(AnyTask& task) noexcept;
  AnyTask(detail::Frame* frame, const void* nursery) noexcept
      : frame_(frame), nursery_(nursery) {}
  explicit AnyTask(Error refused) noexcept : refused_(refused) {}

  void drop() noexcept;

  template <typename T, typename OnException>
  Result<T> take(const detail::Ended& ended) {
    if (ended.outcome == detail::Outcome::none) return ended.error;
    detail::Frame* frame = std::exchange(frame_, nullptr);
    if (ended.outcome == detail::Outcome::error) return ended.error;
    if (ended.outcome == detail::Outcome::exception) {
      return OnException::exception(frame);
    }
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      struct Release {
        detail::Frame* frame;
        ~Release() { detail::release_emptied(frame); }
      } release_after{frame};
      return detail::Slot<T>::take(ended.storage);
    }
  }
  template <typename T, typename OnException>
  Result<T> join_as(Deadline deadline) {
    if (frame_ == nullptr) return refused_;
    return take<T, OnException>(
        detail::await_end(frame_, nursery_, deadline, std::is_void_v<T>));
  }
  template <typename T, typename OnException>
  Result<T> try_join_as() {
    if (frame_ == nullptr) return refused_;
    return take<T, OnException>(detail::try_end(frame_, std::is_void_v<T>));
  }

  detail::Frame* frame_ = nullptr;
  const void* nursery_ = nullptr;  // that it belongs to; a name for it
  Error refused_{Errc::invalid};   // why there is no frame
};

template <typename T = void>
class [[nodiscard(
    "the value this fiber returns would be lost: join it, or let the body "
    "return void")]] Task : public AnyTask {
 public:
  Task() = default;

  // Takes the result; the handle is empty afterwards.
  //
  //   Suspends:  until the child has ended; a cancel point, unless the caller's
  //              own nursery has it, and is stopped too: its end is near. One
  //              that has not started runs right here, on this stack, if the
  //              deadline is never(); a cancel of the caller then waits for it.
  //   Errors:    the child's; if a sibling's failure stopped it, that failure;
  //              cancelled, timed_out (the caller's: the child
  //              goes on, join again); invalid (empty handle, or oneself);
  //              what refused the spawn. Rethrows an exception; in a client
  //              built with -fno-exceptions: panicked.
  //   Ordering:  everything the child did is visible afterwards.
  //   Callers:   the holder of the handle, fiber or thread.
  template <typename OnException = detail::OnException>
  Result<T> join(Deadline deadline = Deadline::never()) {
    return this->template join_as<T, OnException>(deadline);
  }

  // The same, but fails with would_block rather than suspend. Not a cancel
  // point.
  template <typename OnException = detail::OnException>
  Result<T> try_join() {
    return this->template try_join_as<T, OnException>();
  }

 private:
  friend class Nursery;
  using AnyTask::AnyTask;
};

template <>
class Task<void> : public AnyTask {  // may be dropped: the nursery reports
 public:
  Task() = default;

  template <typename OnException = detail::OnException>
  Status join(Deadline deadline = Deadline::never()) {
    return this->template join_as<void, OnException>(deadline);
  }
  template <typename OnException = detail::OnException>
  Status try_join() {
    return this->template try_join_as<void, OnException>();
  }

 private:
  friend class Nursery;
  using AnyTask::AnyTask;
};

}  // namespace weft
