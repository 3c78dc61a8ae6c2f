// join_word_model.cpp: the end of a fiber against who holds its handle.
#include "fiber/join_word.hpp"
#include "protocol.hpp"

namespace weft::model {

namespace {

using fiber::JoinWord;
using fiber::WaitNode;

struct Frame {
  JoinWord join;
  Plain<int> result = 0;
  Plain<int> reclaimed = 0;  // a second one, or one too early, is a race
};

struct Scene {
  explicit Scene(Program& p)
      : frame(p.make<Frame>("frame")),
        node(p.make<WaitNode>("node")),
        slot(p.make<Plain<int>>("slot", 0)),
        woken(p.make<Atomic<int>>("woken", 0)) {}

  void reclaim() const { frame.reclaimed = frame.reclaimed + 1; }
  // The worker, when the fiber has ended.
  void finish() const {
    frame.result = 7;
    const auto owed = frame.join.finish();
    if (owed.joiner != nullptr) {
      expect(owed.joiner == &node, "it is the joiner's node");
      expect(slot == 5, "the node is complete");
      woken.store(1, release);
    }
    if (owed.reclaim) reclaim();
  }
  // The holder, when it knows that the fiber has ended.
  void use() const {
    expect(frame.result == 7, "the result came");
    reclaim();
  }
  void wait() const {
    slot = 5;
    switch (frame.join.enter(node)) {
      case JoinWord::Entered::waiting:
        while (woken.load(acquire) == 0) pause();
        use();
        break;
      case JoinWord::Entered::done:
        use();
        break;
      case JoinWord::Entered::taken:
        expect(false, "nobody else waits");
    }
  }

  Frame& frame;
  WaitNode& node;
  Plain<int>& slot;
  Atomic<int>& woken;
};

void expect_reclaimed(const Scene& s) {
  expect(s.frame.reclaimed == 1, "J1: one party reclaims the frame");
}

void join(Program& p) {
  const Scene s(p);
  p.thread("worker", [=] { s.finish(); });
  p.thread("holder", [=] { s.wait(); });
  p.finally([=] { expect_reclaimed(s); });
}

void drop(Program& p) {
  const Scene s(p);
  p.thread("worker", [=] { s.finish(); });
  p.thread("holder", [=] {
    s.frame.reclaimed = 0;  // its last use of the frame
    if (s.frame.join.drop()) s.use();
  });
  p.finally([=] { expect_reclaimed(s); });
}

void poll(Program& p) {
  const Scene s(p);
  p.thread("worker", [=] { s.finish(); });
  p.thread("holder", [=] {
    if (s.frame.join.is_done()) {
      s.use();
    } else if (s.frame.join.drop()) {
      s.use();
    }
  });
  p.finally([=] { expect_reclaimed(s); });
}

// The wait runs into its deadline, then the handle is dropped.
void leave_and_drop(Program& p) {
  const Scene s(p);
  p.thread("worker", [=] { s.finish(); });
  p.thread("holder", [=] {
    s.slot = 5;
    if (s.frame.join.enter(s.node) == JoinWord::Entered::done) return s.use();
    if (!s.frame.join.leave(s.node)) {
      while (s.woken.load(acquire) == 0) pause();
      return s.use();
    }
    s.slot = 6;  // nobody else has the node
    if (s.frame.join.drop()) s.use();
  });
  p.finally([=] { expect_reclaimed(s); });
}

// The holder sees the end in the failure of leave() alone.
void leave_sees_the_end(Program& p) {
  const Scene s(p);
  p.thread("worker", [=] {
    s.frame.result = 7;
    (void)s.frame.join.finish();
  });
  p.thread("holder", [=] {
    s.slot = 5;
    if (s.frame.join.enter(s.node) == JoinWord::Entered::done) return;
    if (!s.frame.join.leave(s.node)) {
      expect(s.frame.result == 7, "the result came");
    }
  });
}

// The worker asks whether anybody will ever wait.
void is_dropped(Program& p) {
  const Scene s(p);
  p.thread("worker", [=] {
    if (s.frame.join.is_dropped()) s.frame.reclaimed = 0;
    s.finish();
  });
  p.thread("holder", [=] {
    s.frame.reclaimed = 0;  // its last use of the frame
    if (s.frame.join.drop()) s.use();
  });
  p.finally([=] { expect_reclaimed(s); });
}

// A fiber that ran in place, and a thread that asks meanwhile.
void in_place(Program& p) {
  const Scene s(p);
  p.thread("holder", [=] {
    expect(s.frame.join.begin_in_place(), "nobody waits");
    s.frame.result = 7;
    s.frame.join.finish_in_place();
  });
  p.thread("other", [=] {
    if (s.frame.join.is_done()) {
      expect(s.frame.result == 7, "the result came");
    }
  });
}

constexpr const char* kFile = "fiber/join_word.hpp";

}  // namespace

Protocol join_word() {
  return {.name = "join word",
          .files = {kFile},
          .scenarios = {{"join", join},
                        {"drop", drop},
                        {"poll", poll},
                        {"leave and drop", leave_and_drop},
                        {"leave sees the end", leave_sees_the_end},
                        {"is_dropped", is_dropped},
                        {"in place", in_place}},
          .mutations = {
              {"finish acquire", kFile, "::finish(", "word_.exchange", acquire},
              {"finish release", kFile, "::finish(", "word_.exchange", release},
              {"finish_in_place: store relaxed", kFile, "::finish_in_place(",
               "word_.store"},
              {"enter relaxed", kFile, "::enter(", "compare_exchange_strong"},
              {"enter: failure relaxed", kFile, "::enter(",
               "compare_exchange_strong", relaxed, Effect::weaken_failure},
              {"leave: failure relaxed", kFile, "::leave(",
               "compare_exchange_strong", relaxed, Effect::weaken_failure},
              {"drop relaxed", kFile, "::drop(", "compare_exchange_strong"},
              {"drop: failure relaxed", kFile, "::drop(",
               "compare_exchange_strong", relaxed, Effect::weaken_failure},
              {"drop: not written", kFile, "::drop(", "compare_exchange_strong",
               relaxed, Effect::skip},
              {"is_dropped relaxed", kFile, "::is_dropped(", "word_.load"},
              {"is_done relaxed", kFile, "::is_done(", "word_.load"}}};
}

}  // namespace weft::model
