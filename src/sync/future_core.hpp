// future_core.hpp: a result without a value: set once, waited for by one.
#pragma once

#include <span>

#include "sync/future_word.hpp"
#include "wait/wait.hpp"
#include <weft/future.hpp>
#include <weft/result.hpp>
#include <weft/time.hpp>

namespace weft::sync {

using Callback = AnyFuture::Callback;

class FutureCore {
 public:
  constexpr FutureCore() noexcept = default;
  FutureCore(const FutureCore&) = delete;
  FutureCore& operator=(const FutureCore&) = delete;

  // The setter, once; its last touch. error: Errc{}, none.
  void set(Error error) noexcept;
  bool is_set() const noexcept { return word_.is_set(); }
  // Once it is set.
  Status result() const noexcept { return error_; }

  // Any fiber or thread, one at a time. Errors: cancelled, timed_out, exhausted
  // (memory): it is not set. Ok: it is.
  Status wait(Deadline deadline) noexcept;
  // False: it is set already.
  bool subscribe(Callback& callback) noexcept;
  void reset() noexcept;
  void check_unused() const noexcept;

  // For a wait at several things: who waits installs his node, and takes it
  // back.
  FutureWord& word() noexcept { return word_; }

  // The first that is set; else waits for one of them. A node for each.
  static Result<std::size_t> wait_any(std::span<FutureCore* const> futures,
                                      std::span<WaitNode> nodes,
                                      Deadline deadline) noexcept;

 private:
  struct Several;
  FutureWord word_;
  Error error_{Errc{}};  // written before it is set
};

}  // namespace weft::sync
