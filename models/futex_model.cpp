// futex_model.cpp: FutexCore, with the real code of every wait below it.
//
// Who waits for a count sees what was done before the posts that made it, and
// no post is lost on him.
#include "plain_thread.hpp"
#include "protocol.hpp"
#include "sync/futex_core.hpp"

namespace weft::model {

namespace {

using sync::FutexCore;

struct Scene {
  explicit Scene(Program& p)
      : futex(p.make<FutexCore>("futex")),
        threads(p.make<std::array<PlainThread, 2>>("threads")),
        said(p.make<std::array<Plain<int>, 2>>("said")) {}

  // As Futex::wait(). The core returns no earlier than the count is there.
  Status wait(std::size_t i, std::uint64_t token,
              Deadline deadline = Deadline::never()) const {
    threads[i].begin();
    if (const auto end = futex.wait_slow(token, deadline); !end) return end;
    for (std::size_t k = 0; k < token; ++k) expect(said[k] == 7, "it came");
    return {};
  }
  void post(std::size_t k) const {
    said[k] = 7;
    futex.post();
  }
  void expect_left(std::uint64_t posts) const {
    expect(futex.value() == posts, "every post counts");
    expect(futex.unused(), "W3: no node is left");
  }

  FutexCore& futex;
  std::array<PlainThread, 2>& threads;
  std::array<Plain<int>, 2>& said;
};

void look(Program& p) {
  const Scene s(p);
  p.thread("looks", [=] {
    if (s.futex.value() == 1) expect(s.said[0] == 7, "it came");
  });
  p.thread("poster", [=] { s.post(0); });
  p.finally([=] { s.expect_left(1); });
}

void post(Program& p) {
  const Scene s(p);
  p.thread("waiter", [=] { expect(s.wait(0, 1).has_value(), "it came"); });
  p.thread("poster", [=] { s.post(0); });
  p.finally([=] { s.expect_left(1); });
}

void post_or_deadline(Program& p) {
  const Scene s(p);
  p.thread("waiter", [=] {
    const auto end = s.wait(0, 1, passed());
    expect(end || end.error() == Errc::timed_out, "one or the other");
  });
  p.thread("poster", [=] { s.post(0); });
  p.finally([=] { s.expect_left(1); });
}

void post_or_cancel(Program& p) {
  const Scene s(p);
  p.thread("waiter", [=] {
    const auto end = s.wait(0, 1);
    expect(end || end.error() == Errc::cancelled, "one or the other");
  });
  p.thread("poster", [=] {
    s.post(0);
    s.threads[0].cancel();
  });
  p.finally([=] { s.expect_left(1); });
}

// Told by the first, it has to wait again for the second.
void two_posts(Program& p) {
  const Scene s(p);
  p.thread("waiter", [=] { expect(s.wait(0, 2).has_value(), "both came"); });
  p.thread("poster", [=] {
    s.post(0);
    s.post(1);
  });
  p.finally([=] { s.expect_left(2); });
}

// Who wakes the first waiter may find the second there, and take its bit.
void two_waiters(Program& p) {
  const Scene s(p);
  p.thread("first", [=] { expect(s.wait(0, 1).has_value(), "it came"); });
  p.thread("second", [=] { expect(s.wait(1, 1).has_value(), "it came"); });
  p.thread("poster", [=] { s.post(0); });
  p.finally([=] { s.expect_left(1); });
}
void two_and_two(Program& p) {
  const Scene s(p);
  p.thread("first", [=] { expect(s.wait(0, 1).has_value(), "it came"); });
  p.thread("second", [=] { expect(s.wait(1, 2).has_value(), "both came"); });
  p.thread("poster", [=] {
    s.post(0);
    s.post(1);
  });
  p.finally([=] { s.expect_left(2); });
}

constexpr const char* kFile = "sync/futex_core.hpp";

}  // namespace

Protocol futex() {
  const Options fewer{
      .preemptions = 1, .spurious_failures = 0, .stale_reads = 1};
  return {
      .name = "futex",
      .files = {kFile},
      .scenarios = {{"look", look},
                    {"post", post},
                    {"post or deadline", post_or_deadline},
                    {"post or cancel", post_or_cancel,
                     Options{.spurious_failures = 0}},
                    {"two posts", two_posts, Options{.spurious_failures = 0}},
                    {"two waiters", two_waiters, fewer},
                    {"two and two", two_and_two, fewer, Verdict::holds,
                     /*nightly=*/true}},
      .mutations = {
          {"post relaxed", kFile, "::post(", "+ kOne, release"},
          {"post: not written", kFile, "::post(", "+ kOne, release", relaxed,
           Effect::skip},
          {"post and wake relaxed", kFile, "::post_and_wake(", "fetch_add"},
          {"post and wake: not written", kFile, "::post_and_wake(", "fetch_add",
           relaxed, Effect::skip},
          {"value relaxed", kFile, "::value(", "word_.load"},
          {"spin relaxed", kFile, "::spin(", "word_.load"},
          {"enter: look relaxed", kFile, "::enter(", "word_.load(acquire)"},
          {"enter: second look relaxed", kFile, "::enter(", "w | kWaiters",
           relaxed, Effect::weaken_failure},
          {"enter: no waiters bit", kFile, "::enter(", "w | kWaiters", relaxed,
           Effect::skip}}};
}

}  // namespace weft::model
