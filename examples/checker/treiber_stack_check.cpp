// treiber_stack_check.cpp: every execution of small programs over the stack.
//
//   ./dev model --check examples/checker/treiber_stack_check.cpp
#include "checker/check.hpp"
#include "treiber_stack.hpp"

template class TreiberStack<int>;  // production's compiles, too

namespace {

using namespace weft::model;
using std::memory_order_relaxed;
using std::memory_order_release;

// The values are Plain, so that the checker looks for races on them.
template <std::memory_order Publish>
using Stack = TreiberStack<weft::Plain<int>, weft::Atomic, Publish>;

// One pushes what it wrote, one pops it.
template <std::memory_order Publish>
void hand_over(Program& p) {
  auto& stack = p.make<Stack<Publish>>("stack");
  auto& node = p.make<typename Stack<Publish>::Node>("node");
  p.thread("pusher", [&] {
    node.value = 7;
    stack.push(node);
  });
  p.thread("popper", [&] {
    auto* const got = stack.pop();
    if (got != nullptr) expect(got->value == 7, "the value came");
  });
}

using Good = Stack<memory_order_release>;

// Two pushers and a popper: nothing is lost, nothing comes twice.
void two_pushers(Program& p) {
  auto& stack = p.make<Good>("stack");
  auto& a = p.make<Good::Node>("a");
  auto& b = p.make<Good::Node>("b");
  auto& got = p.make<Good::Node*>("got", nullptr);  // the popper's alone
  p.thread("first", [&] { stack.push(a); });
  p.thread("second", [&] { stack.push(b); });
  p.thread("popper", [&] { got = stack.pop(); });
  p.finally([&] {
    int count = got != nullptr ? 1 : 0;
    while (auto* const left = stack.pop()) {
      expect(left != got, "no node comes twice");
      ++count;
    }
    expect(count == 2, "no node is lost");
  });
}

// What the header forbids: one pops two nodes and pushes the first again, while
// another is in pop(). That one puts back the second, which has an owner.
void push_again(Program& p) {
  auto& stack = p.make<Good>("stack");
  auto& top = p.make<Good::Node>("top");
  auto& below = p.make<Good::Node>("below");
  stack.push(below);
  stack.push(top);
  p.thread("popper", [&] { stack.pop(); });
  p.thread("again", [&] {
    auto* const first = stack.pop();
    auto* const second = stack.pop();
    if (first != &top || second != &below) return;
    stack.push(top);
    expect(stack.pop() != &below, "nobody else has below");
    expect(stack.pop() != &below, "nobody else has below");
  });
}

}  // namespace

int main(int argc, char** argv) {
  constexpr const char* kFile = "treiber_stack.hpp";
  return check_main(
      argc, argv,
      {{.name = "stack",
        .files = {kFile},
        .scenarios = {{"hand over", hand_over<memory_order_release>},
                      {"two pushers", two_pushers},
                      {"push relaxed",
                       hand_over<memory_order_relaxed>,
                       {},
                       Verdict::race},
                      {"push again", push_again, {}, Verdict::failed}},
        // The same mistake without a parameter: the checker weakens the place.
        .mutations = {{"pop: first load relaxed", kFile, "pop", "head_.load"},
                      {"push: not published", kFile, "push",
                       "head_.compare_exchange_weak"}}}});
}
