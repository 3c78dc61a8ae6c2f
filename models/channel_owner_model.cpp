// channel_owner_model.cpp: a buffer that one thread has to itself, and another
// who comes and ends that.
//
// What was sent comes once, in the order sent, and nobody waits for ever, also
// where the owner is in the middle of a move when the other one comes.
#include "channel_scene.hpp"

namespace weft::model {

namespace {

using Scene = ChannelScene;
using Ownership = ChannelCore::Ownership;

void settle(const Scene& s, std::uint64_t flags_left = 0) {
  const auto& owner = s.ends().tail.owner();
  const auto to = owner.to[owner.now.load()].load();
  const bool owned = to != Ownership::kFree && to != Ownership::kEnded;
  for (auto* const word : {&s.ends().tail.word, &s.ends().head.word}) {
    expect(((word->load() & weft::detail::kRingOwned) != 0) == owned,
           "the words say whether it is somebody's own");
  }
  if (owned) flags_left |= weft::detail::kRingOwned;
  s.expect_settled(flags_left);
}

// The owner is in the middle of a send, or of a receive.
void sends(Program& p) {
  const Scene s(p, 2);
  p.thread("owner", [=] {
    s.threads[0].begin();
    s.core.own();
    expect(s.try_send(0, 0).has_value(), "there is room");
  });
  p.thread("other", [=] {
    s.threads[1].begin();
    expect(s.try_send(1, 10).has_value(), "there is room");
  });
  p.finally([=] { settle(s); });
}
void receives(Program& p) {
  const Scene s(p, 2, {0, 1});
  p.thread("owner", [=] {
    s.threads[0].begin();
    s.core.own();
    expect(s.try_receive(0).has_value(), "there is a value");
  });
  p.thread("other", [=] {
    s.threads[1].begin();
    expect(s.try_receive(1).has_value(), "there is a value");
  });
  p.finally([=] { settle(s); });
}

// It goes round the buffer of one slot.
void both_ends(Program& p) {
  const Scene s(p, 1);
  p.thread("owner", [=] {
    s.threads[0].begin();
    s.core.own();
    (void)s.try_send(0, 0);
    (void)s.try_receive(0);
    (void)s.try_send(0, 1);
  });
  p.thread("other", [=] {
    s.threads[1].begin();
    (void)s.try_receive(1);
  });
  p.finally([=] { settle(s); });
}

// It is full: the owner waits, or the other one was there before.
void full(Program& p) {
  const Scene s(p, 1, {0});
  p.thread("owner", [=] {
    s.threads[0].begin();
    s.core.own();
    expect(s.send(0, 1).has_value(), "its turn comes");
  });
  p.thread("receiver", [=] {
    s.threads[1].begin();
    expect(s.try_receive(1).has_value(), "the oldest");
  });
  p.finally([=] { settle(s); });
}

// Either may have to wait for the other.
template <std::size_t kCapacity>
void waits(Program& p) {
  const Scene s(p, kCapacity);
  p.thread("owner", [=] {
    s.threads[0].begin();
    s.core.own();
    (void)s.send(0, 0);
    (void)s.send(0, 1);
  });
  p.thread("receiver", [=] {
    s.threads[1].begin();
    expect(s.receive(1).has_value() && s.receive(1).has_value(), "both come");
  });
  p.finally([=] { settle(s); });
}
void waits_for_value(Program& p) {
  const Scene s(p, 1);
  p.thread("owner", [=] {
    s.threads[0].begin();
    s.core.own();
    expect(s.receive(0).has_value() && s.receive(0).has_value(), "both come");
  });
  p.thread("sender", [=] {
    s.threads[1].begin();
    (void)s.send(1, 10);
    (void)s.send(1, 11);
  });
  p.finally([=] { settle(s); });
}

// One after the other: who was it may still be on the way in. What they do
// inside is plain, so two at once are a race.
void two_owners(Program& p) {
  const Scene s(p, 1);
  auto& moved = p.make<Plain<int>>("moved", 0);
  for (const std::size_t i : {0U, 1U}) {
    p.thread(i == 0 ? "first" : "second", [=, &moved] {
      s.threads[i].begin();
      s.core.own();
      (void)s.end_of(kSends).owner().inside(Scene::me(), [&moved] {
        moved = moved + 1;
        return true;
      });
    });
  }
  p.finally([=] {
    expect(s.core.is_owned(), "whoever came last has it");
    settle(s);
  });
}

void many(Program& p) {
  const Scene s(p, 2);
  p.thread("owner", [=] {
    s.threads[0].begin();
    s.core.own();
    (void)s.send_many(0, 2);
    (void)s.receive_many(0, 1);
  });
  p.thread("other", [=] {
    s.threads[1].begin();
    (void)s.try_receive(1);
  });
  p.finally([=] { settle(s); });
}

// What was admitted before the close comes.
void closed(Program& p) {
  const Scene s(p, 2);
  p.thread("owner", [=] {
    s.threads[0].begin();
    s.core.own();
    (void)s.try_send(0, 0);
    (void)s.try_send(0, 1);
  });
  p.thread("closer", [=] {
    s.threads[1].begin();
    s.close(kSends);
  });
  p.finally([=] { settle(s, weft::detail::kRingClosed); });
}

// Where there are no heavy barriers nobody owns anything.
void refused(Program& p) {
  const Scene s(p, 1);
  p.thread("owner", [=] {
    s.threads[0].begin();
    s.core.own();
    expect(!s.core.is_owned(), "it is everybody's");
  });
  p.finally([=] { settle(s); });
}

constexpr const char* kGrant = "detail/channel_owner.hpp";
constexpr const char* kRing = "detail/channel_ring.hpp";
constexpr const char* kOwner = "sync/channel_owner.cpp";

}  // namespace

Protocol channel_owner() {
  constexpr auto kSkip = Effect::skip;
  const Options once{
      .preemptions = 3, .spurious_failures = 0, .heavy_barriers = 1};
  const Options fewer{.preemptions = 1,
                      .spurious_failures = 0,
                      .stale_reads = 1,
                      .heavy_barriers = 1};
  const Options twice{.preemptions = 3,
                      .spurious_failures = 0,
                      .stale_reads = 1,
                      .heavy_barriers = 2};
  return {
      .name = "channel owner",
      .files = {kGrant, kRing, kOwner},
      .scenarios = {{"sends", sends, once},
                    {"receives", receives, once},
                    {"both ends", both_ends, fewer},
                    {"full", full, fewer},
                    {"waits for room", waits<1>, fewer, Verdict::holds, true},
                    {"waits, two slots", waits<2>, fewer, Verdict::holds, true},
                    {"waits for a value", waits_for_value, fewer,
                     Verdict::holds, true},
                    {"two owners", two_owners, twice},
                    {"many", many, fewer},
                    {"closed", closed, fewer},
                    {"refused", refused}},
      .mutations = {
          {"inside: busy not written", kGrant, "::inside(", "busy[i].store(1",
           relaxed, kSkip},
          {"inside: busy after the look", kGrant, "::inside(",
           "busy[i].store(1", relaxed, Effect::late},
          {"inside: does not look again", kGrant, "::inside(",
           "const bool done", relaxed, Effect::stale},
          {"leave relaxed", kGrant, "::inside(", "busy[i].store(0"},
          {"leave: not written", kGrant, "::inside(", "busy[i].store(0",
           relaxed, kSkip},
          {"own end not moved", kRing, "::move_own(", "word.store", relaxed,
           kSkip},
          {"own stamp relaxed", kRing, "::move_own(", "const auto turn"},
          {"own: tail not marked", kOwner, "::own_now(", "tail_.word.fetch_or",
           relaxed, kSkip},
          {"own: head not marked", kOwner, "::own_now(", "head_.word.fetch_or",
           relaxed, kSkip},
          {"end: grant not ended", kOwner, "::end_others_grant(",
           "Ownership::kEnded", relaxed, kSkip},
          {"end: no barrier", kOwner, "::end_others_grant(", "heavy_barrier()"},
          {"end: busy relaxed", kGrant, "::is_left(", "busy[i].load"},
          {"end: flag stays", kOwner, "::end_others_grant(", "end->word.store",
           relaxed, kSkip},
          {"end: no grant after it", kOwner, "::end_others_grant(",
           "owner.now.store", relaxed, kSkip}}};
}

}  // namespace weft::model
