#include "checker/printer.hpp"

#include <cstdio>
#include <cstring>

namespace weft::model {

namespace {

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx",
                static_cast<unsigned long long>(value));
  return text;
}

std::string file_and_line(const Site& site) {
  const std::string path = site.file_name();
  return path.substr(path.find_last_of('/') + 1) + ":" +
         std::to_string(site.line());
}

}  // namespace

std::string Printer::thread_name(int thread) const {
  if (thread == kSetup) return "setup";
  const auto i = static_cast<std::size_t>(thread);
  return i < program_.threads_.size() ? program_.threads_[i].name : "finally";
}

// The smallest object that was named, and where in it.
std::string Printer::place_name(const void* address) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const Program::Name* best = nullptr;
  for (const auto& name : program_.names_) {
    const auto low = reinterpret_cast<std::uintptr_t>(name.address);
    if (at < low || at - low >= name.size) continue;
    if (best == nullptr || name.size < best->size) best = &name;
  }
  if (best == nullptr) return {};
  const auto offset = at - reinterpret_cast<std::uintptr_t>(best->address);
  return offset == 0 ? best->text : best->text + "+" + std::to_string(offset);
}

std::string Printer::value_text(std::uint64_t bits, std::size_t size) const {
  if (size == 8) {
    const auto pointed = place_name(reinterpret_cast<const void*>(bits));
    if (!pointed.empty()) return "&" + pointed;
  }
  auto value = static_cast<std::int64_t>(bits);
  if (size == 4) value = static_cast<std::int32_t>(bits);
  constexpr std::int64_t kSmall = 1 << 20;
  return value > -kSmall && value < kSmall ? std::to_string(value) : hex(bits);
}

// The step that wrote what the event read.
std::string Printer::source(const Event& event,
                            const std::vector<Step>& steps) const {
  std::string result;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].event == event.from) {
      result = "step " + std::to_string(i + 1);
      break;
    }
  }
  if (result.empty()) result = "the first value";
  return "from " + result + (event.stale ? ", stale" : "");
}

std::string Printer::describe(const Event& event,
                              const std::vector<Step>& steps) const {
  const auto& location = graph_.location(event.location);
  auto place = place_name(location.address);
  if (place.empty()) {
    place = hex(reinterpret_cast<std::uintptr_t>(location.address));
  }
  if (location.size == 0) place = "the queue of a futex";
  const auto read = value_text(event.read, location.size);
  const auto written = value_text(event.written, location.size);
  switch (event.kind) {
    case Kind::load:
      return "load  " + place + ": " + read + " " + source(event, steps);
    case Kind::store:
      return "store " + place + " = " + written +
             (event.stale ? ", before a later one" : "");
    case Kind::rmw:
      return "rmw   " + place + ": " + read + " -> " + written + " " +
             source(event, steps);
    case Kind::initial:
      break;
  }
  return "?";
}

std::string Printer::print(const std::vector<Step>& steps) const {
  std::size_t widest = 0;
  for (const auto& step : steps) {
    widest = std::max(widest, thread_name(step.thread).size());
  }
  std::string result;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    std::string what;
    Site site = step.site;
    if (step.event != kNoEvent) {
      const Event& event = graph_.event(step.event);
      what = padded(to_string(event.order), 8) + describe(event, steps);
      site = event.site;
    } else if (step.address != nullptr) {
      const auto place = place_name(step.address);
      what = padded("plain", 8) + step.text + " " +
             (place.empty() ? "an unnamed object" : place);
    } else {
      what = padded("", 8) + step.text;
    }
    char number[32];
    std::snprintf(number, sizeof number, "%4zu  ", i + 1);
    std::string line =
        number + padded(thread_name(step.thread), widest + 2) + what;
    const auto statement = statement_at(site.file_name(), site.line());
    // Operators of Plain do not know who called them.
    if (file_and_line(site).rfind("model_atomic", 0) != 0) {
      line = padded(line, 72) + "  " + file_and_line(site) + "  " + statement;
    }
    result += line + "\n";
  }
  return result;
}

}  // namespace weft::model
