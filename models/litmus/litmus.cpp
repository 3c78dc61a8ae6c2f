#include "litmus/litmus.hpp"

#include <array>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "base/atomic.hpp"

namespace weft::model {

namespace {

struct Operation {
  enum class Type : std::uint8_t { load, store, add, exchange, compare };
  Type type = Type::load;
  int place = 0;
  int target = 0;
  int expected = 0;
  int value = 0;
  std::memory_order order = relaxed;
};
using Script = std::vector<Operation>;

struct State {
  std::array<Atomic<int>, 4> places;
  std::array<int, 8> registers{};
};

int number_at(const std::string& text, std::size_t at) {
  return std::atoi(text.c_str() + at);
}

Operation parse_operation(const std::string& text) {
  Operation result;
  const auto dot = text.find('.');
  const auto order = text.substr(dot + 1);
  result.order = order == "sc"    ? seq_cst
                 : order == "ar"  ? acq_rel
                 : order == "rel" ? release
                 : order == "acq" ? acquire
                                  : relaxed;
  const auto place = [](char c) { return c == 'w' ? 3 : c - 'x'; };
  if (text[0] != 'r') {
    result.type = Operation::Type::store;
    result.place = place(text[0]);
    result.value = number_at(text, 2);
    return result;
  }
  result.target = text[1] - '0';
  result.place = place(text[3]);
  switch (text[4]) {
    case '+':
      result.type = Operation::Type::add;
      result.value = number_at(text, 5);
      break;
    case '!':
      result.type = Operation::Type::exchange;
      result.value = number_at(text, 5);
      break;
    case '?':
      result.type = Operation::Type::compare;
      result.expected = number_at(text, 5);
      result.value = number_at(text, text.find('>') + 1);
      break;
    default:
      break;
  }
  return result;
}

std::vector<Script> parse(const std::string& program) {
  std::vector<Script> threads(1);
  std::istringstream words(program);
  for (std::string word; words >> word;) {
    if (word == "|") {
      threads.emplace_back();
      continue;
    }
    if (word.back() == ';') word.pop_back();
    threads.back().push_back(parse_operation(word));
  }
  return threads;
}

void perform(const Operation& operation, State& state) {
  auto& place = state.places[static_cast<std::size_t>(operation.place)];
  auto& target = state.registers[static_cast<std::size_t>(operation.target)];
  int expected = operation.expected;
  switch (operation.type) {
    case Operation::Type::load:
      target = place.load(operation.order);
      break;
    case Operation::Type::store:
      place.store(operation.value, operation.order);
      break;
    case Operation::Type::add:
      target = place.fetch_add(operation.value, operation.order);
      break;
    case Operation::Type::exchange:
      target = place.exchange(operation.value, operation.order);
      break;
    case Operation::Type::compare:
      target = place.compare_exchange_strong(expected, operation.value,
                                             operation.order, relaxed);
      break;
  }
}

std::string outcome_of(const std::vector<Script>& threads, State& state) {
  std::set<int> targets;
  std::set<int> places;
  for (const auto& thread : threads) {
    for (const auto& operation : thread) {
      if (operation.type != Operation::Type::store) {
        targets.insert(operation.target);
      }
      places.insert(operation.place);
    }
  }
  std::string result;
  for (const int i : targets) {
    result += std::to_string(state.registers[static_cast<std::size_t>(i)]);
    result += ' ';
  }
  result += "/";
  for (const int i : places) {
    const int last = state.places[static_cast<std::size_t>(i)].load(relaxed);
    result += ' ' + std::to_string(last);
  }
  return result;
}

}  // namespace

LitmusResult run_litmus(const std::string& program, Options options) {
  const auto threads = parse(program);
  LitmusResult result;
  options.repeats = 1000;  // all operations stand at the same place here
  result.report = explore(options, [&](Program& p) {
    auto& state = p.make<State>("state");
    int number = 0;
    for (const auto& script : threads) {
      p.thread("P" + std::to_string(number++), [&] {
        for (const auto& operation : script) perform(operation, state);
      });
    }
    p.finally([&] { result.outcomes.insert(outcome_of(threads, state)); });
  });
  return result;
}

}  // namespace weft::model
