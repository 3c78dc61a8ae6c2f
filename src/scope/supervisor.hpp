// supervisor.hpp: a supervisor, the seats of its actors, and its fiber.
//
// An actor that is not over has a seat. Its fiber is a metered child of the
// supervisor's, whose purse has the seat for a license: so the seat hears of
// its end, however it ends, and of what it lacks. It tells the supervisor's
// fiber, which alone starts, joins, cancels and recharges.
//
// Invariants
//   V1  A seat is destroyed by the supervisor's fiber, and not before its
//       actor's fiber has ended: give_back() comes before that.
//   V2  At most one session runs: from the add() that found none until it
//       retires, under the lock. One whose fiber is given up cannot: then the
//       end of that fiber's purse does it (Watchman).
//   V3  When a session has retired, what it had left is back where it came
//       from: the next one is paid from there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/atomic.hpp"
#include "base/intrusive_list.hpp"
#include <weft/actor.hpp>
#include <weft/wait.hpp>

namespace weft::detail {

struct ActorNumber {
  Tally<std::uint64_t> fiber{0};
};

struct ActorSeat final : License, base::ListHook {
  ActorSeat(SupervisorState& supervisor, const ActorOptions& how,
            std::unique_ptr<ActorBody> what);

  void give_back() noexcept override;
  void lacks(Resource what) noexcept override;
  // The actor's fiber, until feed(). Errors: cancelled, timed_out.
  Status await_feed(Resource what) noexcept;
  // The supervisor's fiber.
  void feed() noexcept;

  SupervisorState& at;
  const std::string name;
  const ActorOptions options;  // but for the name
  const std::unique_ptr<ActorBody> body;
  const std::shared_ptr<ActorNumber> number = std::make_shared<ActorNumber>();
  // The supervisor's fiber.
  Task<void> task;
  Budget granted;     // what it began with
  Status refused;     // why it has none
  bool over = false;  // it shall not start again
  // Guarded by the supervisor's lock.
  bool ended = false;
  Resource short_of = Resource::none;
  bool fed = false;
  WaitList hungry;  // its fiber
};

class SupervisorState {
 public:
  using Decide = std::function<OnExhausted(const Exhausted&)>;

  SupervisorState(NurseryIn<profile::Cluster>& in,
                  const SupervisorOptions& how) noexcept
      : nursery(in), options(how), owner(this_fiber::id()) {}

  // ---- The owner.

  void check_owner() const noexcept;
  ~SupervisorState();
  // The number of the new session that it takes; 0: one runs.
  [[nodiscard]] std::uint64_t add(std::unique_ptr<ActorSeat> seat) noexcept;
  void set_decide(std::shared_ptr<const Decide> decide) noexcept;
  // Also cancels its fiber, which may be out of ops.
  void quit() noexcept;
  // Until no session runs. Errors: cancelled, timed_out.
  Status await_idle(Deadline deadline) noexcept;
  Status outcome() const noexcept;

  // ---- The supervisor's fiber.

  // Waits for what follows. Errors: cancelled, timed_out.
  Status await_news() noexcept;
  // Until there is none: nullptr.
  std::unique_ptr<ActorSeat> next_arrival() noexcept;
  // What it has to tell: that it has ended; or, unless it is none, what it
  // lacks.
  ActorSeat* next_news(bool& ended, Resource& lacking) noexcept;
  bool quitting() const noexcept;
  std::shared_ptr<const Decide> decide() const noexcept;
  // It has ended, and all there was to tell was heard.
  void forget_news(ActorSeat& seat) noexcept;
  // False: there are arrivals.
  [[nodiscard]] bool retire(Status outcome) noexcept;
  // Its end, however it came about: closes what a session has left behind.
  void end_session(std::uint64_t number) noexcept;

  NurseryIn<profile::Cluster>& nursery;
  const SupervisorOptions options;
  const FiberId owner;
  Task<void> fiber;  // of the last session; the owner's
  // The session's; kept here, in case that its stack is lost.
  std::vector<std::unique_ptr<ActorSeat>> seats;  // in the order of their start
  std::shared_ptr<const Decide> asked;            // the last that was
  std::deque<Clock::time_point> restarts_in_window;
  Tally<std::uint64_t> restarts{0};
  Tally<std::size_t> live{0};

 private:
  friend struct ActorSeat;
  struct News;
  struct Idle;
  bool has_news() const noexcept {
    return !news_.empty() || !arrivals_.empty() || quitting_;
  }
  void tell(ActorSeat& seat) noexcept;

  mutable SpinLock lock_;
  // Guarded by lock_.
  base::IntrusiveList<ActorSeat> arrivals_;  // owned
  base::IntrusiveList<ActorSeat> news_;
  base::IntrusiveList<ActorSeat> lost_;  // owned; closed, and no more
  std::uint64_t session_ = 0;            // the last one's number
  bool running_ = false;
  bool quitting_ = false;
  Status outcome_;
  std::shared_ptr<const Decide> decide_;
  WaitList watching_;  // the supervisor's fiber
  WaitList joining_;   // the owner
};

// The life of the supervisor's fiber; its closure.
class Session {
 public:
  explicit Session(std::shared_ptr<SupervisorState> state) noexcept
      : state_(std::move(state)) {}
  Session(Session&&) noexcept = default;
  Session& operator=(Session&&) = delete;
  // Also of one that never ran: closes what is left.
  ~Session();

  Status operator()();

 private:
  // Until no actor is left. Errors: what it fails with; cancelled, timed_out.
  Status serve(Nursery& actors);
  void make_room();
  void start(Nursery& actors, ActorSeat& seat);
  // As the state's.
  [[nodiscard]] bool retire(Status outcome) noexcept;
  // How its fiber ended, which is waited for.
  Status finish(ActorSeat& seat);
  // It has ended. Errors: there were too many restarts; cancelled.
  Status see_off(Nursery& actors, ActorSeat& seat);
  // Shall it start again?
  static bool again(const ActorSeat& seat, const Status& end) noexcept;
  // Cancels those from `first` on but the one that has ended, waits for them,
  // and dismisses those that do not start again.
  void stop_others(std::size_t first, const ActorSeat& ended);
  void start_again(Nursery& actors, std::size_t first, std::size_t last);
  void feed(Nursery& actors, ActorSeat& seat, Resource what);
  bool may_restart();
  std::size_t place_of(const ActorSeat& seat) const noexcept;
  void dismiss(std::size_t place) noexcept;

  std::shared_ptr<SupervisorState> state_;
  bool began_ = false;            // its fiber is the one that runs
  Status outcome_;                // what it failed with
  std::exception_ptr exception_;  // of the last that ended
};

// How a supervisor comes into its nursery, and its actors into theirs.
struct Keeper {
  static void start(std::shared_ptr<SupervisorState> state,
                    std::uint64_t session);
  static Result<Task<void>> try_spawn(Nursery& actors, ActorSeat& seat);
};

}  // namespace weft::detail
