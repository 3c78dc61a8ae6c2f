// channel_scene.hpp: what the models of channels share: values that the checker
// sees, a channel in memory that it knows, and what must hold in the end.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "plain_thread.hpp"
#include "protocol.hpp"
#include "sync/channel_core.hpp"

namespace weft::model {

using sync::ChannelCore;
using sync::ChannelSide;

inline constexpr auto kSends = ChannelSide::sends;
inline constexpr auto kReceives = ChannelSide::receives;

// What goes through: who sent it times ten, and his count. Every use of it is
// one that can race, its end as well.
class Value {
 public:
  explicit Value(int content) noexcept : content_(content) { ++alive; }
  Value(Value&& other) noexcept : content_(other.content_.get()) {
    other.content_ = kMoved;
    ++alive;
  }
  Value& operator=(Value&&) = delete;
  ~Value() {
    content_ = kGone;
    --alive;
  }
  int content() const noexcept { return content_; }

  static inline thread_local int alive = 0;  // of this execution

 private:
  static constexpr int kMoved = -1;
  static constexpr int kGone = -2;
  Plain<int> content_;
};

// Where the channels of an execution get their memory: in a thread from the
// checker, which then knows of every use after the end; before the threads run,
// from blocks in a fixed order.
class ChannelMemory {
 public:
  struct alignas(64) Block {
    std::array<std::byte, 768> bytes;
  };

  ChannelMemory() noexcept;
  ~ChannelMemory();
  ChannelMemory(const ChannelMemory&) = delete;
  ChannelMemory& operator=(const ChannelMemory&) = delete;

  static ChannelMemory* current() noexcept;
  // nullptr: not asked for by a channel.
  void* take(std::size_t size);
  // False: it did not come from here.
  bool give(void* memory);

 private:
  std::array<Block, 2> blocks_;
  std::vector<void*> lives_;
  std::size_t taken_ = 0;
};

struct ChannelScene {
  using Log = std::vector<int>;

  explicit ChannelScene(Program& p, std::size_t capacity,
                        std::initializer_list<int> inside = {},
                        weft::detail::ChannelSetup setup = {})
      : ChannelScene(p, p.make<ChannelMemory>("channel"), capacity, setup) {
    Value::alive = 0;
    for (const int content : inside) {
      Value value(content);
      if (core.try_send(&value)) sent[0].push_back(content);
    }
  }
  // Beside another one.
  ChannelScene(Program& p, ChannelMemory& from, std::size_t capacity,
               weft::detail::ChannelSetup setup = {})
      : memory(from),
        core(*ChannelCore::make(weft::detail::kElementOps<Value>, capacity,
                                setup)),
        threads(p.make<std::array<PlainThread, 4>>("threads")),
        sent(p.make<std::array<Log, 4>>("sent")),
        got(p.make<std::array<Log, 4>>("got")) {}

  // A thread of the model: who, and what he sends. Answers as the channel.
  Status send(std::size_t i, int content,
              Deadline deadline = Deadline::never()) const {
    return sending(i, content,
                   [&](Value& value) { return core.send(&value, deadline); });
  }
  Status try_send(std::size_t i, int content) const {
    return sending(i, content,
                   [&](Value& value) { return core.try_send(&value); });
  }
  Status send_or_drop(std::size_t i, int content) const {
    return sending(i, content,
                   [&](Value& value) { return core.send_or_drop(&value); });
  }
  Status receive(std::size_t i, Deadline deadline = Deadline::never()) const {
    return receiving(i, [&](void* to) { return core.receive(to, deadline); });
  }
  Status try_receive(std::size_t i) const {
    return receiving(i, [&](void* to) { return core.try_receive(to); });
  }
  // The core begins so. As the header sees it: not the checker's.
  weft::detail::ChannelEnds& ends() const {
    return reinterpret_cast<weft::detail::ChannelEnds&>(core);
  }

  // The same, with the checker's atomics.
  ChannelCore::End& end_of(ChannelSide side) const {
    return reinterpret_cast<ChannelCore::End&>(side == kSends ? ends().tail
                                                              : ends().head);
  }
  std::byte* slot(std::size_t index) const {
    return ends().tail.slots +
           index * weft::detail::kElementOps<Value>.slot_size;
  }
  void* value_at(std::size_t index) const {
    return slot(index) + weft::detail::kElementOps<Value>.value_offset;
  }
  auto stamps() const {
    return [this](std::size_t index) -> Atomic<std::uint64_t>& {
      return *reinterpret_cast<Atomic<std::uint64_t>*>(slot(index));
    };
  }

  static std::uintptr_t me() {
    return reinterpret_cast<std::uintptr_t>(weft_tls_carrier);
  }
  // Several by one exchange, as the header does it. Answer how many.
  std::size_t send_many(std::size_t i, std::size_t count) const {
    progress();
    auto& tail = end_of(kSends);
    std::uint64_t at = 0;
    const auto done = tail.advance_many<0>(at, count, me(), stamps());
    for (std::size_t k = 0; k < done; ++k, at = tail.after(at)) {
      const auto content = static_cast<int>(10 * i + sent[i].size());
      Value value(content);
      ::new (value_at(tail.index(at))) Value(std::move(value));
      weft::detail::mark_filled(stamps()(tail.index(at)), at);
      sent[i].push_back(content);
    }
    return done;
  }
  std::size_t receive_many(std::size_t i, std::size_t most) const {
    progress();
    auto& head = end_of(kReceives);
    std::uint64_t at = 0;
    const auto done = head.advance_many<1>(at, most, me(), stamps());
    for (std::size_t k = 0; k < done; ++k, at = head.after(at)) {
      auto* const value = static_cast<Value*>(value_at(head.index(at)));
      got[i].push_back(value->content());
      std::destroy_at(value);
      weft::detail::mark_free(stamps()(head.index(at)), at, head.lap);
    }
    return done;
  }
  // Until there is nothing more.
  void receive_all(std::size_t i) const {
    Status end;
    while (end) end = receive(i);
    expect(end.error() == Errc::closed, "closed, and nothing else");
  }
  void close(ChannelSide by) const {
    progress();
    core.close(by, Errc::closed);
  }

  // Everything below: in finally().

  std::uint64_t flags() const {
    return (ends().tail.word.load() | ends().head.word.load()) &
           weft::detail::kRingFlags;
  }
  // How many a try still finds, then nothing is left at all.
  std::size_t empty_it() const {
    threads[3].begin();
    const auto before = got[3].size();
    while (try_receive(3)) {
    }
    return got[3].size() - before;
  }
  void expect_gone() const {
    core.let_go(kSends);
    core.let_go(kReceives);
    expect(Value::alive == 0, "every value was destroyed");
  }
  static bool has(const std::array<Log, 4>& logs, int content) {
    return std::any_of(logs.begin(), logs.end(), [content](const Log& log) {
      return std::find(log.begin(), log.end(), content) != log.end();
    });
  }
  // Each receiver got what one sender sent in the order sent.
  void expect_order() const {
    for (const Log& log : got) {
      for (std::size_t i = 0; i < log.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
          expect(log[i] != log[k], "no value comes twice");
          expect(log[i] / 10 != log[k] / 10 || log[i] > log[k],
                 "in the order sent");
        }
      }
    }
  }
  // What was sent was received, or is inside: nothing else, and once.
  void expect_conserved() const {
    std::size_t in = 0;
    std::size_t out = 0;
    for (const Log& log : sent) in += log.size();
    for (const Log& log : got) {
      out += log.size();
      for (const int content : log) {
        expect(has(sent, content), "what came was sent");
      }
    }
    expect(in == out, "what was sent came, once");
  }
  void expect_settled(std::uint64_t flags_left = 0) const {
    expect(flags() == flags_left, "nobody waits, and the words say so");
    (void)empty_it();
    expect_order();
    expect_conserved();
    expect_gone();
  }

  ChannelMemory& memory;
  ChannelCore& core;
  std::array<PlainThread, 4>& threads;
  std::array<Log, 4>& sent;
  std::array<Log, 4>& got;

 private:
  template <typename Send>
  Status sending(std::size_t i, int content, Send how) const {
    progress();
    Value value(content);
    const Status end = how(value);
    if (end) sent[i].push_back(content);
    expect(end || value.content() == content, "what was not sent is his");
    return end;
  }
  template <typename Receive>
  Status receiving(std::size_t i, Receive how) const {
    progress();
    weft::detail::Empty<Value> place;
    const Status end = how(place.place());
    if (end) got[i].push_back(place.take().content());
    return end;
  }
};

// Parts of channel() and of channel_end().
std::vector<Scenario> channel_tries();
std::vector<Scenario> channel_selects();

}  // namespace weft::model
