// session.cpp: what the fiber of a supervisor does.

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "scope/nursery_core.hpp"
#include "scope/supervisor.hpp"

namespace weft::detail {

namespace {

// As much of one thing as there is in a budget.
Budget part_of(const Budget& budget, Resource what) noexcept {
  switch (what) {
    case Resource::ops:
      return {.ops = budget.ops};
    case Resource::memory:
      return {.memory = budget.memory};
    case Resource::channel_ops:
      return {.channel_ops = budget.channel_ops};
    default:
      return {};
  }
}

}  // namespace

Session::~Session() {
  if (state_ == nullptr) return;  // moved from, or retired
  do {
    while (auto seat = state_->next_arrival()) {
      state_->live.fetch_sub(1, relaxed);  // a count
      seat->body->close();
    }
    while (!state_->seats.empty()) dismiss(state_->seats.size() - 1);
  } while (!retire(outcome_));
}

Status Session::operator()() {
  began_ = true;
  try {
    for (;;) {
      Status end;
      {
        Nursery actors(
            {.name = "actors", .on_failure = OnFailure::wait_for_all});
        end = serve(actors);
        actors.cancel();
        (void)actors.join();
      }
      if (!end || !state_->seats.empty()) return end;
      if (!retire({})) continue;  // somebody came
      state_ = nullptr;
      return {};
    }
  } catch (...) {
    outcome_ = Errc::panicked;
    throw;
  }
}

// The next session is paid from where this one was: it may begin at once.
bool Session::retire(Status outcome) noexcept {
  const auto retires = [&] { return state_->retire(outcome); };
  const auto& self = *sched::carrier().current;  // if not, of who refused it
  if (!began_ || !self.word.is_metered()) return retires();
  return waiting::Purse::of(self)->hand_back_if(retires);
}

Status Session::serve(Nursery& actors) {
  for (;;) {
    for (;;) {
      make_room();  // before one is taken that must not get lost
      auto seat = state_->next_arrival();
      if (seat == nullptr) break;
      state_->seats.push_back(std::move(seat));
      start(actors, *state_->seats.back());
    }
    bool ended = false;
    auto lacking = Resource::none;
    if (auto* const seat = state_->next_news(ended, lacking)) {
      if (!ended) {
        if (lacking != Resource::none) feed(actors, *seat, lacking);
      } else if (Status end = see_off(actors, *seat); !end) {
        return end;
      }
      if (state_->quitting()) return {};  // there may always be more
      continue;  // who arrives does not wait for all news
    }
    if (state_->seats.empty() || state_->quitting()) return {};
    if (Status end = state_->await_news(); !end) return end;
  }
}

void Session::make_room() {
  auto& seats = state_->seats;
  if (seats.size() == seats.capacity()) seats.reserve(2 * seats.size() + 4);
}

void Session::start(Nursery& actors, ActorSeat& seat) {
  auto task = Keeper::try_spawn(actors, seat);
  seat.refused = task ? Status() : task.error();
  if (task) {
    seat.task = *std::move(task);
  } else {
    seat.give_back();  // a failure as any other
  }
}

Status Session::finish(ActorSeat& seat) {
  Status end = seat.refused;
  exception_ = nullptr;
  if (seat.task) {
    await_shielded(seat.task);
    try {
      end = seat.task.try_join();
    } catch (...) {
      exception_ = std::current_exception();
      end = Errc::panicked;
    }
  }
  state_->forget_news(seat);
  return end;
}

Status Session::see_off(Nursery& actors, ActorSeat& seat) {
  const Status end = finish(seat);
  if (this_fiber::cancelled()) return this_fiber::checkpoint();  // all end now
  const auto place = place_of(seat);
  if (!again(seat, end)) {
    dismiss(place);
    return {};
  }
  if (!may_restart()) {
    if (exception_ != nullptr) std::rethrow_exception(exception_);
    return outcome_ = end ? Status(Errc::failed) : end;
  }
  const auto strategy = state_->options.strategy;
  if (strategy == Strategy::one_for_one) {
    start_again(actors, place, place + 1);
  } else {
    const auto first = strategy == Strategy::one_for_all ? 0 : place;
    stop_others(first, seat);
    start_again(actors, first, state_->seats.size());
  }
  // Who is refused each time would have this worker to himself.
  this_fiber::yield();
  return {};
}

bool Session::again(const ActorSeat& seat, const Status& end) noexcept {
  const auto restart = seat.options.restart;
  return !seat.over && !seat.body->drained() &&
         (restart == Restart::always ||
          (restart == Restart::on_failure && !end));
}

void Session::start_again(Nursery& actors, std::size_t first,
                          std::size_t last) {
  for (auto i = first; i < last; ++i) {
    state_->restarts.fetch_add(1, relaxed);  // a count
    start(actors, *state_->seats[i]);
  }
}

void Session::stop_others(std::size_t first, const ActorSeat& ended) {
  for (auto i = state_->seats.size(); i-- > first;) {
    auto& seat = *state_->seats[i];
    if (&seat == &ended) continue;
    seat.task.cancel();
    if (!again(seat, finish(seat))) dismiss(i);
  }
}

void Session::feed(Nursery& actors, ActorSeat& seat, Resource what) {
  const Exhausted hungry{seat.task.id(), what};
  state_->asked = state_->decide();
  const auto& decide = state_->asked;
  const auto choice =
      decide != nullptr ? (*decide)(hungry) : state_->options.on_exhausted;
  state_->asked = nullptr;
  if (choice == OnExhausted::ignore) return;
  if (choice == OnExhausted::recharge) {
    const auto more = part_of(seat.granted, what);
    const Status given = more == Budget() ? Status(Error::out_of(what))
                                          : actors.recharge(hungry.fiber, more);
    if (given) seat.feed();
    if (given || given.error() == Errc::invalid) return;  // then it has ended
  }
  seat.over = true;
  seat.task.cancel();
}

bool Session::may_restart() {
  auto& times = state_->restarts_in_window;
  const auto now = Clock::now();
  while (!times.empty() && now - times.front() > state_->options.window) {
    times.pop_front();
  }
  if (times.size() >= state_->options.max_restarts) return false;
  times.push_back(now);
  return true;
}

std::size_t Session::place_of(const ActorSeat& seat) const noexcept {
  const auto& seats = state_->seats;
  const auto found =
      std::find_if(seats.begin(), seats.end(),
                   [&seat](const auto& one) { return one.get() == &seat; });
  return static_cast<std::size_t>(found - seats.begin());
}

void Session::dismiss(std::size_t place) noexcept {
  auto& seat = *state_->seats[place];
  state_->live.fetch_sub(1, relaxed);  // a count
  state_->forget_news(seat);
  seat.body->close();
  state_->seats.erase(state_->seats.begin() +
                      static_cast<std::ptrdiff_t>(place));
}

// ---- Keeper.

namespace {

// Of a session's purse: hears of its end also if that is given up, which alone
// can happen to who has one. Keeps what the two share; the session's fiber does
// not, from whose lost stack nothing would be let go.
struct Watchman final : License {
  Watchman(std::shared_ptr<SupervisorState> over, std::uint64_t session)
      : state(std::move(over)), number(session) {}
  void give_back() noexcept override {
    const std::unique_ptr<Watchman> self(this);
    state->end_session(number);
  }
  const std::shared_ptr<SupervisorState> state;
  const std::uint64_t number;
};

}  // namespace

void Keeper::start(std::shared_ptr<SupervisorState> state,
                   std::uint64_t session) {
  Nursery& nursery = state->nursery;
  SpawnOptions how{.name = "supervisor"};
  const Budget all = nursery.budget();
  if (state->options.budget) {
    how.budget = state->options.budget;
  } else if (scope::core_in(nursery.state_).meters_all ||
             !(all == Budget::unlimited())) {
    // What has no limit stays so. One spawn is its own, and costs an op.
    constexpr Budget kNone = Budget::unlimited();
    Budget part =
        min(all - Budget{.ops = 1, .spawn_count = 1}, Budget::cluster());
    if (all.ops == kNone.ops) part.ops = kNone.ops;
    if (all.memory == kNone.memory) part.memory = kNone.memory;
    if (all.spawn_count == kNone.spawn_count) {
      part.spawn_count = kNone.spawn_count;
    }
    if (all.channel_ops == kNone.channel_ops) {
      part.channel_ops = kNone.channel_ops;
    }
    if (all.syscalls == kNone.syscalls) part.syscalls = kNone.syscalls;
    how.budget = part;
  }
  if (!how.budget) {
    auto fiber = nursery.spawn(how, Session(state));
    state->fiber = std::move(fiber);
    return;
  }
  auto* const watchman = new (std::nothrow) Watchman(state, session);
  Permit permit{watchman};
  const auto reserved =
      watchman != nullptr
          ? nursery.reserve(&how, &permit)
          : Reserved{.refused = Error::out_of(Resource::memory)};
  state->fiber =
      nursery.start_in<Task<void>>(reserved, &how,
                                   Session(std::shared_ptr<SupervisorState>(
                                       std::shared_ptr<void>(), state.get())));
  if (reserved.frame == nullptr && !permit.used) delete watchman;
}

Result<Task<void>> Keeper::try_spawn(Nursery& actors, ActorSeat& seat) {
  const Budget own = this_fiber::ledger().left;
  const auto usual =
      own == Budget::unlimited()
          ? Budget::cluster()
          : min(own - Budget{.ops = 1, .spawn_count = 1}, Budget::child());
  seat.granted = seat.options.budget.value_or(usual);
  const SpawnOptions how{.name = seat.name,
                         .stack_size = seat.options.stack_size,
                         .budget = seat.granted,
                         .on_failure = OnFailure::keep};
  Permit permit{&seat};
  const auto reserved = actors.reserve(&how, &permit);
  if (reserved.frame == nullptr) return reserved.refused;
  return actors.launch<Task<void>>(reserved, [&seat] {
    // A hint for whoever asks.
    seat.number->fiber.store(this_fiber::id().value, relaxed);
    return seat.body->run(seat);
  });
}

}  // namespace weft::detail
