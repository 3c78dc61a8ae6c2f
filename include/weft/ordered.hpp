// ordered.hpp: run in parallel, receive in the order of submission.
//
//   weft::Nursery nursery;
//   auto [jobs, results] = weft::make_ordered<Block>(nursery, 32);
//   nursery.spawn([results = std::move(results)]() mutable {
//     while (auto block = results.receive()) write(*block);
//   });  // moved: a copy kept here would let spawn() wait when this has failed
//   for (auto& block : input) WEFT_TRY(jobs.spawn(compress, std::move(block)));
//   jobs.close();
//   return nursery.join();
//
// A channel of tasks: what is queued is the handle of a child, and who receives
// joins it. So a result that is late holds up those behind it, however early
// they are. Either end may be copied; copies share one line. The channel closes
// when its last sender or its last receiver goes; join the nursery after that.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

#include "weft/channel.hpp"
#include "weft/mutex.hpp"
#include "weft/nursery.hpp"
#include "weft/result.hpp"
#include "weft/task.hpp"
#include "weft/time.hpp"

namespace weft {

template <typename T = void>
struct OrderedChannel;
template <typename T = void>
OrderedChannel<T> make_ordered(Nursery& nursery, std::size_t capacity);

template <typename T = void>
class OrderedSender {
 public:
  OrderedSender() noexcept = default;  // empty: spawn() fails with invalid

  // Starts f(args...) in the nursery, as Nursery::spawn(), and takes a place in
  // line for its result. The body returns T or Result<T>. If there is no place
  // to be had, the child has ended, and its result is gone, when this returns.
  //
  //   Suspends:  while `capacity` results are in line; then, on error, until
  //              the child has ended, also when this fiber is cancelled. Always
  //              a cancel point.
  //   Errors:    closed, or what the channel was closed with; cancelled; what
  //              refused the child: exhausted, closed. Throws as
  //              Nursery::spawn(). A child that fails fails its nursery, too,
  //              but stops no others unless options say so.
  //   Ordering:  everything before is visible to the child.
  //   Callers:   as Nursery::spawn(), any number at once; results are in the
  //              order in which places were taken.
  template <typename F, typename... Args>
  requires(!std::is_same_v<std::remove_cvref_t<F>, SpawnOptions>) Status
      spawn(F&& f, Args&&... args) {
    return spawn(SpawnOptions{}, std::forward<F>(f),
                 std::forward<Args>(args)...);
  }
  template <typename F, typename... Args>
  Status spawn(const SpawnOptions& options, F&& f, Args&&... args) {
    using Given = typename detail::BodyOf<F, Args...>::type;
    static_assert(std::is_same_v<Given, T>,
                  "weft: the body of an ordered channel's child returns T or "
                  "Result<T>");
    if (nursery_ == nullptr) return Errc::invalid;
    SpawnOptions each = options;
    if (each.on_failure == OnFailure::inherit) {
      each.on_failure = OnFailure::wait_for_all;  // it is told in its place
    }
    Task<T> task =
        nursery_->spawn(each, std::forward<F>(f), std::forward<Args>(args)...);
    if (!task) return task.template try_join<detail::Panics>().error();
    const Status sent = tasks_.send(std::move(task));
    if (!sent) {
      detail::await_shielded(task);
      (void)task.template try_join<detail::Panics>();  // the nursery has it
    }
    return sent;
  }

  // Receivers get what is in line, then `closed` or the reason.
  //   Suspends:  never. Callers: any fiber or thread, as of all below.
  void close() noexcept { tasks_.close(); }
  void close(Error reason) noexcept { tasks_.close(reason); }
  bool closed() const noexcept { return tasks_.closed(); }
  explicit operator bool() const noexcept { return nursery_ != nullptr; }

 private:
  friend OrderedChannel<T> make_ordered<T>(Nursery&, std::size_t);
  OrderedSender(Nursery& nursery, Sender<Task<T>> tasks) noexcept
      : nursery_(&nursery), tasks_(std::move(tasks)) {}

  Nursery* nursery_ = nullptr;
  Sender<Task<T>> tasks_;
};

template <typename T = void>
class OrderedReceiver {
 public:
  OrderedReceiver() noexcept = default;  // empty: receive() fails with invalid

  // The next result in line.
  //
  //   Suspends:  until there is one in line, and its child has ended, although
  //              later ones may have. A child that has not started may run
  //              right here, as in Task::join(). Always a cancel point.
  //   Errors:    the child's (next() tells them from the rest); closed, or the
  //              reason, once nothing is in line;
  //              cancelled, timed_out, exhausted (memory for the deadline):
  //              then the result keeps its place, receive again. Rethrows the
  //              child's exception, as Task::join().
  //   Ordering:  everything the child did is visible afterwards.
  //   Callers:   any fiber or thread, any number at once; first to wait is
  //              first served.
  template <typename OnException = detail::OnException>
  Result<T> receive(Deadline deadline = Deadline::never()) {
    if (line_ == nullptr) return Errc::invalid;
    const auto turn = line_->turn.acquire(deadline);
    if (!turn) return turn.error();
    if (!line_->first) {
      auto after = line_->tasks.receive(deadline);
      if (!after) return after.error();
      line_->first = *std::move(after);
    }
    // Empty afterwards, unless the child has not ended.
    return line_->first.template join<OnException>(deadline);
  }
  // The next child in line, ended or not: its join() gives the result. So an
  // error here is the end of the line, or the caller's own, and an error of
  // join() is the child's:
  //
  //   while (auto child = results.next()) {
  //     if (auto block = child->join()) write(*block);
  //   }
  //
  //   Suspends:  until there is one in line. Always a cancel point.
  //   Errors:    as receive(), but for the child's.
  //   Callers:   as receive().
  Result<Task<T>> next(Deadline deadline = Deadline::never()) {
    if (line_ == nullptr) return Errc::invalid;
    const auto turn = line_->turn.acquire(deadline);
    if (!turn) return turn.error();
    if (line_->first) return std::move(line_->first);
    return line_->tasks.receive(deadline);
  }
  // The same, but fails with would_block rather than wait, also if another is
  // being served. No cancel point.
  //   Suspends:  never.
  Result<Task<T>> try_next() {
    if (line_ == nullptr) return Errc::invalid;
    const std::unique_lock turn(line_->turn, std::try_to_lock);
    if (!turn) return Errc::would_block;
    if (line_->first) return std::move(line_->first);
    return line_->tasks.try_receive();
  }

  // Senders get `closed` or the reason; the children that are in line go on,
  // but for the one that is waited for their results are lost.
  //   Suspends:  never. Callers: any fiber or thread, as of all below.
  void close() noexcept { close(Errc::closed); }
  void close(Error reason) noexcept {
    if (line_ != nullptr) line_->tasks.close(reason);
  }
  explicit operator bool() const noexcept { return line_ != nullptr; }

 private:
  friend OrderedChannel<T> make_ordered<T>(Nursery&, std::size_t);
  struct Line {
    explicit Line(Receiver<Task<T>> from) noexcept : tasks(std::move(from)) {}
    FairMutex turn;
    Receiver<Task<T>> tasks;
    Task<T> first;  // taken from tasks, not yet joined; guarded by turn
  };
  explicit OrderedReceiver(Receiver<Task<T>> from)
      : line_(std::make_shared<Line>(std::move(from))) {}

  std::shared_ptr<Line> line_;
};

template <typename T>
struct OrderedChannel {  // auto [jobs, results] = make_ordered<T>(nursery, n);
  OrderedSender<T> sender;
  OrderedReceiver<T> receiver;
};

// The nursery outlives the sender's use. Up to `capacity` results are in line,
// and one more is being received.
//   Suspends:  never. Throws: std::bad_alloc. If there is no memory for the
//   line itself, every operation fails with `exhausted`; in profile sovereign
//   with `denied`, as of make_channel().
//   Callers:   any fiber or thread.
template <typename T>
OrderedChannel<T> make_ordered(Nursery& nursery, std::size_t capacity) {
  auto [sender, receiver] = make_channel<Task<T>>(capacity);
  return {OrderedSender<T>(nursery, std::move(sender)),
          OrderedReceiver<T>(std::move(receiver))};
}

}  // namespace weft
