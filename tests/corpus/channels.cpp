// channels.cpp: bugs of who sends, who receives, and who says that it is over.

#include <chrono>
#include <utility>

#include "corpus/corpus.hpp"
#include <weft/weft.hpp>

namespace weft::corpus {

namespace {

using testing::point;
using namespace std::chrono_literals;

// Who never says that there is no more keeps its receiver for ever.
template <bool Fixed>
void never_closed(Simulation& sim) {
  auto channel = make_channel<int>(1);
  int sum = 0;
  Nursery nursery;
  nursery.spawn([&] {
    for (const int value : channel.receiver) sum += value;
  });
  nursery.spawn([&] {
    (void)channel.sender.send(1);
    (void)channel.sender.send(2);
    if (Fixed) channel.sender.close();
  });
  (void)nursery.join();
  sim.check(sum == 3, "all arrives");
}

// Who asked has given up; who answers waits for him for ever.
template <bool Fixed>
void abandoned_reply(Simulation&) {
  auto reply = make_channel<int>(Fixed ? 1 : 0);
  Nursery nursery;
  nursery.spawn([&] {
    point();
    (void)reply.sender.send(1);
  });
  (void)select(on_receive(reply.receiver, [](Result<int>) {}),
               on_deadline(Deadline::after(1ms), [] {}));
  (void)nursery.join();
}

// The first answer is enough, but all want to give theirs.
template <bool Fixed>
void first_answer_wins(Simulation&) {
  constexpr std::size_t kAsked = 3;
  auto answers = make_channel<int>(Fixed ? kAsked : 1);
  Nursery nursery;
  for (std::size_t i = 0; i < kAsked; ++i) {
    nursery.spawn([&] { (void)answers.sender.send(1); });
  }
  (void)answers.receiver.receive();
  (void)nursery.join();
}

// All requests first, then all replies: there is room for fewer.
template <bool Fixed>
void sends_before_it_receives(Simulation&) {
  constexpr int kRequests = 4;
  auto requests = make_channel<int>(1);
  auto replies = make_channel<int>(1);
  Nursery nursery;
  nursery.spawn([&] {
    for (const int request : requests.receiver) {
      (void)replies.sender.send(request);
    }
  });
  for (int i = 0; i < kRequests; ++i) {
    (void)requests.sender.send(i);
    if (Fixed) (void)replies.receiver.receive();
  }
  for (int i = 0; !Fixed && i < kRequests; ++i) {
    (void)replies.receiver.receive();
  }
  requests.sender.close();
  (void)nursery.join();
}

template <bool Fixed>
void looks_before_it_sends(Simulation& sim) {
  auto channel = make_channel<int>(1);
  Nursery nursery;
  nursery.spawn([&] { channel.receiver.close(); });
  if (Fixed) {
    (void)channel.sender.send(1);  // says whether it was
  } else if (!channel.sender.closed()) {
    sim.check(bool(channel.sender.send(1)), "it is open, so it is sent");
  }
  (void)nursery.join();
}

template <bool Fixed>
void looks_before_it_receives(Simulation&) {
  auto channel = make_channel<int>(1);
  (void)channel.sender.send(1);
  const auto take_what_is_there = [&] {
    if (Fixed) {
      (void)channel.receiver.try_receive();
    } else if (channel.receiver.size() != 0) {
      (void)channel.receiver.receive();
    }
  };
  Nursery nursery;
  nursery.spawn(take_what_is_there);
  nursery.spawn(take_what_is_there);
  (void)nursery.join();
}

// A value that was not sent in time is forgotten.
template <bool Fixed>
void dropped_on_timeout(Simulation& sim) {
  auto channel = make_channel<int>(1);
  int got = 0;
  Nursery nursery;
  nursery.spawn([&] {
    for (const int value : channel.receiver) got += value;
  });
  for (int i = 0; i < 3; ++i) {
    while (!channel.sender.send(1, Deadline::after(1ms)) && Fixed) {
    }
  }
  channel.sender.close();
  (void)nursery.join();
  sim.check(got == 3, "all arrives");
}

// Of several who send the first to be done closes.
template <bool Fixed>
void closed_by_the_first(Simulation& sim) {
  auto channel = make_channel<int>(2);
  int got = 0;
  Nursery nursery;
  for (int i = 0; i < 2; ++i) {
    nursery.spawn([sender = channel.sender]() mutable {
      (void)sender.send(1);
      if (!Fixed) sender.close();  // when the last one goes, it is
    });
  }
  channel.sender = {};
  for (const int value : channel.receiver) got += value;
  (void)nursery.join();
  sim.check(got == 2, "all arrives");
}

}  // namespace

std::vector<Bug> channel_bugs() {
  const testing::ExploreOptions late{.faults = {Fault::time_passes}};
  return {
      {"never_closed", "Nobody says that there is no more.", Verdict::deadlock,
       never_closed<false>, never_closed<true>},
      {"abandoned_reply", "A reply is sent to who has given up waiting.",
       Verdict::deadlock, abandoned_reply<false>, abandoned_reply<true>, late},
      {"first_answer_wins", "One answer is received, all are sent.",
       Verdict::deadlock, first_answer_wins<false>, first_answer_wins<true>},
      {"sends_before_it_receives", "Two channels are full, in a circle.",
       Verdict::deadlock, sends_before_it_receives<false>,
       sends_before_it_receives<true>},
      {"looks_before_it_sends", "It closes between the look and the send.",
       Verdict::assertion, looks_before_it_sends<false>,
       looks_before_it_sends<true>},
      {"looks_before_it_receives", "Another takes what both have seen.",
       Verdict::deadlock, looks_before_it_receives<false>,
       looks_before_it_receives<true>},
      {"dropped_on_timeout", "What was not sent in time is forgotten.",
       Verdict::assertion, dropped_on_timeout<false>, dropped_on_timeout<true>,
       late},
      {"closed_by_the_first", "Who is done closes, while another still sends.",
       Verdict::assertion, closed_by_the_first<false>,
       closed_by_the_first<true>},
  };
}

}  // namespace weft::corpus
