// actor.hpp: actors, and the supervisors that start them again.
//
//   weft::NurseryIn<weft::profile::Cluster> nursery;
//   weft::Supervisor supervisor(nursery, {.max_restarts = 5});
//   auto account = supervisor.start<Message>({.name = "account"},
//                                            [] { return Account(); });
//   WEFT_TRY(account.send(Deposit{5}));
//
// An actor is an object with a mailbox, which is a channel, and a fiber, which
// takes one message after the other. It ends well if handle() returns `closed`,
// or when the last ActorRef is gone and nothing is left in the mailbox. Any
// other error, and an exception, is a failure. The mailbox outlives it: what
// waits inside is for the next incarnation. The message at which it failed is
// lost, as is all that the object knew.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/budget.hpp"
#include "weft/channel.hpp"
#include "weft/fiber.hpp"
#include "weft/profile.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

template <typename A, typename M>
concept Actor = requires(A& actor, M& message) {
  { actor.handle(message) } -> std::convertible_to<Status>;
};

// always:      also if it ended well; but not once it cannot get anything any
//              more: the last ActorRef is gone, and the mailbox is empty.
// on_failure:  only if it did not.
enum class Restart : std::uint8_t { always, on_failure, never };

// Whom a restart concerns: that one; all; that one and those started after it.
// The others are cancelled and waited for, last first; then all start again,
// first first, but for those that never do: they are over.
enum class Strategy : std::uint8_t { one_for_one, one_for_all, rest_for_one };

// What becomes of an actor that is out of something, ops or memory or, at its
// mailbox, channel_ops: it gets as much of that again as it began with; or ends
// for good; or stays as it is, which only a cancel ends.
enum class OnExhausted : std::uint8_t { recharge, cancel, ignore };

struct SupervisorOptions {
  Strategy strategy = Strategy::one_for_one;
  // So many restarts within the window, and no more: then it fails. Those that
  // a strategy brings with it are not counted.
  unsigned max_restarts = 3;
  Clock::duration window = std::chrono::seconds(5);
  OnExhausted on_exhausted = OnExhausted::recharge;
  // For itself and its actors, if the nursery is limited: what they get is
  // taken from it. Without it, what there is of Budget::cluster().
  std::optional<Budget> budget = {};
};

struct ActorOptions {
  std::string_view name = {};  // copied
  std::size_t mailbox = 64;    // 0: who sends waits until it is taken
  OnFull on_full = OnFull::wait;
  Restart restart = Restart::on_failure;
  // Of each incarnation. Without it Budget::cluster(); of a supervisor that is
  // limited itself, what it has left of Budget::child().
  std::optional<Budget> budget = {};
  StackSize stack_size = StackSize::automatic;
};

namespace detail {

struct ActorSeat;    // of an actor at its supervisor
struct ActorNumber;  // of the current incarnation
class SupervisorState;

// The fiber of the actor: waits until the supervisor has decided. Errors:
// cancelled, timed_out.
Status await_recharge(ActorSeat& seat, Resource what) noexcept;
FiberId incarnation(const ActorNumber& number) noexcept;

struct ActorBody {
  virtual ~ActorBody() = default;
  // One incarnation. Errors, exceptions: it failed, or was stopped.
  virtual Status run(ActorSeat& seat) = 0;
  // Can nothing come any more?
  virtual bool drained() const noexcept = 0;
  virtual void close() noexcept = 0;
};

template <typename M, typename Make>
class TypedActor final : public ActorBody {
 public:
  TypedActor(Receiver<M> mailbox, Make make)
      : mailbox_(std::move(mailbox)), make_(std::move(make)) {}

  Status run(ActorSeat& seat) override {
    auto actor = make_();
    for (;;) {
      auto message = mailbox_.receive();
      if (!message) {
        const Error why = message.error();
        if (why == Errc::closed) return {};
        if (!(why == Error::out_of(Resource::channel_ops))) return why;
        if (Status fed = await_recharge(seat, why.resource()); !fed) return fed;
        continue;
      }
      const Status handled = actor.handle(*message);
      if (handled) continue;
      return handled.error() == Errc::closed ? Status() : handled;
    }
  }
  bool drained() const noexcept override {
    return mailbox_.closed() && mailbox_.size() == 0;
  }
  void close() noexcept override { mailbox_.close(); }

 private:
  Receiver<M> mailbox_;
  Make make_;
};

}  // namespace detail

// The address of an actor. Copyable; one for all incarnations.
template <typename M>
class ActorRef {
 public:
  ActorRef() noexcept = default;  // of nobody: sends fail with invalid

  // As Sender's. closed: the actor is over, or its supervisor.
  Status send(M&& message, Deadline deadline = Deadline::never()) {
    return mailbox_.send(std::move(message), deadline);
  }
  Status send(const M& message, Deadline deadline = Deadline::never())  //
      requires std::is_copy_constructible_v<M> {
    return mailbox_.send(message, deadline);
  }
  Status try_send(M&& message) { return mailbox_.try_send(std::move(message)); }
  Status try_send(const M& message)  //
      requires std::is_copy_constructible_v<M> {
    return mailbox_.try_send(message);
  }

  bool closed() const noexcept { return mailbox_.closed(); }
  std::string_view name() const noexcept { return mailbox_.name(); }
  // Of the current or last incarnation; 0 before the first has begun.
  FiberId id() const noexcept {
    return number_ != nullptr ? detail::incarnation(*number_) : FiberId();
  }

 private:
  friend class Supervisor;
  ActorRef(Sender<M> mailbox,
           std::shared_ptr<const detail::ActorNumber> number) noexcept
      : mailbox_(std::move(mailbox)), number_(std::move(number)) {}
  Sender<M> mailbox_;
  std::shared_ptr<const detail::ActorNumber> number_;
};

// While it has actors it is a fiber of its nursery, and they are that fiber's
// children: what stops the nursery ends them all. It fails, as a child of its
// nursery, when restarts come too fast: with the failure of the last actor.
class Supervisor {
 public:
  //   Callers:  whoever may spawn in the nursery, which outlives this. The
  //             caller is the owner.
  explicit Supervisor(NurseryIn<profile::Cluster>& nursery,
                      const SupervisorOptions& options = {});
  template <typename N>
  requires(!std::is_same_v<N, NurseryIn<profile::Cluster>>)  //
      explicit Supervisor(N&, const SupervisorOptions& = {}) {
    static_assert(detail::kNever<N>,
                  "weft: actors belong to profile cluster: give the supervisor "
                  "a NurseryIn<profile::Cluster>");
  }
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  // Cancels its actors and waits for them, whoever else is cancelled.
  ~Supervisor();

  // make() gives the actor: now, in a fiber of its own, and after each restart.
  // An actor that cannot be started counts as one that failed at once.
  //
  //   Suspends:  never.
  //   Errors:    none here. Sends fail with closed if the nursery is joined or
  //              stopped, exhausted if there was no memory for the mailbox.
  //              Throws std::bad_alloc, and what moving `make` throws.
  //   Callers:   the owner.
  template <typename M, typename Make>
  requires std::invocable<Make&> ActorRef<M> start(const ActorOptions& options,
                                                   Make make) {
    static_assert(Actor<std::invoke_result_t<Make&>, M>,
                  "weft: an actor has a Status handle(M&), and make() returns "
                  "one");
    auto [sender, mailbox] = make_channel<M>(
        options.mailbox, {.on_full = options.on_full, .name = options.name});
    if (!sender) return ActorRef<M>(std::move(sender), nullptr);
    auto number = add(options, std::make_unique<detail::TypedActor<M, Make>>(
                                   std::move(mailbox), std::move(make)));
    return ActorRef<M>(std::move(sender), std::move(number));
  }

  // Asked in place of options.on_exhausted, by the supervisor's fiber. What it
  // throws is the supervisor's failure.
  //   Callers:  the owner.
  void on_exhausted(std::function<OnExhausted(const Exhausted&)> decide);

  // Waits until no actor is left.
  //   Errors:   what it failed with (panicked: an exception, which the
  //             nursery's join() rethrows); cancelled, timed_out (the caller's:
  //             they go on).
  //   Callers:  the owner.
  Status join(Deadline deadline = Deadline::never()) noexcept;

  // How often an actor was started again.
  std::uint64_t restarts() const noexcept;
  // How many actors are not over.
  std::size_t live() const noexcept;

 private:
  std::shared_ptr<const detail::ActorNumber> add(
      const ActorOptions& options, std::unique_ptr<detail::ActorBody> body);

  std::shared_ptr<detail::SupervisorState> state_;
};

}  // namespace weft
