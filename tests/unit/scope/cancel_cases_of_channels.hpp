// cancel_cases_of_channels.hpp: sends, receives and selects that wait for ever.
#pragma once

#include <chrono>
#include <cstdint>
#include <iterator>
#include <vector>

#include "unit/scope/cancel_cases.hpp"
#include <weft/weft.hpp>

namespace weft::test {

inline Result<int> wait_long() {
  WEFT_TRY(this_fiber::sleep_for(std::chrono::hours(1)));
  return 0;
}

inline std::vector<Case> channels() {
  return {
      {"Receive",
       [] {
         auto [sender, receiver] = make_channel<int>(1);
         return status_of(receiver.receive());
       }},
      {"ReceiveRendezvous",
       [] {
         auto [sender, receiver] = make_channel<int>(0);
         return status_of(receiver.receive());
       }},
      {"Send",
       [] {
         auto [sender, receiver] = make_channel<int>(1);
         (void)sender.send(1);
         return sender.send(2);
       }},
      {"SendRendezvous",
       [] {
         auto [sender, receiver] = make_channel<int>(0);
         return sender.send(2);
       }},
      {"SendMany",
       [] {
         auto [sender, receiver] = make_channel<int>(1);
         (void)sender.send(1);
         std::vector<int> values{2, 3};
         return status_of(sender.send_many(values));
       }},
      {"ReceiveMany",
       [] {
         auto [sender, receiver] = make_channel<int>(1);
         std::vector<int> values;
         return status_of(receiver.receive_many(std::back_inserter(values), 2));
       }},
      {"BroadcastSend",
       [] {
         Broadcast<int> broadcast(1, OnFull::wait);
         auto subscriber = broadcast.subscribe();
         (void)broadcast.send(1);
         return broadcast.send(2);
       }},
      {"Broadcast",
       [] {
         Broadcast<int> broadcast(1);
         auto subscriber = broadcast.subscribe();
         return status_of(subscriber.receive());
       }},
      {"Watch",
       [] {
         Watch<int> watch(1);
         std::uint64_t seen = 0;
         (void)watch.changed(seen);
         return status_of(watch.changed(seen));
       }},
      {"OrderedSpawn",
       [] {
         Nursery nursery;
         auto [jobs, results] = make_ordered<int>(nursery, 1);
         (void)jobs.spawn(wait_long);
         return jobs.spawn(wait_long);
       }},
      {"OrderedReceive",
       [] {
         Nursery nursery;
         auto [jobs, results] = make_ordered<int>(nursery, 2);
         (void)jobs.spawn(wait_long);
         return status_of(results.receive());
       }},
      {"OrderedNext",
       [] {
         Nursery nursery;
         auto [jobs, results] = make_ordered<int>(nursery, 2);
         return status_of(results.next());
       }},
  };
}

inline std::vector<Case> selects() {
  return {
      {"SelectReceive",
       [] {
         auto [sender, receiver] = make_channel<int>(0);
         return status_of(select(on_receive(receiver, [](Result<int>) {})));
       }},
      {"SelectSend",
       [] {
         auto [sender, receiver] = make_channel<int>(0);
         return status_of(select(on_send(sender, 1, [](Status) {})));
       }},
      {"Selector",
       [] {
         auto [sender, receiver] = make_channel<int>(0);
         Selector several(1);
         (void)several.add(on_receive(receiver, [](Result<int>) {}));
         return status_of(several.wait());
       }},
      {"SelectSubscription",
       [] {
         Broadcast<int> broadcast(1);
         auto subscriber = broadcast.subscribe();
         return status_of(select(on_receive(subscriber, [](Result<int>) {})));
       }},
      {"SelectChanged",
       [] {
         Watch<int> watch(1);
         std::uint64_t seen = watch.version();
         return status_of(select(on_changed(watch, seen, [](Result<int>) {})));
       }},
      {"SelectEvent",
       [] {
         Event event;
         return status_of(select(on_event(event, [] {})));
       }},
      {"SelectReached",
       [] {
         Sequencer sequencer;
         return status_of(select(on_reached(sequencer, 7, [] {})));
       }},
      {"SelectSet",
       [] {
         Future<int> future;
         return status_of(select(on_set(future, [] {})));
       }},
      {"SelectDone",
       []() -> Status {
         Nursery nursery;
         auto task = nursery.spawn(wait_long);
         Status end;  // of the child, which the stop ends as well, maybe first
         WEFT_TRY(select(
             on_done(task, [&](Result<int> of) { end = status_of(of); })));
         return end;
       }},
      {"SelectDeadline",
       [] {
         const auto later = Deadline::after(std::chrono::hours(1));
         return status_of(select(on_deadline(later, [] {})));
       }},
  };
}

}  // namespace weft::test
