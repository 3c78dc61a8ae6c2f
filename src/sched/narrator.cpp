#include "sched/narrator.hpp"

namespace weft::sched {

namespace {

struct Words {
  const char* does;
  const char* doing;
  enum { nothing, thing, other } object;
};

// In the order of Op.
constexpr Words kWords[] = {
    {"begins", "nothing yet", Words::nothing},
    {"spawns", "spawning", Words::nothing},
    {"yields", "a yield", Words::nothing},
    {"comes to a checkpoint", "a checkpoint", Words::nothing},
    {"sleeps", "sleeping", Words::nothing},
    {"locks", "locking", Words::thing},
    {"unlocks", "unlocking", Words::thing},
    {"signals", "signalling", Words::thing},
    {"waits on", "waiting on", Words::thing},
    {"sends to", "sending to", Words::thing},
    {"receives from", "receiving from", Words::thing},
    {"closes", "closing", Words::thing},
    {"selects from", "selecting from", Words::thing},
    {"parks on", "parking on", Words::thing},
    {"unparks", "unparking", Words::other},
    {"joins", "joining", Words::other},
    {"joins its children", "joining its children", Words::nothing},
    {"cancels", "cancelling", Words::other},
    {"looks at", "looking at", Words::other},
    {"reads", "reading", Words::thing},
    {"uses", "using", Words::thing},
    {"passes a point", "a point", Words::nothing},
    {"ends", "its end", Words::nothing},
};
static_assert(std::size(kWords) == static_cast<std::size_t>(Op::end) + 1);

const Words& words_of(const Candidate& fiber) {
  return kWords[static_cast<std::size_t>(fiber.op)];
}

}  // namespace

std::string Narrator::object_of(const Candidate& fiber) {
  const auto kind = words_of(fiber).object;
  if (kind == Words::nothing) return "";
  if (kind == Words::thing) {
    if (const auto* const what = simulator_->what_is(fiber.object)) {
      return " " + *what;
    }
    const auto known =
        things_.try_emplace(fiber.object, things_.size() + 1).first;
    return " #" + std::to_string(known->second);
  }
  if (fiber.object == nullptr) return " nobody";  // by an empty handle
  const auto& other = *static_cast<const Fiber*>(fiber.object);
  return " fiber " + std::to_string(simulator_->number_of(other));
}

std::string Narrator::goes_on(const Candidate& fiber) {
  const auto& words = words_of(fiber);
  if (fiber.stopped || fiber.op == Op::begin) {
    return words.does + object_of(fiber);
  }
  return "goes on after " + std::string(words.doing) + object_of(fiber);
}

std::string Narrator::waits(const Candidate& fiber) {
  const char* const name = fiber.fiber->name();
  std::string text = "fiber " + std::to_string(fiber.number);
  if (name != nullptr && *name != '\0') {
    text += " \"" + std::string(name) + "\"";
  }
  return text + " " + words_of(fiber).does + object_of(fiber);
}

}  // namespace weft::sched
