// family_model.cpp: the end of the children against the join of their nursery.
#include "fiber/family.hpp"
#include "fiber/fiber.hpp"
#include "protocol.hpp"

namespace weft::model {

namespace {

using fiber::Family;
using fiber::WaitNode;

// A family whose owner is a fiber of which only the address matters.
struct House {
  fiber::Fiber owner;
  Family family{&owner};
  Plain<int> touched = 0;  // read by who may touch the family, written by who
                           // may destroy it
  std::array<Plain<int>, 2> results{};
  std::array<WaitNode, 2> nodes{};
  std::array<Plain<int>, 2> slots{};
  std::array<Atomic<int>, 2> gone{};
};

class Scene {
 public:
  explicit Scene(Program& p, int own)
      : house(p.make<House>("house")), family(house.family) {
    for (int i = 0; i < own; ++i) family.enter(family.owner());
  }

  void touch() const { (void)house.touched.get(); }
  void child(std::size_t i) const {
    house.results[i] = 7;
    touch();
    if (!family.leave(1)) return;  // J5: its last touch
    touch();
    WaitNode* const joiner = family.take_joiner();
    if (joiner == nullptr) return;
    const std::size_t n = joiner == &house.nodes[0] ? 0 : 1;
    expect(house.slots[n] == 5, "the node is complete");
    house.gone[n].store(1, release);
  }
  void ready(std::size_t n) const { house.slots[n] = 5; }
  void all_gone(std::size_t children) const {
    for (std::size_t i = 0; i < children; ++i) {
      expect(house.results[i] == 7, "what the children did came");
    }
    house.touched = 1;
  }
  void wait(std::size_t n) const {
    while (house.gone[n].load(acquire) == 0) pause();
  }
  void join(std::size_t n, std::size_t children) const {
    if (!family.settled()) {
      ready(n);
      if (!family.open_join(house.nodes[n])) wait(n);
      family.reset();
    }
    all_gone(children);
  }

  House& house;
  Family& family;
};

void join_two(Program& p) {
  const Scene s(p, 2);
  p.thread("owner", [=] { s.join(0, 2); });
  p.thread("child1", [=] { s.child(0); });
  p.thread("child2", [=] { s.child(1); });
  p.finally([=] { expect(s.family.count() == 0, "nobody is left"); });
}

// The first child spawns the second.
void grandchild(Program& p) {
  const Scene s(p, 1);
  auto& spawned = p.make<Atomic<int>>("spawned", 0);
  p.thread("owner", [=] { s.join(0, 2); });
  p.thread("child1", [=, &spawned] {
    s.family.enter(nullptr);
    spawned.store(1, release);
    s.child(0);
  });
  p.thread("child2", [=, &spawned] {
    while (spawned.load(acquire) == 0) pause();
    s.child(1);
  });
  p.finally([=] { expect(s.family.count() == 0, "nobody is left"); });
}

// The join runs into its deadline, and then comes again.
void give_up(Program& p, int children) {
  const Scene s(p, children);
  const auto count = static_cast<std::size_t>(children);
  p.thread("owner", [=] {
    if (s.family.settled()) return s.all_gone(count);
    s.ready(0);
    if (s.family.open_join(s.house.nodes[0])) {
      s.family.reset();
      return s.all_gone(count);
    }
    if (!s.family.give_up(s.house.nodes[0])) {
      s.wait(0);
      s.family.reset();
      return s.all_gone(count);
    }
    s.house.slots[0] = 6;  // nobody else has the node
    progress();
    s.join(1, count);
  });
  for (std::size_t i = 0; i < count; ++i) {
    p.thread("child" + std::to_string(i), [=] { s.child(i); });
  }
  p.finally([=] { expect(s.family.count() == 0, "nobody is left"); });
}
void give_up_one(Program& p) { give_up(p, 1); }
void give_up_two(Program& p) { give_up(p, 2); }

constexpr const char* kHead = "fiber/family.hpp";
constexpr const char* kFile = "fiber/family.cpp";

}  // namespace

Protocol family() {
  return {.name = "family",
          .files = {kHead, kFile},
          .scenarios = {{"join two", join_two},
                        {"grandchild", grandchild},
                        {"give up, one child", give_up_one},
                        {"give up, two children", give_up_two}},
          .mutations = {
              {"leave acquire", kHead, "::leave(", "live_.fetch_sub", acquire},
              {"leave release", kHead, "::leave(", "live_.fetch_sub", release},
              {"take_joiner acquire", kHead, "::take_joiner(",
               "joiner_.exchange", acquire},
              {"settled relaxed", kHead, "::settled(", "live_.load(acquire)"},
              {"open_join: live release", kFile, "::open_join(",
               "live_.fetch_add", release},
              {"give_up: live not written", kFile, "::give_up(",
               "live_.fetch_add", relaxed, Effect::skip},
              {"give_up: taken relaxed", kFile, "::give_up(",
               "joiner_.load(acquire)"}}};
}

}  // namespace weft::model
