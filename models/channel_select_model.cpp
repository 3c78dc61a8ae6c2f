// channel_select_model.cpp: selects on two channels, with the real code of
// every wait below it.
//
// One of the cases happens, and nothing is left at the other channel.
#include "channel_scene.hpp"
#include <weft/select.hpp>

namespace weft::model {

namespace {

using weft::detail::kRingClosed;
using weft::detail::kRingLocked;
using Scene = ChannelScene;

template <std::size_t kCapacity>
constexpr std::uint64_t kLeft = kCapacity == 0 ? kRingLocked : 0;

// A handle that is not counted: what lets go is the scene.
template <typename Handle>
struct Borrowed {
  explicit Borrowed(ChannelCore& core) noexcept
      : handle(weft::detail::ChannelAccess::handle<Handle>(
            reinterpret_cast<weft::detail::ChannelEnds*>(&core),
            core.capacity())) {}
  ~Borrowed() {}  // NOLINT: the handle stays
  union {
    Handle handle;
  };
};

struct Two {
  explicit Two(Program& p, std::size_t capacity)
      : first(p, capacity), second(p, first.memory, capacity) {}
  void begin(std::size_t i) const { first.threads[i].begin(); }

  // One of two: sends to the one, or receives from the other.
  static Result<std::size_t> send_or_receive(std::size_t i, const Scene& to,
                                             const Scene& from, int content) {
    progress();
    Borrowed<Sender<Value>> sender(to.core);
    Borrowed<Receiver<Value>> receiver(from.core);
    return select_in_order(
        on_send(sender.handle, Value(content),
                [&](Status end) {
                  if (end) to.sent[i].push_back(content);
                }),
        on_receive(receiver.handle, [&](Result<Value> value) {
          if (value) from.got[i].push_back(value->content());
        }));
  }
  Result<std::size_t> receive_either(std::size_t i) const {
    progress();
    Borrowed<Receiver<Value>> one(first.core);
    Borrowed<Receiver<Value>> other(second.core);
    const auto into = [i](const Scene& s) {
      return [i, &s](Result<Value> value) {
        if (value) s.got[i].push_back(value->content());
      };
    };
    return select_in_order(on_receive(one.handle, into(first)),
                           on_receive(other.handle, into(second)));
  }
  void expect_settled(std::uint64_t left, std::uint64_t left_second) const {
    expect(first.flags() == left && second.flags() == left_second,
           "nobody waits, and the words say so");
    (void)first.empty_it();
    (void)second.empty_it();
    first.expect_conserved();
    second.expect_conserved();
    second.core.let_go(kSends);
    second.core.let_go(kReceives);
    first.expect_gone();
  }

  Scene first;
  Scene second;
};

// A send to the second of two ends the wait, and leaves nothing at the first.
template <std::size_t kCapacity>
void select_or_send(Program& p) {
  const Two s(p, kCapacity);
  p.thread("selects", [=] {
    s.begin(0);
    expect(*s.receive_either(0) == 1, "the second has it");
    expect(s.second.got[0].size() == 1, "it came");
  });
  p.thread("sender", [=] {
    s.begin(1);
    expect(s.second.send(1, 10).has_value(), "somebody takes it");
  });
  const auto left = kLeft<kCapacity>;
  p.finally([=] { s.expect_settled(left, left); });
}

template <std::size_t kCapacity>
void select_or_close(Program& p) {
  const Two s(p, kCapacity);
  p.thread("selects", [=] {
    s.begin(0);
    expect(*s.receive_either(0) == 0, "the first is ready: closed");
  });
  p.thread("closer", [=] { s.first.close(kSends); });
  p.finally([=] {
    s.expect_settled(kLeft<kCapacity> | kRingClosed, kLeft<kCapacity>);
  });
}

// Both may be ready at once: one of them happens.
void select_or_two_sends(Program& p) {
  const Two s(p, 1);
  p.thread("selects", [=] {
    s.begin(0);
    expect(s.receive_either(0).has_value(), "one of them");
    expect(s.first.got[0].size() + s.second.got[0].size() == 1, "only one");
  });
  p.thread("one", [=] { (void)s.first.try_send(1, 10); });
  p.thread("other", [=] { (void)s.second.try_send(2, 20); });
  p.finally([=] { s.expect_settled(0, 0); });
}

// Each sends where the other receives: they meet at one of the two.
void two_selects(Program& p) {
  const Two s(p, 0);
  p.thread("one", [=] {
    s.begin(0);
    expect(Two::send_or_receive(0, s.first, s.second, 0).has_value(), "met");
  });
  p.thread("other", [=] {
    s.begin(1);
    expect(Two::send_or_receive(1, s.second, s.first, 10).has_value(), "met");
  });
  p.finally([=] {
    expect(s.first.sent[0].size() + s.second.sent[1].size() == 1, "one deal");
    s.expect_settled(kRingLocked, kRingLocked);
  });
}

}  // namespace

std::vector<Scenario> channel_selects() {
  const Options few{.preemptions = 2, .spurious_failures = 0};
  const Options fewer{
      .preemptions = 1, .spurious_failures = 0, .stale_reads = 1};
  return {{"select, send", select_or_send<1>},
          {"select, close", select_or_close<1>},
          {"select, two sends", select_or_two_sends, fewer},
          {"select, rendezvous", select_or_send<0>},
          {"select, rendezvous, close", select_or_close<0>},
          {"two selects", two_selects, few}};
}

}  // namespace weft::model
