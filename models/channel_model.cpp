// channel_model.cpp: values through ChannelCore, with the real code of every
// wait below it.
//
// What was sent comes once, in the order sent; nobody waits for ever; and when
// all are gone the words of the buffer say that nobody waits.
#include "channel_scene.hpp"

namespace weft::model {

namespace {

using Scene = ChannelScene;

// ---- With a buffer

void hand_over(Program& p) {
  const Scene s(p, 1);
  p.thread("sender", [=] {
    s.threads[0].begin();
    expect(s.send(0, 0).has_value(), "there is room");
  });
  p.thread("receiver", [=] {
    s.threads[1].begin();
    expect(s.receive(1).has_value(), "it comes");
  });
  p.finally([=] { s.expect_settled(); });
}

// More values than slots: who waits is served, and the slots are used again.
template <std::size_t kCapacity, int kValues>
void laps(Program& p) {
  const Scene s(p, kCapacity);
  p.thread("sender", [=] {
    s.threads[0].begin();
    for (int i = 0; i < kValues; ++i) (void)s.send(0, i);
  });
  p.thread("receiver", [=] {
    s.threads[1].begin();
    for (int i = 0; i < kValues; ++i) (void)s.receive(1);
  });
  p.finally([=] { s.expect_settled(); });
}

// Full: the value of who waits goes where the first was.
template <std::size_t kCapacity>
void full(Program& p) {
  const Scene s(p, kCapacity, {0, 1});
  p.thread("sender", [=] {
    s.threads[0].begin();
    expect(s.send(0, 5).has_value(), "its turn comes");
  });
  p.thread("receiver", [=] {
    s.threads[1].begin();
    expect(s.receive(1).has_value() && s.got[1][0] == 0, "the oldest");
    expect(s.receive(1).has_value(), "and the next");
  });
  p.finally([=] { s.expect_settled(); });
}

template <std::size_t kCapacity>
void two_senders(Program& p) {
  const Scene s(p, kCapacity);
  for (const std::size_t i : {0U, 1U}) {
    p.thread(i == 0 ? "first" : "second", [=] {
      s.threads[i].begin();
      expect(s.send(i, static_cast<int>(10 * i)).has_value(), "its turn comes");
    });
  }
  p.thread("receiver", [=] {
    s.threads[2].begin();
    expect(s.receive(2).has_value() && s.receive(2).has_value(), "both come");
  });
  p.finally([=] { s.expect_settled(); });
}

template <std::size_t kCapacity>
void two_receivers(Program& p) {
  const Scene s(p, kCapacity);
  for (const std::size_t i : {1U, 2U}) {
    p.thread(i == 1 ? "first" : "second", [=] {
      s.threads[i].begin();
      expect(s.receive(i).has_value(), "one for each");
    });
  }
  p.thread("sender", [=] {
    s.threads[0].begin();
    expect(s.send(0, 0).has_value() && s.send(0, 1).has_value(), "both go");
  });
  p.finally([=] { s.expect_settled(); });
}

// Who tries passes nobody who waits, and takes nothing away from him.
void waits_beside_try(Program& p) {
  const Scene s(p, 1, {0});
  p.thread("sender", [=] {
    s.threads[0].begin();
    expect(s.send(0, 1).has_value(), "its turn comes");
  });
  p.thread("tries", [=] { (void)s.try_send(2, 20); });
  p.thread("receiver", [=] {
    s.threads[1].begin();
    expect(s.receive(1).has_value() && s.receive(1).has_value(), "two come");
  });
  p.finally([=] {
    expect(s.got[1][0] == 0, "the oldest");
    s.expect_settled();
  });
}

// ---- Who gives up

template <std::size_t kCapacity>
void receiver_gives_up(Program& p, Deadline deadline, bool cancels) {
  const Scene s(p, kCapacity);
  p.thread("receiver", [=] {
    s.threads[1].begin();
    (void)s.receive(1, deadline);
  });
  p.thread("sender", [=] {
    s.threads[0].begin();
    if (cancels) s.threads[1].cancel();
    (void)s.try_send(0, 0);
  });
  p.finally([=] {
    s.expect_settled(kCapacity == 0 ? weft::detail::kRingLocked : 0);
  });
}
template <std::size_t kCapacity>
void receiver_hasty(Program& p) {
  receiver_gives_up<kCapacity>(p, passed(), false);
}
template <std::size_t kCapacity>
void receiver_cancelled(Program& p) {
  receiver_gives_up<kCapacity>(p, Deadline::never(), true);
}

template <std::size_t kCapacity>
void sender_gives_up(Program& p, Deadline deadline, bool cancels) {
  const auto inside = {0};
  const Scene s(p, kCapacity,
                kCapacity == 0 ? std::initializer_list<int>{} : inside);
  p.thread("sender", [=] {
    s.threads[0].begin();
    (void)s.send(0, 1, deadline);
  });
  p.thread("receiver", [=] {
    s.threads[1].begin();
    if (cancels) s.threads[0].cancel();
    (void)s.try_receive(1);
  });
  p.finally([=] {
    s.expect_settled(kCapacity == 0 ? weft::detail::kRingLocked : 0);
  });
}
template <std::size_t kCapacity>
void sender_hasty(Program& p) {
  sender_gives_up<kCapacity>(p, passed(), false);
}
template <std::size_t kCapacity>
void sender_cancelled(Program& p) {
  sender_gives_up<kCapacity>(p, Deadline::never(), true);
}

// One of two gives up: the other has its value, or its place.
void first_gives_up(Program& p) {
  const Scene s(p, 1, {0});
  for (const std::size_t i : {1U, 2U}) {
    p.thread(i == 1 ? "hasty" : "patient", [=] {
      s.threads[i].begin();
      const auto end = s.send(i, static_cast<int>(10 * i),
                              i == 1 ? passed() : Deadline::never());
      expect(i == 1 || end.has_value(), "its turn comes");
    });
  }
  p.thread("receiver", [=] {
    s.threads[0].begin();
    expect(s.receive(0).has_value() && s.receive(0).has_value(), "two come");
  });
  p.finally([=] { s.expect_settled(); });
}

// ---- Without a buffer

void rendezvous(Program& p) {
  const Scene s(p, 0);
  p.thread("sender", [=] {
    s.threads[0].begin();
    expect(s.send(0, 0).has_value(), "somebody takes it");
  });
  p.thread("receiver", [=] {
    s.threads[1].begin();
    expect(s.receive(1).has_value(), "it comes");
  });
  p.finally([=] { s.expect_settled(weft::detail::kRingLocked); });
}

void both_hasty(Program& p) {
  const Scene s(p, 0);
  p.thread("sender", [=] {
    s.threads[0].begin();
    (void)s.send(0, 0, passed());
  });
  p.thread("receiver", [=] {
    s.threads[1].begin();
    (void)s.receive(1, passed());
  });
  p.finally([=] { s.expect_settled(weft::detail::kRingLocked); });
}

void two_meet_one(Program& p) {
  const Scene s(p, 0);
  for (const std::size_t i : {0U, 1U}) {
    p.thread(i == 0 ? "hasty" : "patient", [=] {
      s.threads[i].begin();
      const auto end = s.send(i, static_cast<int>(10 * i),
                              i == 0 ? passed() : Deadline::never());
      expect(i == 0 || end.has_value(), "its turn comes");
    });
  }
  p.thread("receiver", [=] {
    s.threads[2].begin();
    do {
      (void)s.receive(2);
    } while (s.got[2].back() != 10);
  });
  p.finally([=] { s.expect_settled(weft::detail::kRingLocked); });
}

constexpr const char* kRing = "detail/channel_ring.hpp";
constexpr const char* kCore = "sync/channel_core.cpp";
constexpr const char* kDrop = "sync/channel_drop.cpp";
constexpr const char* kHead = "sync/channel_core.hpp";
constexpr const char* kMarks = "sync/channel_marks.cpp";
constexpr const char* kLock = "base/spin_lock.hpp";
constexpr const char* kNode = "fiber/fiber.hpp";

}  // namespace

Protocol channel() {
  constexpr auto kSkip = Effect::skip;
  const Options few{.preemptions = 2, .spurious_failures = 0};
  const Options fewer{
      .preemptions = 1, .spurious_failures = 0, .stale_reads = 1};
  std::vector<Scenario> waits = {
      {"hand over", hand_over},
      {"full", full<1>, few},
      {"full, two slots", full<2>, few},
      {"laps", laps<1, 3>, fewer},
      {"laps of two slots", laps<2, 3>, fewer},
      {"receiver, deadline", receiver_hasty<1>},
      {"receiver, cancel", receiver_cancelled<1>},
      {"sender, deadline", sender_hasty<1>},
      {"sender, cancel", sender_cancelled<1>},
      {"two senders", two_senders<1>, fewer},
      {"two senders, two slots", two_senders<2>, fewer},
      {"two receivers", two_receivers<1>, fewer},
      {"two receivers, two slots", two_receivers<2>, fewer},
      {"waits beside a try", waits_beside_try, fewer},
      {"first gives up", first_gives_up, fewer, Verdict::holds, true},
      {"rendezvous", rendezvous},
      {"rendezvous, receiver, deadline", receiver_hasty<0>},
      {"rendezvous, receiver, cancel", receiver_cancelled<0>},
      {"rendezvous, sender, deadline", sender_hasty<0>},
      {"rendezvous, sender, cancel", sender_cancelled<0>},
      {"rendezvous, both hasty", both_hasty},
      {"rendezvous, two meet one", two_meet_one, fewer}};
  Protocol all{
      .name = "channel",
      .files = {kRing, kCore, kMarks, kDrop, kHead},
      .scenarios = channel_tries(),
      .mutations = {
          {"fill relaxed", kRing, "mark_filled(", "stamp.store(at + 1"},
          {"fill skipped", kRing, "mark_filled(", "stamp.store(at + 1", relaxed,
           kSkip},
          {"free relaxed", kRing, "mark_free(", "stamp.store(at + lap"},
          {"free skipped", kRing, "mark_free(", "stamp.store(at + lap", relaxed,
           kSkip},
          {"advance: stamp relaxed", kRing, "::advance(", "const auto turn"},
          {"advance: end not moved", kRing, "::advance(", "after(w)", relaxed,
           kSkip},
          {"advance: end relaxed", kRing, "::advance(", "after(w)"},
          {"many: stamp relaxed", kRing, "::advance_many(", "const auto turn"},
          {"many: end not moved", kRing, "::advance_many(", "(w, end,", relaxed,
           kSkip},
          {"many: end relaxed", kRing, "::advance_many(", "(w, end,"},
          {"reserve: stamp relaxed", kCore, "::reserve(", "stamp(at).load"},
          {"reserve: end not moved", kCore, "::reserve(", "tail_.after(at)",
           relaxed, kSkip},
          {"reserve: tail relaxed", kCore, "::reserve(", "for (auto w"},
          {"claim: stamp relaxed", kCore, "::claim(", "stamp(at).load"},
          {"claim: end not moved", kCore, "::claim(", "head_.after(at)",
           relaxed, kSkip},
          {"claim: head relaxed", kCore, "::claim(", "for (auto w"},
          {"served: tail not moved", kCore, "::agree", "tail_.word.store",
           relaxed, kSkip},
          {"try_send: tail relaxed", kCore, "::try_send(", "tail_.word.load"},
          {"try_receive: head relaxed", kCore, "::try_receive(",
           "head_.word.load"},
          {"mark: receiver not written", kMarks, "::mark_waiting(",
           "(t, t | kRingWaits, relaxed, relaxed);", relaxed, kSkip},
          {"mark: sender's tail not written", kMarks, "::mark_waiting(",
           "t, t | kRingWaits, relaxed, relaxed))", relaxed, kSkip},
          {"mark: sender's head not written", kMarks, "::mark_waiting(",
           "h | kRingWaits", relaxed, kSkip},
          {"unmark: head not written", kMarks, "::unmark_all(",
           "head_.word.store", relaxed, kSkip},
          {"unmark: tail not written", kMarks, "::unmark_all(",
           "tail_.word.store", relaxed, kSkip},
          {"displace: head not moved", kDrop, "::displace(",
           "head_.word.compare_exchange_strong", relaxed, kSkip},
          {"displace: tail not moved", kDrop, "::displace(", "tail_.word.store",
           relaxed, kSkip},
          {"displace: tail moved late", kDrop, "::displace(",
           "tail_.word.store", relaxed, Effect::late},
          {"displace: flag stays", kDrop, "::displace(", "head_.word.store",
           relaxed, kSkip},
          {"displace: end relaxed", kDrop, "::displace(", "head_.word.store"},
          {"drop: stamp relaxed", kDrop, "::drop(", "stamp(at).load"},
          {"conclude: gone not written", kNode, "::conclude(", "gone_.store",
           relaxed, kSkip},
          {"conclude: gone relaxed", kNode, "::conclude(", "gone_.store"},
          {"try_meet: look relaxed", kCore, "::try_meet(", "standing_.load"},
          {"standing relaxed", kHead, "::note_standing(", "standing_.store"},
          {"standing not written", kHead, "::note_standing(", "standing_.store",
           relaxed, kSkip},
          {"lock relaxed", kLock, "::try_lock(", "held_.exchange"},
          {"unlock relaxed", kLock, "::unlock(", "held_.store"}}};
  for (auto& one : waits) all.scenarios.push_back(std::move(one));
  return all;
}

}  // namespace weft::model
