// channel_try_model.cpp: operations of channels that do not wait.
//
// would_block is true: there was no value, or no room, or nobody, at a moment
// that no order contradicts.
#include "channel_scene.hpp"
#include <weft/channel.hpp>

namespace weft::model {

namespace {

using Scene = ChannelScene;

void tries(Program& p) {
  const Scene s(p, 1);
  p.thread("sender", [=] {
    expect(s.try_send(0, 0).has_value(), "there is room");
    (void)s.try_send(0, 1);
  });
  p.thread("receiver", [=] { (void)s.try_receive(1); });
  p.finally([=] { s.expect_settled(); });
}

// There was always a value, and always room for one: a try must not miss it
// because of what it remembers.
void never_empty(Program& p) {
  const Scene s(p, 2, {0});
  p.thread("moves on", [=] {
    expect(s.try_send(0, 1).has_value(), "there is room");
    expect(s.try_receive(1).has_value(), "there is a value");
  });
  p.thread("tries", [=] {
    expect(s.try_receive(2).has_value(), "there was always one");
  });
  p.finally([=] { s.expect_settled(); });
}
void never_full(Program& p) {
  const Scene s(p, 2, {0});
  p.thread("moves on", [=] {
    expect(s.try_receive(1).has_value(), "there is a value");
    expect(s.try_send(0, 1).has_value(), "there is room");
  });
  p.thread("tries", [=] {
    expect(s.try_send(2, 20).has_value(), "there was always room");
  });
  p.finally([=] { s.expect_settled(); });
}

// Several by one exchange, as the header does it.
void many(Program& p) {
  const Scene s(p, 2);
  p.thread("sender", [=] {
    (void)s.send_many(0, 2);
    (void)s.send_many(0, 1);
  });
  p.thread("receiver", [=] {
    (void)s.receive_many(1, 2);
    (void)s.try_receive(1);
  });
  p.finally([=] { s.expect_settled(); });
}
void many_beside_one(Program& p) {
  const Scene s(p, 2, {0});
  p.thread("sender", [=] { (void)s.send_many(2, 2); });
  p.thread("one", [=] { (void)s.try_send(1, 10); });
  p.thread("receiver", [=] { (void)s.receive_many(1, 2); });
  p.finally([=] { s.expect_settled(); });
}

// Somebody waited in between: what the ends know of each other stays.
void never_full_beside_waiter(Program& p) {
  const Scene s(p, 2, {0});
  p.thread("moves on", [=] {
    s.threads[0].begin();
    expect(s.try_receive(0).has_value(), "there is a value");
    (void)s.receive(0, passed());
    expect(s.try_send(0, 1).has_value(), "there is room");
  });
  p.thread("tries", [=] {
    expect(s.try_send(2, 20).has_value(), "there was always room");
  });
  p.finally([=] { s.expect_settled(); });
}
void never_empty_beside_waiter(Program& p) {
  const Scene s(p, 2, {0});
  p.thread("moves on", [=] {
    s.threads[0].begin();
    expect(s.try_send(0, 1).has_value(), "there is room");
    (void)s.send(0, 2, passed());
    expect(s.try_receive(0).has_value(), "there is a value");
  });
  p.thread("tries", [=] {
    expect(s.try_receive(2).has_value(), "there was always one");
  });
  p.finally([=] { s.expect_settled(); });
}

void never_empty_many(Program& p) {
  const Scene s(p, 2, {0});
  p.thread("moves on", [=] {
    expect(s.send_many(1, 1) == 1, "there is room");
    expect(s.receive_many(1, 1) == 1, "there is a value");
  });
  p.thread("tries", [=] {
    expect(s.try_receive(2).has_value(), "there was always one");
  });
  p.finally([=] { s.expect_settled(); });
}
// The try finds somebody who waits, and asks the lock.
void never_full_locked(Program& p) {
  const Scene s(p, 2);
  p.thread("moves on", [=] {
    s.threads[0].begin();
    (void)s.receive(0, passed());
    (void)s.try_send(1, 10);
    (void)s.try_receive(0);
    (void)s.try_send(1, 11);
  });
  p.thread("tries", [=] {
    expect(s.try_send(2, 20).has_value(), "there was always room");
  });
  p.finally([=] { s.expect_settled(); });
}
void never_empty_locked(Program& p) {
  const Scene s(p, 2, {0, 1});
  p.thread("moves on", [=] {
    s.threads[0].begin();
    (void)s.send(0, 2, passed());
    (void)s.try_receive(0);
    (void)s.try_send(1, 10);
    (void)s.try_receive(0);
  });
  p.thread("tries", [=] {
    expect(s.try_receive(2).has_value(), "there was always one");
  });
  p.finally([=] { s.expect_settled(); });
}

// At a rendezvous: a receiver stands there, then it is closed. Never was there
// nobody.
void never_alone(Program& p) {
  const Scene s(p, 0);
  auto& stands = p.make<Atomic<bool>>("stands", false);
  p.thread("receiver", [=] {
    s.threads[1].begin();
    (void)s.receive(1);
  });
  p.thread("closer", [=, &stands] {
    const bool seen = s.core.is_ready(kSends, s.threads[0].proxy);
    stands.store(seen, release);
    s.close(kSends);
  });
  p.thread("tries", [=, &stands] {
    if (!stands.load(acquire)) return;
    const auto end = s.try_send(2, 20);
    expect(end.error() != Errc::would_block,
           "he stands there, or it is closed");
  });
  p.finally([=] {
    s.expect_settled(weft::detail::kRingLocked | weft::detail::kRingClosed);
  });
}

// ---- Full, and the oldest goes

constexpr weft::detail::ChannelSetup kDrops{
    OnFull::drop_oldest, true, {}, nullptr};

// What was sent came, or was dropped, once.
void expect_dropped_or_got(const Scene& s, std::size_t inside,
                           std::uint64_t flags_left = 0) {
  expect(s.flags() == flags_left, "nobody waits, and the words say so");
  (void)s.empty_it();
  s.expect_order();
  std::size_t sent = 0;
  std::size_t got = 0;
  for (const auto& log : s.sent) sent += log.size();
  for (const auto& log : s.got) got += log.size();
  expect(sent == got + s.core.dropped(), "what was sent came, or was dropped");
  expect(got >= inside, "one is dropped for one that comes");
  s.expect_gone();
}

// There was always a value; and the one that was taken made room.
void drops_beside_receive(Program& p) {
  const Scene s(p, 1, {0}, kDrops);
  p.thread("sender",
           [=] { expect(s.send_or_drop(0, 1).has_value(), "it makes room"); });
  p.thread("receiver", [=] {
    expect(s.try_receive(1).has_value(), "there was always one");
  });
  p.finally([=] {
    const bool was_first = s.got[1].front() == 0;
    expect(was_first == (s.core.dropped() == 0),
           "none went where there was room");
    expect_dropped_or_got(s, 1);
  });
}
// What fails by the close has dropped nothing.
template <std::size_t kCapacity>
void drops_beside_close(Program& p) {
  static_assert(kCapacity == 1 || kCapacity == 2);
  const Scene s =
      kCapacity == 1 ? Scene(p, 1, {0}, kDrops) : Scene(p, 2, {0, 1}, kDrops);
  p.thread("sender", [=] {
    const auto end = s.send_or_drop(0, 2);
    expect(end || s.core.dropped() == 0, "it fails, and nothing is gone");
  });
  p.thread("closer", [=] { s.close(kSends); });
  p.thread("receiver", [=] { (void)s.try_receive(1); });
  p.finally(
      [=] { expect_dropped_or_got(s, kCapacity, weft::detail::kRingClosed); });
}
// One displaces what the other has displaced, and a third one sends by a try.
template <std::size_t kCapacity>
void two_drop(Program& p) {
  const Scene s(p, kCapacity, {0}, kDrops);
  for (const std::size_t i : {1u, 2u}) {
    p.thread("sender", [=] {
      const int content = static_cast<int>(i) * 10;
      expect(s.send_or_drop(i, content).has_value(), "it makes room");
    });
  }
  p.thread("beside", [=] {
    (void)s.try_receive(0);
    (void)s.try_send(0, 1);
  });
  p.finally([=] { expect_dropped_or_got(s, 1); });
}

}  // namespace

std::vector<Scenario> channel_tries() {
  const Options few{.preemptions = 2, .spurious_failures = 0};
  const Options fewer{
      .preemptions = 1, .spurious_failures = 0, .stale_reads = 1};
  return {{"tries", tries},
          {"never empty", never_empty},
          {"never full", never_full},
          {"never empty, a waiter", never_empty_beside_waiter, few},
          {"never full, a waiter", never_full_beside_waiter, few},
          {"never empty, many", never_empty_many},
          {"never full, locked", never_full_locked, few},
          {"never empty, locked", never_empty_locked, few},
          {"many", many},
          {"many beside one", many_beside_one, fewer},
          {"never alone", never_alone, fewer},
          {"drops, receive", drops_beside_receive},
          {"drops, close", drops_beside_close<1>, few},
          {"drops, two slots, close", drops_beside_close<2>, few},
          {"two drop", two_drop<1>, fewer},
          {"two drop, two slots", two_drop<2>, fewer}};
}

}  // namespace weft::model
