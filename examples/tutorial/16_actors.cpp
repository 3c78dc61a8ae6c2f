// 16_actors: objects with a mailbox, and who starts them again.
#include <cstdio>
#include <utility>
#include <variant>

#include <weft/weft.hpp>

using weft::Errc, weft::Error, weft::Status;
using Cluster = weft::NurseryIn<weft::profile::Cluster>;

int wrong = 0;
void show(bool right, const char* what) {
  std::printf("%-6s%s\n", right ? "ok" : "WRONG", what);
  if (!right) ++wrong;
}

struct Deposit {
  int amount;
};
struct Balance {
  weft::Future<int>* reply;
};
using Message = std::variant<Deposit, Balance>;

class Account {  // an actor: one message at a time, so no locks
 public:
  Status handle(Message& message) {
    if (auto* deposit = std::get_if<Deposit>(&message)) {
      if (deposit->amount < 0) return Errc::invalid;  // restarts us
      balance_ += deposit->amount;
    } else {
      std::get<Balance>(message).reply->set(balance_);
    }
    return weft::ok();
  }

 private:
  int balance_ = 0;
};

// Of an actor that answers: if it failed at this message nobody would.
weft::Result<int> ask(weft::ActorRef<Message>& account) {
  weft::Future<int> reply;  // on this stack, no allocation
  WEFT_TRY(account.send(Balance{&reply}));
  return reply.wait();
}

Status bank() {
  Cluster nursery;
  weft::Supervisor supervisor(nursery, {.max_restarts = 5});
  auto account =
      supervisor.start<Message>({.name = "account"}, [] { return Account(); });
  WEFT_TRY(account.send(Deposit{5}));
  show(WEFT_TRY(ask(account)) == 5, "an account has what was paid in");
  WEFT_TRY(account.send(Deposit{-1}));
  WEFT_TRY(account.send(Deposit{3}));  // waits in the mailbox meanwhile
  show(WEFT_TRY(ask(account)) == 3, "after a failure it begins anew");
  show(supervisor.restarts() == 1, "under the same address");
  nursery.cancel();  // ends them all
  return nursery.join();
}

// Actors that depend on each other start again together.
Status shop() {
  Cluster nursery;
  weft::Supervisor supervisor(nursery,
                              {.strategy = weft::Strategy::one_for_all});
  auto till = supervisor.start<Message>({}, [] { return Account(); });
  auto book = supervisor.start<Message>({}, [] { return Account(); });
  WEFT_TRY(till.send(Deposit{7}));
  WEFT_TRY(book.send(Deposit{7}));
  show(WEFT_TRY(ask(till)) == WEFT_TRY(ask(book)), "till and book agree");
  WEFT_TRY(till.send(Deposit{-1}));
  show(WEFT_TRY(ask(till)) == 0 && WEFT_TRY(ask(book)) == 0, "and still do");
  nursery.cancel();
  return nursery.join();
}

Status hopeless() {
  Cluster nursery;
  weft::Supervisor supervisor(nursery, {.max_restarts = 2});
  auto account = supervisor.start<Message>({}, [] { return Account(); });
  for (int i = 0; i < 3; ++i) (void)account.send(Deposit{-1});
  show(nursery.join().error() == Errc::invalid, "too often: it fails for good");
  show(account.send(Deposit{1}).error() == Errc::closed, "nobody is there");
  return {};
}

int main() {
  const int status = weft::run_main([]() -> Status {
    WEFT_TRY(bank());
    WEFT_TRY(shop());
    return hopeless();
  });
  return status != 0 || wrong != 0 ? 1 : 0;
}
