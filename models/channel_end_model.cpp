// channel_end_model.cpp: how a channel ends, with the real code of every wait
// below it.
//
// What was admitted before a close comes out before its error does; what was
// refused is still the sender's. Who drops the last handle frees the channel,
// and nobody is inside it then.
#include "channel_scene.hpp"
namespace weft::model {

namespace {

using weft::detail::kRingClosed;
using weft::detail::kRingLocked;
using Scene = ChannelScene;

template <std::size_t kCapacity>
constexpr std::uint64_t kLeft = kRingClosed |
                                (kCapacity == 0 ? kRingLocked : 0);

// ---- Close

// Each value sent comes, then the end.
template <std::size_t kCapacity>
void sent_and_closed(Program& p) {
  const Scene s(p, kCapacity);
  p.thread("sender", [=] {
    s.threads[0].begin();
    expect(s.send(0, 0).has_value(), "it is open");
    s.close(kSends);
  });
  p.thread("receiver", [=] {
    s.threads[1].begin();
    s.receive_all(1);
    expect(s.got[1].size() == 1, "what was sent before came before the end");
  });
  p.finally([=] { s.expect_settled(kLeft<kCapacity>); });
}

// A send beside the close is admitted, and then comes, or it is not.
template <std::size_t kCapacity>
void send_beside_close(Program& p) {
  const Scene s(p, kCapacity);
  p.thread("sender", [=] {
    s.threads[0].begin();
    const auto end = s.send(0, 0);
    expect(end || end.error() == Errc::closed, "sent, or closed");
  });
  p.thread("closer", [=] { s.close(kSends); });
  p.finally([=] { s.expect_settled(kLeft<kCapacity>); });
}

template <std::size_t kCapacity>
void all_beside_close(Program& p) {
  const Scene s(p, kCapacity);
  p.thread("sender", [=] {
    s.threads[0].begin();
    (void)s.send(0, 0);
  });
  p.thread("receiver", [=] {
    s.threads[1].begin();
    s.receive_all(1);
    expect(s.try_receive(1).error() == Errc::closed, "it stays so");
  });
  p.thread("closer", [=] { s.close(kSends); });
  p.finally([=] {
    expect(s.empty_it() == 0, "the end came last");
    s.expect_settled(kLeft<kCapacity>);
  });
}

// C-12: who waits at a full buffer was admitted.
void waits_when_closed(Program& p) {
  const Scene s(p, 1, {0});
  p.thread("sender", [=] {
    s.threads[0].begin();
    const auto end = s.send(0, 1);
    expect(end || end.error() == Errc::closed, "sent, or closed");
  });
  p.thread("closer", [=] { s.close(kSends); });
  p.finally([=] { s.expect_settled(kLeft<1>); });
}
void late_values(Program& p) {
  const Scene s(p, 1, {0});
  p.thread("sender", [=] {
    s.threads[0].begin();
    (void)s.send(0, 1);
  });
  p.thread("closer", [=] { s.close(kSends); });
  p.thread("receiver", [=] {
    s.threads[1].begin();
    s.receive_all(1);
  });
  p.finally([=] {
    expect(s.empty_it() == 0, "the end came last");
    s.expect_settled(kLeft<1>);
  });
}
void waits_closed_hasty(Program& p) {
  const Scene s(p, 1, {0});
  p.thread("sender", [=] {
    s.threads[0].begin();
    (void)s.send(0, 1, passed());
  });
  p.thread("closer", [=] { s.close(kSends); });
  p.finally([=] { s.expect_settled(kLeft<1>); });
}

// Who takes one out waits until it is there; the last of them frees the memory.
void late_piece(Program& p) {
  using sync::LatePiece;
  const Scene s(p, 1);  // for the memory
  auto& late = p.make<sync::LateValues>("late");
  auto& place = p.make<Atomic<LatePiece*>>("place", nullptr);
  p.thread("closer", [&late, &place] {
    auto& piece = *LatePiece::make(weft::detail::kElementOps<Value>, 2);
    late.append(piece, 2);
    place.store(&piece, release);
    for (const int i : {0, 1}) {
      Value value(i);
      piece.fill(static_cast<std::size_t>(i), &value);
    }
  });
  for (const int i : {0, 1}) {
    p.thread(i == 0 ? "receiver" : "another", [i, &place] {
      while (place.load(acquire) == nullptr) pause();
      auto& piece = *place.load(relaxed);
      auto* const value =
          static_cast<Value*>(piece.wait_for(static_cast<std::size_t>(i)));
      expect(value->content() == i, "what the sender had");
      std::destroy_at(value);
      piece.let_go();
    });
  }
  p.finally([=] { s.expect_gone(); });
}

// What is inside is destroyed, and nobody waits for room any more.
template <std::size_t kCapacity>
void receiver_closes(Program& p) {
  const Scene s(p, kCapacity);
  p.thread("sender", [=] {
    s.threads[0].begin();
    (void)s.send(0, 0);
    const auto end = s.send(0, 1);
    expect(end || end.error() == Errc::closed, "sent, or closed");
  });
  p.thread("receiver", [=] { s.close(kReceives); });
  p.finally([=] {
    expect(s.flags() == kLeft<kCapacity>, "nobody waits");
    expect(s.empty_it() == 0, "nothing is left inside");
    s.expect_gone();
  });
}

// The first who closes says why.
void both_close(Program& p) {
  const Scene s(p, 1, {0});
  p.thread("sender", [=] {
    s.core.close(kSends, Errc::denied);
    const auto end = s.try_send(0, 1).error();
    expect(end == Errc::closed || end == Errc::invalid, "why it closed");
  });
  p.thread("receiver", [=] { s.core.close(kReceives, Errc::invalid); });
  p.finally([=] {
    expect(s.empty_it() == 0, "nothing is left inside");
    s.expect_gone();
  });
}

void seen_closed(Program& p) {
  const Scene s(p, 1);
  auto& said = p.make<Plain<int>>("said", 0);
  p.thread("closer", [=, &said] {
    said = 7;
    s.close(kSends);
  });
  p.thread("looks", [=, &said] {
    if (s.core.is_closed()) expect(said == 7, "what came before is seen");
  });
  p.finally([=] { s.expect_settled(kLeft<1>); });
}

// ---- The last handle

ChannelCore& made(std::size_t capacity) {
  return *ChannelCore::make(weft::detail::kElementOps<Value>, capacity, {});
}

// Each side lets go of it; who is last frees it.
void both_let_go(Program& p) {
  const Scene s(p, 1);  // beside it: for the threads, and the memory
  auto& place = p.make<Atomic<ChannelCore*>>("place", nullptr);
  p.thread("sender", [=, &place] {
    s.threads[0].begin();
    ChannelCore& channel = made(1);
    place.store(&channel, release);
    Value value(0);
    (void)channel.send(&value, Deadline::never());
    channel.let_go(kSends);
  });
  p.thread("receiver", [=, &place] {
    s.threads[1].begin();
    while (place.load(acquire) == nullptr) pause();
    ChannelCore& channel = *place.load(relaxed);
    weft::detail::Empty<Value> to;
    if (channel.try_receive(to.place())) (void)to.take();
    channel.let_go(kReceives);
  });
  p.finally([=] { s.expect_gone(); });
}

// Who waits hears of it, and may be the one who frees it.
template <std::size_t kCapacity>
void let_go_beside_waiter(Program& p) {
  const Scene s(p, 1);
  auto& place = p.make<Atomic<ChannelCore*>>("place", nullptr);
  p.thread("receiver", [=, &place] {
    s.threads[1].begin();
    ChannelCore& channel = made(kCapacity);
    place.store(&channel, release);
    weft::detail::Empty<Value> to;
    const auto end = channel.receive(to.place(), Deadline::never());
    expect(end.error() == Errc::closed, "nobody sends any more");
    channel.let_go(kReceives);
  });
  p.thread("sender", [=, &place] {
    while (place.load(acquire) == nullptr) pause();
    place.load(relaxed)->let_go(kSends);
  });
  p.finally([=] { s.expect_gone(); });
}

// Two of one side, one of the other.
void three_let_go(Program& p) {
  const Scene s(p, 1);
  auto& place = p.make<Atomic<ChannelCore*>>("place", nullptr);
  p.thread("sender", [=, &place] {
    ChannelCore& channel = made(1);
    channel.hold(kSends);
    place.store(&channel, release);
    Value value(0);
    (void)channel.try_send(&value);
    channel.let_go(kSends);
  });
  p.thread("another", [=, &place] {
    while (place.load(acquire) == nullptr) pause();
    ChannelCore& channel = *place.load(relaxed);
    Value value(1);
    (void)channel.try_send(&value);
    channel.let_go(kSends);
  });
  p.thread("receiver", [=, &place] {
    while (place.load(acquire) == nullptr) pause();
    place.load(relaxed)->let_go(kReceives);
  });
  p.finally([=] { s.expect_gone(); });
}

constexpr const char* kHead = "sync/channel_core.hpp";
constexpr const char* kLife = "sync/channel_life.cpp";
constexpr const char* kLate = "sync/channel_late.hpp";
constexpr const char* kLock = "base/spin_lock.hpp";
constexpr const char* kLink = "fiber/wait_node.hpp";
constexpr const char* kNode = "fiber/fiber.hpp";

}  // namespace

Protocol channel_end() {
  constexpr auto kSkip = Effect::skip;
  const Options few{.preemptions = 2, .spurious_failures = 0};
  const Options fewer{
      .preemptions = 1, .spurious_failures = 0, .stale_reads = 1};
  Protocol all{
      .name = "channel end",
      .files = {kHead, kLife, kLate},
      .scenarios = {{"seen closed", seen_closed},
                    {"send, close", send_beside_close<1>},
                    {"sent and closed", sent_and_closed<1>, few},
                    {"waits when closed", waits_when_closed},
                    {"waits or deadline", waits_closed_hasty},
                    {"receiver closes", receiver_closes<1>},
                    {"both close", both_close},
                    {"both let go", both_let_go},
                    {"let go, waiter", let_go_beside_waiter<1>},
                    {"three let go", three_let_go, fewer},
                    {"rendezvous, send, close", send_beside_close<0>},
                    {"rendezvous, sent and closed", sent_and_closed<0>, few},
                    {"rendezvous, receiver closes", receiver_closes<0>},
                    {"rendezvous, let go, waiter", let_go_beside_waiter<0>},
                    {"send, receive, close", all_beside_close<1>, fewer},
                    {"late values", late_values, fewer},
                    {"late piece", late_piece},
                    {"rendezvous, send, receive, close", all_beside_close<0>,
                     fewer}},
      .mutations = {
          {"is_closed relaxed", kHead, "::is_closed(", "tail_.word.load"},
          {"close relaxed", kLife, "::close(", "fetch_or(kRingClosed"},
          {"close: not written", kLife, "::close(", "fetch_or(kRingClosed",
           relaxed, kSkip},
          {"let_go: alone relaxed", kLife, "::let_go(", "mine.load(acquire)"},
          {"let_go: fetch_sub acquire", kLife, "::let_go(", "mine.fetch_sub",
           acquire},
          {"let_go: fetch_sub release", kLife, "::let_go(", "mine.fetch_sub",
           release},
          {"let_go: not counted", kLife, "::let_go(", "mine.fetch_sub", relaxed,
           kSkip},
          {"hold: not counted", kLife, "::hold(", "fetch_add", relaxed, kSkip},
          {"let_go: sides relaxed", kLife, "::let_go(", "sides_.load"},
          {"let_go: side acquire", kLife, "::let_go(", "sides_.fetch_sub",
           acquire},
          {"let_go: side release", kLife, "::let_go(", "sides_.fetch_sub",
           release},
          {"let_go: side not counted", kLife, "::let_go(", "sides_.fetch_sub",
           relaxed, kSkip},
          {"late: filled relaxed", kLate, "::fill(", "filled_.store"},
          {"late: looked at relaxed", kLate, "::wait_for(", "filled_.load"},
          {"late: left acquire", kLate, "::let_go(", "left_.fetch_sub",
           acquire},
          {"late: left release", kLate, "::let_go(", "left_.fetch_sub",
           release},
          {"late: not counted", kLate, "::let_go(", "left_.fetch_sub", relaxed,
           kSkip},
          {"lock relaxed", kLock, "::try_lock(", "held_.exchange"},
          {"unlock relaxed", kLock, "::unlock(", "held_.store"},
          {"conclude: gone not written", kNode, "::conclude(", "gone_.store",
           relaxed, kSkip},
          {"conclude: gone relaxed", kNode, "::conclude(", "gone_.store"},
          {"publish: not linked", kLink, "::linked(", "gone_.store", relaxed,
           kSkip}}};
  for (auto& one : channel_selects()) all.scenarios.push_back(std::move(one));
  return all;
}

}  // namespace weft::model
