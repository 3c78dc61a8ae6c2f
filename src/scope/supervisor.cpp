#include "scope/supervisor.hpp"

#include <mutex>
#include <utility>

#include "base/check.hpp"
#include <weft/cancel.hpp>

namespace weft {

namespace detail {

// ---- Seats.

ActorSeat::ActorSeat(SupervisorState& supervisor, const ActorOptions& how,
                     std::unique_ptr<ActorBody> what)
    : at(supervisor), name(how.name), options(how), body(std::move(what)) {}

void ActorSeat::give_back() noexcept {
  const std::lock_guard guard(at.lock_);
  ended = true;
  at.tell(*this);
}

void ActorSeat::lacks(Resource what) noexcept {
  const std::lock_guard guard(at.lock_);
  short_of = what;
  at.tell(*this);
}

void ActorSeat::feed() noexcept {
  const std::lock_guard guard(at.lock_);
  fed = true;
  (void)hungry.wake_all();
}

namespace {

struct Feeding {  // concept Waitable
  bool try_complete(Waiter& /*waiter*/) noexcept {
    const std::lock_guard guard(lock);
    return std::exchange(seat.fed, false);
  }
  bool publish(Waiter& waiter) noexcept {
    const std::lock_guard guard(lock);
    seat.hungry.push_back(waiter);
    if (seat.fed) (void)seat.hungry.wake_all();
    return true;
  }
  void unpublish(Waiter& waiter) noexcept {
    const std::lock_guard guard(lock);
    seat.hungry.remove(waiter);
  }

  ActorSeat& seat;
  SpinLock& lock;
};

}  // namespace

Status ActorSeat::await_feed(Resource what) noexcept {
  {
    const std::lock_guard guard(at.lock_);
    fed = false;
  }
  lacks(what);
  Feeding feeding{*this, at.lock_};
  return wait(feeding);
}

Status await_recharge(ActorSeat& seat, Resource what) noexcept {
  return seat.await_feed(what);
}

FiberId incarnation(const ActorNumber& number) noexcept {
  return {number.fiber.load(relaxed)};  // a hint
}

// ---- What the owner and the session share.

// Under the lock.
void SupervisorState::tell(ActorSeat& seat) noexcept {
  if (!base::IntrusiveList<ActorSeat>::contains_hook(seat)) {
    news_.push_back(seat);
  }
  (void)watching_.wake_all();
}

void SupervisorState::check_owner() const noexcept {
  WEFT_CHECK(this_fiber::id() == owner,
             "a supervisor is used by another fiber than the one that made it");
}

SupervisorState::~SupervisorState() {  // nobody else is left
  while (ActorSeat* const seat = lost_.pop_front()) delete seat;
}

std::uint64_t SupervisorState::add(std::unique_ptr<ActorSeat> seat) noexcept {
  live.fetch_add(1, relaxed);  // a count
  const std::lock_guard guard(lock_);
  arrivals_.push_back(*seat.release());
  (void)watching_.wake_all();
  return std::exchange(running_, true) ? 0 : ++session_;
}

void SupervisorState::set_decide(
    std::shared_ptr<const Decide> decide) noexcept {
  const std::lock_guard guard(lock_);
  decide_.swap(decide);
}

std::shared_ptr<const SupervisorState::Decide> SupervisorState::decide()
    const noexcept {
  const std::lock_guard guard(lock_);
  return decide_;
}

void SupervisorState::quit() noexcept {
  {
    const std::lock_guard guard(lock_);
    quitting_ = true;
    (void)watching_.wake_all();
  }
  if (fiber) fiber.cancel();
}

bool SupervisorState::quitting() const noexcept {
  const std::lock_guard guard(lock_);
  return quitting_;
}

Status SupervisorState::outcome() const noexcept {
  const std::lock_guard guard(lock_);
  return outcome_;
}

struct SupervisorState::Idle {  // concept Waitable
  bool try_complete(Waiter& /*waiter*/) noexcept {
    const std::lock_guard guard(state.lock_);
    return !state.running_;
  }
  bool publish(Waiter& waiter) noexcept {
    const std::lock_guard guard(state.lock_);
    state.joining_.push_back(waiter);
    if (!state.running_) (void)state.joining_.wake_all();
    return true;
  }
  void unpublish(Waiter& waiter) noexcept {
    const std::lock_guard guard(state.lock_);
    state.joining_.remove(waiter);
  }

  SupervisorState& state;
};

Status SupervisorState::await_idle(Deadline deadline) noexcept {
  Idle idle{*this};
  return wait(idle, deadline);
}

struct SupervisorState::News {  // concept Waitable
  bool try_complete(Waiter& /*waiter*/) noexcept {
    const std::lock_guard guard(state.lock_);
    return state.has_news();
  }
  bool publish(Waiter& waiter) noexcept {
    const std::lock_guard guard(state.lock_);
    state.watching_.push_back(waiter);
    if (state.has_news()) (void)state.watching_.wake_all();
    return true;
  }
  void unpublish(Waiter& waiter) noexcept {
    const std::lock_guard guard(state.lock_);
    state.watching_.remove(waiter);
  }

  SupervisorState& state;
};

Status SupervisorState::await_news() noexcept {
  News news{*this};
  return wait(news);
}

std::unique_ptr<ActorSeat> SupervisorState::next_arrival() noexcept {
  const std::lock_guard guard(lock_);
  return std::unique_ptr<ActorSeat>(arrivals_.pop_front());
}

ActorSeat* SupervisorState::next_news(bool& ended, Resource& lacking) noexcept {
  const std::lock_guard guard(lock_);
  ActorSeat* const seat = news_.pop_front();
  if (seat == nullptr) return nullptr;
  ended = seat->ended;
  lacking = std::exchange(seat->short_of, Resource::none);
  return seat;
}

void SupervisorState::forget_news(ActorSeat& seat) noexcept {
  const std::lock_guard guard(lock_);
  if (base::IntrusiveList<ActorSeat>::contains_hook(seat)) news_.remove(seat);
  seat.ended = false;
  seat.short_of = Resource::none;
  seat.fed = false;
}

bool SupervisorState::retire(Status outcome) noexcept {
  const std::lock_guard guard(lock_);
  if (!outcome) outcome_ = outcome;
  if (!arrivals_.empty()) return false;
  running_ = false;
  (void)joining_.wake_all();
  return true;
}

// What is destroyed here may be somebody's code, which nobody would pay for: so
// that is left to the last who has the state.
void SupervisorState::end_session(std::uint64_t number) noexcept {
  {
    const std::lock_guard guard(lock_);
    if (!running_ || session_ != number) return;  // it has retired
    outcome_ = Error::out_of(Resource::ops);
  }
  const auto lose = [this](std::unique_ptr<ActorSeat> seat) {
    live.fetch_sub(1, relaxed);  // a count
    seat->body->close();
    forget_news(*seat);
    const std::lock_guard guard(lock_);
    lost_.push_back(*seat.release());
  };
  for (auto& seat : seats) lose(std::move(seat));
  seats.clear();
  do {
    while (auto seat = next_arrival()) lose(std::move(seat));
  } while (!retire(Error::out_of(Resource::ops)));
}

}  // namespace detail

// ---- Supervisor.

Supervisor::Supervisor(NurseryIn<profile::Cluster>& nursery,
                       const SupervisorOptions& options)
    : state_(std::make_shared<detail::SupervisorState>(nursery, options)) {}

Supervisor::~Supervisor() {
  state_->quit();
  const Shield shield;
  (void)state_->await_idle(Deadline::never());
  state_->fiber = {};  // which may be the last to have the state
}

std::shared_ptr<const detail::ActorNumber> Supervisor::add(
    const ActorOptions& options, std::unique_ptr<detail::ActorBody> body) {
  state_->check_owner();
  auto seat =
      std::make_unique<detail::ActorSeat>(*state_, options, std::move(body));
  auto number = seat->number;
  if (const auto session = state_->add(std::move(seat)); session != 0) {
    detail::Keeper::start(state_, session);
  }
  return number;
}

void Supervisor::on_exhausted(
    std::function<OnExhausted(const Exhausted&)> decide) {
  state_->check_owner();
  using Decide = detail::SupervisorState::Decide;
  state_->set_decide(decide == nullptr
                         ? nullptr
                         : std::make_shared<const Decide>(std::move(decide)));
}

Status Supervisor::join(Deadline deadline) noexcept {
  state_->check_owner();
  if (Status end = state_->await_idle(deadline); !end) return end;
  return state_->outcome();
}

std::uint64_t Supervisor::restarts() const noexcept {
  return state_->restarts.load(relaxed);  // a count
}

std::size_t Supervisor::live() const noexcept {
  return state_->live.load(relaxed);  // a count
}

}  // namespace weft
