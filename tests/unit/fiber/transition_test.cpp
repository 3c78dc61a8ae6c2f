#include "fiber/transition.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <tuple>
#include <vector>

#include "fiber/control_word.hpp"
#include "unit/fiber/word_states.hpp"

namespace weft::fiber {
namespace {

using Step = std::tuple<Logical, Logical, Actor>;

const std::vector<Step>& legal_steps() {
  static const std::vector<Step> steps = {
      {Logical::init, Logical::runnable, Actor::spawner},
      {Logical::runnable, Logical::running, Actor::worker},
      {Logical::running, Logical::runnable, Actor::worker},
      {Logical::running, Logical::parking, Actor::owner},
      {Logical::parking, Logical::running, Actor::owner},
      {Logical::parking, Logical::running, Actor::worker},
      {Logical::parking, Logical::parked, Actor::worker},
      {Logical::parked, Logical::waking, Actor::waker},
      {Logical::waking, Logical::runnable, Actor::waker},
      {Logical::parked, Logical::runnable, Actor::waker},
      {Logical::running, Logical::done, Actor::worker},
      {Logical::running, Logical::cancelled, Actor::worker}};
  return steps;
}

// R-TRANS-01
TEST(Transition, IsLegalExactlyWhereTheTableSaysSo) {
  std::size_t legal = 0;
  for (unsigned from = 0; from < kLogicalStates; ++from) {
    for (unsigned to = 0; to < kLogicalStates; ++to) {
      for (unsigned by = 0; by < 4; ++by) {
        const Step step{static_cast<Logical>(from), static_cast<Logical>(to),
                        static_cast<Actor>(by)};
        bool expected = false;
        for (const auto& allowed : legal_steps()) expected |= allowed == step;
        EXPECT_EQ(
            is_legal(std::get<0>(step), std::get<1>(step), std::get<2>(step)),
            expected)
            << from << " -> " << to << " by " << by;
        legal += expected;
      }
    }
  }
  EXPECT_EQ(legal, 12u);
}

// R-TRANS-02
TEST(Transition, NeverLeadsFromParkedToRunnableByTheParker) {
  for (const Actor by : {Actor::spawner, Actor::worker, Actor::owner}) {
    EXPECT_FALSE(is_legal(Logical::parked, Logical::runnable, by));
    EXPECT_FALSE(is_legal(Logical::parking, Logical::runnable, by));
  }
  EXPECT_FALSE(is_legal(Logical::parking, Logical::runnable, Actor::waker));
}

TEST(Transition, NamesEveryState) {
  std::vector<std::string_view> names;
  for (unsigned i = 0; i < kLogicalStates; ++i) {
    names.emplace_back(to_string(static_cast<Logical>(i)));
  }
  EXPECT_EQ(names, (std::vector<std::string_view>{"init", "runnable", "running",
                                                  "parking", "parked", "waking",
                                                  "done", "cancelled"}));
}

TEST(Transition, IsCountedWhenChecked) {
  const auto before = transitions_taken(Logical::waking, Logical::runnable);
  check_transition(Logical::waking, Logical::runnable, Actor::waker);
  EXPECT_EQ(transitions_taken(Logical::waking, Logical::runnable), before + 1);
}

// R-TRANS-02
TEST(TransitionDeathTest, DiesOfAnIllegalStep) {
  EXPECT_DEATH(
      check_transition(Logical::parked, Logical::runnable, Actor::owner),
      "illegal transition parked -> runnable");
  EXPECT_DEATH(check_transition(Logical::done, Logical::running, Actor::worker),
               "illegal transition done -> running");
}

#if defined(WEFT_DEBUG_CHECKS)

using test::bring;

// R-TRANS-04 R-TICKET-05
TEST(Transition, IsCountedAsTheWordMoves) {
  const auto before = transitions_taken(Logical::parked, Logical::runnable);
  ControlWord word;
  bring(word, State::parked);
  (void)word.claim(test::kTicket, Who::deadline);
  EXPECT_EQ(transitions_taken(Logical::parked, Logical::runnable), before + 1);
}

void move_wrongly(State state, void (*step)(ControlWord&)) {
  ControlWord word;
  bring(word, state);
  step(word);
}

// R-CTRL-03 R-CTRL-08 R-CTRL-09 R-TRANS-02 R-TRANS-04
TEST(ControlWordDeathTest, DiesOfAStepFromTheWrongState) {
  struct Wrong {
    State from;
    void (*step)(ControlWord&);
  };
  const Wrong wrongs[] = {
      {State::running, [](ControlWord& w) { w.reserve(); }},
      {State::queued, [](ControlWord& w) { (void)w.start(1); }},
      {State::running, [](ControlWord& w) { (void)w.start(1); }},
      {State::queued, [](ControlWord& w) { (void)w.start_alone(1); }},
      {State::fresh, [](ControlWord& w) { w.resume(1); }},
      {State::parked, [](ControlWord& w) { w.resume(1); }},
      {State::running, [](ControlWord& w) { w.resume(1); }},
      {State::parking, [](ControlWord& w) { w.resume(1); }},
      {State::queued, [](ControlWord& w) { (void)w.begin_wait(1, false); }},
      {State::parking, [](ControlWord& w) { (void)w.begin_wait(1, false); }},
      {State::parked, [](ControlWord& w) { (void)w.begin_park(1); }},
      {State::running, [](ControlWord& w) { (void)w.commit(); }},
      {State::parked, [](ControlWord& w) { (void)w.commit(); }},
      {State::parked, [](ControlWord& w) { w.yielded(); }},
      {State::queued, [](ControlWord& w) { w.yielded(); }},
      {State::parked, [](ControlWord& w) { w.done(false); }},
      {State::queued, [](ControlWord& w) { w.done(false); }},
      {State::running, [](ControlWord& w) { w.reclaim(); }}};
  for (const auto& wrong : wrongs) {
    EXPECT_DEATH(move_wrongly(wrong.from, wrong.step), "broken invariant C")
        << wrong.from;
  }
}

#endif

}  // namespace
}  // namespace weft::fiber
