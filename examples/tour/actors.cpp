// actors.cpp: an object with a mailbox crashes, and is started again.
#include <cstdint>
#include <stdexcept>

#include "tour.hpp"

namespace tour {

namespace {

struct Message {
  int amount;                                   // negative: too much for it
  weft::Future<std::int64_t>* reply = nullptr;  // whoever wants to know the sum
};

class Account {
 public:
  Status handle(Message& message) {
    if (message.amount < 0) throw std::domain_error("a negative amount");
    sum_ += message.amount;
    if (message.reply != nullptr) message.reply->set(sum_);
    return weft::ok();
  }

 private:
  std::int64_t sum_ = 0;  // no lock: one message at a time
};

std::int64_t sum_of(weft::ActorRef<Message>& account) {
  weft::Future<std::int64_t> reply;
  if (!account.send({0, &reply})) return -1;
  return reply.wait().value_or(-1);
}

}  // namespace

void actors() {
  constexpr int kMessages = 100'000 / kLess;
  stop("actors", "one message at a time; who crashes is started again");
  weft::NurseryIn<weft::profile::Cluster> nursery;
  weft::Supervisor supervisor(nursery, {.max_restarts = 1});
  auto account =
      supervisor.start<Message>({.name = "account"}, [] { return Account(); });
  auto start = Clock::now();
  for (int i = 0; i < kMessages; ++i) (void)account.send({1});
  const auto sum = sum_of(account);
  tell(sum == kMessages, "%s messages, %.0f ns each",
       grouped(kMessages).c_str(), since(start) * 1e6 / kMessages);

  start = Clock::now();
  for (const int amount : {-1, 2, 3}) (void)account.send({amount});
  const auto anew = sum_of(account);
  tell(anew == 5 && supervisor.restarts() == 1,
       "it threw: a new one has the same address and mailbox, and a sum of %d; "
       "%.0f us",
       static_cast<int>(anew), since(start) * 1e3);

  (void)account.send({-1});
  std::string heard;
  try {
    (void)nursery.join();
  } catch (const std::domain_error& error) {
    heard = error.what();
  }
  tell(
      heard == "a negative amount" && account.send({1}).error() == Errc::closed,
      "once more is too often: its nursery fails with \"%s\"", heard.c_str());
}

}  // namespace tour
