// select.hpp: wait for the first of many things.
//
//   auto fired = weft::select(
//       weft::on_receive(jobs, [&](weft::Result<Job> job) { … }),
//       weft::on_send(log, std::move(line), [&](weft::Status sent) { … }),
//       weft::on_event(stop, [&] { … }),
//       weft::on_deadline(Deadline::after(1s), [&] { … }));
//
// Exactly one case happens; the others have had no effect: a value that was not
// sent is still yours. All of it is on the caller's stack. The handler of the
// case runs there too, after the wait is over, and may wait itself.
//
// A closed channel is ready: its handler is told so, or a loop would spin. So
// is an empty handle, of a channel or a task: its handler is told `invalid`.
// Handlers return void.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "weft/channel.hpp"
#include "weft/detail/select_cases.hpp"
#include "weft/event.hpp"
#include "weft/future.hpp"
#include "weft/result.hpp"
#include "weft/sequencer.hpp"
#include "weft/task.hpp"
#include "weft/time.hpp"
#include "weft/wait.hpp"

namespace weft {

// handler(Result<T>): the value, or why there is none any more.
template <typename T, typename H>
auto on_receive(Receiver<T>& from, H handler) {
  detail::check_receives<H, T>();
  return detail::ReceiveCase<T, H>(from, std::move(handler));
}
// The index form: stores the value, or nothing if the channel is closed.
template <typename T>
auto receive_into(std::optional<T>& slot, Receiver<T>& from) {
  return detail::ReceiveIntoCase<T>(slot, from);
}
// handler(Status) or handler(). The value is moved from only if it was sent. A
// channel that drops when it is full is always ready: as send().
template <typename T, typename H>
auto on_send(Sender<T>& to, std::type_identity_t<T>&& value, H handler) {
  detail::check_handler<H, Status>();
  return detail::SendCase<T, H>(to, value, std::move(handler));
}
// Move it in, copy it, or std::ref() it.
template <typename T, typename H>
auto on_send(Sender<T>& to, const std::type_identity_t<T>& value,
             H handler) = delete;
// The same with a value that lives as long as the case: for a Selector, and for
// a case that is kept in a variable.
template <typename T, typename V, typename H>
requires std::is_same_v<T, V>
auto on_send(Sender<T>& to, std::reference_wrapper<V> value, H handler) {
  detail::check_handler<H, Status>();
  return detail::LastingSendCase<T, H>(to, value.get(), std::move(handler));
}
// The task has ended: handler(Result<T>), which joins it, or handler().
template <typename T, typename H>
auto on_done(Task<T>& task, H handler) {
  detail::check_handler<H, Result<T>>();
  return detail::DoneCase<T, H>(task, std::move(handler));
}
// handler(Result<T>), which takes the value, or handler().
template <typename T, typename H>
auto on_set(Future<T>& future, H handler) {
  detail::check_handler<H, Result<T>>();
  return detail::SetCase<T, H>(future, std::move(handler));
}
// The sequencer has come to the token.
template <typename H>
auto on_reached(Sequencer& sequencer, std::uint64_t token, H handler) {
  detail::check_handler<H, Status>();
  return detail::ReachedCase<H>(sequencer, token, std::move(handler));
}
template <typename H>
auto on_event(Event& event, H handler) {
  detail::check_handler<H, Status>();
  return detail::ReachedCase<H>(detail::SelectAccess::sequencer(event),
                                std::nullopt, std::move(handler));
}
// A waitable of one's own: handler(Status), which says ok or closed, or
// handler(). With io, as wait().
template <Waitable W, typename H>
auto on(W& waitable, H handler) {
  detail::check_handler<H, Status>();
  return detail::OwnCase<W, H>(waitable, nullptr, std::move(handler));
}
template <Waitable W, typename T, typename H>
auto on(W& waitable, T& io, H handler) {
  detail::check_handler<H, Status>();
  return detail::OwnCase<W, H>(waitable, std::addressof(io),
                               std::move(handler));
}
// If nothing else has happened by then.
template <typename H>
auto on_deadline(Deadline when, H handler) {
  detail::check_handler<H, Status>();
  return detail::DeadlineCase<H>{when, std::move(handler)};
}
// If no other case is ready at once, and no deadline among them has passed.
template <typename H>
auto otherwise(H handler) {
  detail::check_handler<H, Status>();
  return detail::OtherwiseCase<H>{std::move(handler)};
}

namespace detail {

template <typename Case>
inline constexpr bool kWaits = std::is_base_of_v<SelectCase, Case>;
template <typename Case>
inline constexpr bool kIsOtherwise = false;
template <typename H>
inline constexpr bool kIsOtherwise<OtherwiseCase<H>> = true;
template <typename Case>
inline constexpr bool kIsDeadline = false;
template <typename H>
inline constexpr bool kIsDeadline<DeadlineCase<H>> = true;
template <typename Case>  // false: of a value that may go before it
inline constexpr bool kLasts = true;
template <typename T, typename H>
inline constexpr bool kLasts<SendCase<T, H>> = false;

// Of a case that was written before the call, and not in it.
template <typename... Cases>
constexpr void check_kept() {
  static_assert(((kLasts<std::remove_cvref_t<Cases>> ||
                  !std::is_lvalue_reference_v<Cases>)&&...),
                "weft: the value may be gone before the select sends it: write "
                "on_send() in the call, or give it std::ref(value)");
}

// What the functions above give.
template <typename Case>
concept CaseOfSelect = kWaits<Case> || kIsDeadline<Case> || kIsOtherwise<Case>;

// The cases of one select: those that wait, in order, and what ends the wait
// beside them.
template <std::size_t Count>
struct SelectList {
  std::array<SelectCase*, Count + 1> waits{};
  std::array<std::uint16_t, Count + 1> order{};
  std::array<std::size_t, Count + 1> written{};  // where
  std::size_t count = 0;
  std::size_t added = 0;
  std::size_t on_deadline = Count;
  std::size_t otherwise = Count;
  Deadline deadline = Deadline::never();

  template <typename Case>
  void add(Case& one) {
    if constexpr (kWaits<Case>) {
      one.prepare();
      waits[count] = &one;
      written[count++] = added;
    } else if constexpr (kIsDeadline<Case>) {
      if (on_deadline == Count || one.when < deadline) {
        deadline = one.when;
        on_deadline = added;
      }
    } else {
      otherwise = added;
    }
    ++added;
  }

  // The index of the case that happened, as written.
  Result<std::size_t> wait(SelectHow how) {
    how.at_once = otherwise != Count;
    const auto end =
        select_cases(waits.data(), order.data(), count, how, deadline);
    if (end) return *end == count ? on_deadline : written[*end];
    if (otherwise != Count && end.error() == Errc::would_block) {
      return on_deadline != Count && deadline.expired() ? on_deadline
                                                        : otherwise;
    }
    return end.error();
  }
};

template <typename... Cases>
Result<std::size_t> select_among(bool fair, Cases&... cases) {
  static_assert((kIsOtherwise<Cases> + ... + 0) <= 1,
                "weft: more than one otherwise() in a select");
  SelectHow how{.fair = fair};
  for (;; how.is_charged = false) {  // paid once, however often others win
    SelectList<sizeof...(Cases)> list;
    (list.add(cases), ...);
    const auto which = list.wait(how);
    if (!which) return which;
    std::size_t at = 0;
    bool over = false;
    (void)((at++ == *which && (over = happens(cases), true)) || ...);
    if (over) return which;
  }
}

}  // namespace detail

// Waits for one of the cases; answers its index, as written.
//
//   Suspends:  until one is ready; not at all with otherwise(). Always a cancel
//              point. Among several that are ready the choice is fair.
//   Errors:    cancelled, timed_out (a scope around it, not its own cases);
//              exhausted (memory for the deadline); invalid (nothing to wait
//              for). Then no case happened and no handler ran.
//   Ordering:  as the case that happened.
//   Callers:   any fiber or thread. The same channel may appear twice; a task
//              or a future has no other who waits.
template <typename... Cases>
requires(detail::CaseOfSelect<std::remove_reference_t<Cases>>&&...)
    Result<std::size_t> select(Cases&&... cases) {
  detail::check_kept<Cases...>();
  return detail::select_among(true, cases...);
}
// The same, but the first that is ready, in the order written.
template <typename... Cases>
requires(detail::CaseOfSelect<std::remove_reference_t<Cases>>&&...)
    Result<std::size_t> select_in_order(Cases&&... cases) {
  detail::check_kept<Cases...>();
  return detail::select_among(false, cases...);
}

// For a number of cases that is known at run time. It allocates when it is made
// and never again. Outlives its waits: no handler destroys it.
class Selector {
 public:
  // At most 60,000 cases; more is misuse. Throws: std::bad_alloc.
  explicit Selector(std::size_t max_cases)
      : max_(detail::checked_case_count(max_cases)),
        cells_(std::make_unique<Cell[]>(max_cases)),
        waits_(std::make_unique<detail::SelectCase*[]>(max_cases)),
        order_(std::make_unique<std::uint16_t[]>(max_cases)),
        written_(std::make_unique<std::size_t[]>(max_cases)) {}
  Selector(const Selector&) = delete;
  Selector& operator=(const Selector&) = delete;

  // A case that waits: a deadline is given to wait(), and for otherwise() there
  // is try_wait(). Answers its index. on_send() takes std::ref(value) here: it
  // is moved from each time it was sent.
  //   Errors:    exhausted (more than there is room for).
  //   Callers:   one at a time, as of all below; a handler may call them, too.
  template <typename Case>
  Result<std::size_t> add(Case&& one) {
    static_assert(detail::kWaits<std::decay_t<Case>>,
                  "weft: wait() takes a deadline, try_wait() is otherwise()");
    static_assert(detail::kLasts<std::decay_t<Case>>,
                  "weft: the value would be gone before the Selector sends it: "
                  "on_send(sender, std::ref(value), handler)");
    for (std::size_t i = 0; i < max_; ++i) {
      if (cells_[i].base != nullptr) continue;
      cells_[i].template hold<std::decay_t<Case>>(std::move(one));
      return i;
    }
    return Error::out_of(Resource::memory);
  }
  // The case is not waited for any more. Within its own handler it goes, and
  // its index is free, when the handler returns.
  void remove(std::size_t index) noexcept {
    if (index < max_) cells_[index].remove();
  }
  // As select(). Without cases: invalid, or timed_out when the deadline comes.
  Result<std::size_t> wait(Deadline deadline = Deadline::never()) {
    return run(false, deadline);
  }
  //   Suspends:  never. Errors: would_block, also without cases.
  Result<std::size_t> try_wait() { return run(true, Deadline::never()); }

 private:
  struct Cell {
    static constexpr std::size_t kSize = 256;
    alignas(std::max_align_t) std::byte bytes[kSize];
    detail::SelectCase* base = nullptr;
    std::uint32_t calls = 0;  // of its handler, under way: one may wait here
    bool removed = false;     // by one of them
    void (*prepare)(void*) noexcept = nullptr;
    bool (*happen)(void*) = nullptr;
    void (*destroy)(void*) noexcept = nullptr;

    Cell() noexcept {}  // NOLINT: bytes are filled by hold()
    ~Cell() { drop(); }
    template <typename Case>
    void hold(Case&& one) {
      static_assert(
          sizeof(Case) <= kSize && alignof(Case) <= alignof(std::max_align_t),
          "weft: a case this large does not fit into a Selector: let "
          "its handler capture by reference");
      base = ::new (static_cast<void*>(bytes)) Case(std::move(one));
      prepare = [](void* it) noexcept { static_cast<Case*>(it)->prepare(); };
      happen = [](void* it) {
        return detail::happens(*static_cast<Case*>(it));
      };
      destroy = [](void* it) noexcept {
        std::destroy_at(static_cast<Case*>(it));
      };
    }
    bool is_waited_for() const noexcept { return base != nullptr && !removed; }
    void remove() noexcept {
      removed = calls != 0;
      if (!removed) drop();
    }
    bool call() {
      struct Call {
        Cell& cell;
        explicit Call(Cell& of) noexcept : cell(of) { ++cell.calls; }
        ~Call() {
          if (--cell.calls == 0 && cell.removed) cell.remove();
        }
      } call(*this);
      return happen(bytes);
    }
    void drop() noexcept {
      if (std::exchange(base, nullptr) != nullptr) destroy(bytes);
    }
  };

  Result<std::size_t> run(bool at_once, Deadline deadline) {
    detail::SelectHow how{.at_once = at_once};
    for (;; how.is_charged = false) {  // as in select_among()
      std::size_t count = 0;
      for (std::size_t i = 0; i < max_; ++i) {
        if (!cells_[i].is_waited_for()) continue;
        cells_[i].prepare(cells_[i].bytes);
        waits_[count] = cells_[i].base;
        written_[count++] = i;
      }
      const auto end = detail::select_cases(waits_.get(), order_.get(), count,
                                            how, deadline);
      if (!end) return end.error();
      if (*end == count) return Errc::timed_out;
      const auto index = written_[*end];
      if (cells_[index].call()) return index;
    }
  }

  const std::size_t max_;
  std::unique_ptr<Cell[]> cells_;
  std::unique_ptr<detail::SelectCase*[]> waits_;
  std::unique_ptr<std::uint16_t[]> order_;
  std::unique_ptr<std::size_t[]> written_;
};

}  // namespace weft
