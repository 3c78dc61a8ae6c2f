// channel_try_model.cpp: operations of channels that do not wait.
//
// would_block is true: there was no value, or no room, or nobody, at a moment
// that no order contradicts.
#include "channel_scene.hpp"

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
          {"never alone", never_alone, fewer}};
}

}  // namespace weft::model
