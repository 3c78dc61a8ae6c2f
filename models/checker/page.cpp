#include "checker/page.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iomanip>

namespace weft::model {

namespace {

// "12,345"
std::string grouped(std::uint64_t number) {
  auto text = std::to_string(number);
  for (auto at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string files_of(const Protocol& protocol) {
  std::string result;
  for (const char* file : protocol.files) {
    result += (result.empty() ? "`" : ", `") + std::string(file) + "`";
  }
  return result.empty() ? "none" : result;
}

}  // namespace

bool Page::write(const std::string& file) const {
  std::ofstream out(file);
  out << std::fixed << std::setprecision(1);
  std::uint64_t executions = 0;
  std::size_t killed = 0;
  std::size_t mutations = 0;
  double seconds = 0;
  out << "| protocol | headers | scenarios | threads | operations | executions "
         "| seconds | mutations killed |\n"
         "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (const Part& part : parts_) {
    Report all;
    for (const auto& [scenario, report] : part.scenarios) {
      all.threads = std::max(all.threads, report.threads);
      all.steps = std::max(all.steps, report.steps);
      all.executions += report.executions;
      all.seconds += report.seconds;
    }
    const auto dead = static_cast<std::size_t>(
        std::count_if(part.mutations.begin(), part.mutations.end(),
                      [](const Tried& one) { return !one.caught_by.empty(); }));
    out << "| " << part.protocol.name << " | " << files_of(part.protocol)
        << " | " << part.scenarios.size() << " | " << all.threads << " | "
        << all.steps << " | " << grouped(all.executions) << " | " << all.seconds
        << " | " << dead << " of " << part.mutations.size() << " |\n";
    executions += all.executions;
    seconds += all.seconds;
    killed += dead;
    mutations += part.mutations.size();
  }
  out << "| **all** | | | | | " << grouped(executions) << " | " << seconds
      << " | " << killed << " of " << mutations << " |\n";

  for (const Part& part : parts_) {
    out << "\n### " << part.protocol.name
        << "\n\n| scenario | threads | operations | executions | seconds | "
           "verdict |\n| --- | ---: | ---: | ---: | ---: | --- |\n";
    for (const auto& [scenario, report] : part.scenarios) {
      out << "| " << scenario.name << " | " << report.threads << " | "
          << report.steps << " | " << grouped(report.executions) << " | "
          << report.seconds << " | " << outcome(scenario, report) << " |\n";
    }
    if (part.mutations.empty()) continue;
    out << "\n| mutation | found by | as |\n| --- | --- | --- |\n";
    for (const auto& [name, caught_by, verdict] : part.mutations) {
      out << "| " << name << " | "
          << (caught_by.empty() ? "**nothing**" : caught_by) << " | "
          << (caught_by.empty() ? "" : to_string(verdict)) << " |\n";
    }
  }
  out.close();
  return static_cast<bool>(out);
}

}  // namespace weft::model
