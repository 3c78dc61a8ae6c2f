// detail/select_cases.hpp: the kinds of cases: what each waits for, and what it
// does when it happens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "weft/channel.hpp"
#include "weft/detail/select.hpp"
#include "weft/event.hpp"
#include "weft/future.hpp"
#include "weft/result.hpp"
#include "weft/sequencer.hpp"
#include "weft/task.hpp"
#include "weft/time.hpp"
#include "weft/wait.hpp"

namespace weft {

namespace detail {

inline Frame* SelectAccess::frame(AnyTask& task) noexcept {
  return task.frame_;
}
inline Sequencer& SelectAccess::sequencer(Event& event) noexcept {
  return event.sequencer_;
}

// Of a handler that is called so: nothing it gives would get lost.
template <typename H, typename... Told>
constexpr void check_returns_void() {
  if constexpr (std::is_invocable_v<H&, Told...>) {
    static_assert(std::is_void_v<std::invoke_result_t<H&, Told...>>,
                  "weft: the handler of a case returns void: what it returned "
                  "would be lost. Keep an error in a variable");
  }
}
// The same of one that is told `Told`, unless it does not want to know.
template <typename H, typename Told>
constexpr void check_handler() {
  constexpr bool kBare = std::is_invocable_v<H&>;
  static_assert(kBare || std::is_invocable_v<H&, Told>,
                "weft: the handler of this case takes nothing, or what it is "
                "told: a Status; of on_done() and on_set() a Result<T>");
  if constexpr (kBare) {
    check_returns_void<H>();
  } else {
    check_returns_void<H, Told>();
  }
}
// The same of one that must know.
template <typename H, typename T>
constexpr void check_receives() {
  static_assert(std::is_invocable_v<H&, Result<T>>,
                "weft: the handler of on_receive() and on_changed() takes a "
                "Result<T>: what is closed is ready, too");
  check_returns_void<H, Result<T>>();
}

// A case with a handler is made, and moved, without throwing if the handler is.
template <typename H>
inline constexpr bool kMoves = std::is_nothrow_move_constructible_v<H>;

// What a case does besides its wait: handler(result), or handler() for one that
// does not want to know.
template <typename H, typename Make>
void call(H& handler, Make&& result) {
  if constexpr (std::is_invocable_v<H&>) {
    handler();
  } else {
    handler(std::forward<Make>(result)());
  }
}

// Lets a case happen. False: another was faster, and it must be waited for
// again; only cases whose happen() is bool say so.
template <typename Case>
bool happens(Case& one) {
  if constexpr (std::is_void_v<decltype(one.happen())>) {
    one.happen();
    return true;
  } else {
    return one.happen();
  }
}

template <typename T, typename H>
class ReceiveCase : public SelectCase {
 public:
  ReceiveCase(Receiver<T>& from, H handler) noexcept(kMoves<H>)
      : SelectCase(kReceives), from_(&from), handler_(std::move(handler)) {}
  ReceiveCase(ReceiveCase&& other) = default;

  void prepare() noexcept {
    renew(ChannelAccess::channel(*from_), ChannelAccess::refused(*from_));
    use(io_, place_.place());
  }
  void happen() {
    if (io_.result) {
      handler_(Result<T>(std::in_place, place_.take()));
    } else {
      handler_(Result<T>(io_.result.error()));
    }
  }

 private:
  Receiver<T>* from_;
  ChannelIo io_;
  Later<T> place_;
  H handler_;
};

template <typename T>
class ReceiveIntoCase : public SelectCase {
 public:
  ReceiveIntoCase(std::optional<T>& slot, Receiver<T>& from) noexcept
      : SelectCase(kReceives), from_(&from), slot_(slot) {}
  ReceiveIntoCase(ReceiveIntoCase&& other) noexcept = default;

  void prepare() noexcept {
    renew(ChannelAccess::channel(*from_), ChannelAccess::refused(*from_));
    use(io_, place_.place());
  }
  void happen() {
    slot_.reset();
    if (io_.result) slot_.emplace(place_.take());
  }

 private:
  Receiver<T>* from_;
  ChannelIo io_;
  Later<T> place_;
  std::optional<T>& slot_;
};

template <typename T, typename H>
class SendCase : public SelectCase {
 public:
  SendCase(Sender<T>& to, T& value, H handler) noexcept(kMoves<H>)
      : SelectCase(kSends),
        to_(&to),
        value_(std::addressof(value)),
        handler_(std::move(handler)) {}
  SendCase(SendCase&& other) = default;

  void prepare() noexcept {
    renew(ChannelAccess::channel(*to_), ChannelAccess::refused(*to_));
    use(io_, value_);
  }
  void happen() {
    call(handler_, [this] { return io_.result; });
  }

 private:
  Sender<T>* to_;
  ChannelIo io_;
  T* value_;
  H handler_;
};

// Of a value that is somebody's as long as the case.
template <typename T, typename H>
class LastingSendCase : public SendCase<T, H> {
 public:
  using SendCase<T, H>::SendCase;
};

template <typename T, typename H>
class DoneCase : public SelectCase {
 public:
  DoneCase(Task<T>& task, H handler) noexcept(kMoves<H>)
      : SelectCase(kIsDone), task_(&task), handler_(std::move(handler)) {}
  DoneCase(DoneCase&& other) = default;

  void prepare() noexcept { renew(SelectAccess::frame(*task_), Errc{}); }
  void happen() {
    call(handler_, [this] { return task_->join(); });
  }

 private:
  Task<T>* task_;
  H handler_;
};

template <typename T, typename H>
class SetCase : public SelectCase {
 public:
  SetCase(Future<T>& future, H handler) noexcept(kMoves<H>)
      : SelectCase(kIsSet, static_cast<AnyFuture*>(&future)),
        future_(&future),
        handler_(std::move(handler)) {}
  SetCase(SetCase&& other) = default;

  void prepare() noexcept {}
  void happen() {
    call(handler_, [this] { return future_->take(); });
  }

 private:
  Future<T>* future_;
  H handler_;
};

// Waits for a token of a sequencer.
class TokenCase : public SelectCase {
 public:
  TokenCase(Sequencer* sequencer, Error refused) noexcept
      : SelectCase(kIsReached, sequencer, refused) {}
  TokenCase(TokenCase&& other) noexcept : SelectCase(std::move(other)) {}

 protected:
  // None: the next odd value, which sets an Event.
  void use_token(std::optional<std::uint64_t> token) noexcept {
    io_ = {token, &done_};
    use(&io_);
  }

 private:
  SequencerIo io_;
  Sequencer::Future done_;
};

template <typename H>
class ReachedCase : public TokenCase {
 public:
  ReachedCase(Sequencer& sequencer, std::optional<std::uint64_t> token,
              H handler) noexcept(kMoves<H>)
      : TokenCase(&sequencer, Errc{}),
        token_(token),
        handler_(std::move(handler)) {}
  ReachedCase(ReachedCase&& other) = default;

  void prepare() noexcept { use_token(token_); }
  void happen() {
    call(handler_, [] { return Status(); });
  }

 private:
  std::optional<std::uint64_t> token_;
  H handler_;
};

template <typename W, typename H>
class OwnCase : public SelectCase {
 public:
  OwnCase(W& waitable, void* io, H handler) noexcept(kMoves<H>)
      : SelectCase(kWaitOps<W>, &waitable),
        own_(&waitable),
        io_(io),
        handler_(std::move(handler)) {}
  OwnCase(OwnCase&& other) = default;

  void prepare() noexcept {
    renew(own_, Errc{});  // it may have been closed, and opened again
    use(io_);
  }
  void happen() {
    call(handler_, [this] { return refused(); });
  }

 private:
  W* own_;
  void* io_;
  H handler_;
};

template <typename H>
struct DeadlineCase {
  Deadline when;
  H handler;
  void happen() {
    call(handler, [] { return Status(Errc::timed_out); });
  }
};

template <typename H>
struct OtherwiseCase {
  H handler;
  void happen() {
    call(handler, [] { return Status(Errc::would_block); });
  }
};

}  // namespace detail

}  // namespace weft
