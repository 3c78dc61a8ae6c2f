#include "checker/check.hpp"

#include <errno.h>

#include <cstdio>
#include <string_view>

#include "checker/audit.hpp"
#include "checker/page.hpp"

namespace weft::model {

namespace {

constexpr const char* kUsage =
    "usage: %s [OPTION] [NAME...]\n"
    "\n"
    "  [NAME...]             run the scenarios that contain one of the names,\n"
    "                        and the mutations of their protocols\n"
    "  --nightly [NAME...]   the same, with the scenarios that take long\n"
    "  --traces [NAME...]    the same, and print how known mistakes and\n"
    "                        mutations fail\n"
    "  --replay NAME [PATH]  print one execution of a scenario: that of PATH,\n"
    "                        else the first that fails\n"
    "  --audit [NAME...]     weaken every order of a protocol, one by one\n"
    "  --page FILE           run all, write the tables there\n"
    "  --list                the names: protocol/scenario\n"
    "  --help                this text\n"
    "\n"
    "Ends with 1 if a scenario does not give what it should, a mutation is\n"
    "found by none, or the execution that was asked for fails; with 2 for bad\n"
    "arguments, and for a PATH that does not fit.\n";

using Protocols = std::vector<Protocol>;
using Names = std::vector<std::string>;

struct Selection {
  Names names;
  bool nightly = false;
  bool traces = false;  // of known mistakes and mutations, too
};

struct Totals {
  int surprises = 0;
  int killed = 0;
  int mutations = 0;
  std::uint64_t executions = 0;
  double seconds = 0;
};

int refuse(const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, why.c_str());
  return 2;
}

std::string full_name(const Protocol& protocol, const Scenario& scenario) {
  return protocol.name + "/" + scenario.name;
}

bool wanted(const std::string& name, const Names& names) {
  for (const auto& one : names) {
    if (name.find(one) != std::string::npos) return true;
  }
  return names.empty();
}

bool wanted(const Protocol& protocol, const Scenario& scenario,
            const Selection& selection) {
  return wanted(full_name(protocol, scenario), selection.names) &&
         (selection.nightly || !scenario.nightly);
}

// The first name that nothing has, or an empty one.
std::string unknown_of(const Names& names, const Names& known) {
  for (const auto& name : names) {
    bool found = false;
    for (const auto& one : known) found = found || wanted(one, {name});
    if (!found) return name;
  }
  return {};
}

void print_execution(const std::string& name, const Report& report) {
  std::printf("\n%s: %s%s%s\n%s  --replay '%s' %s\n\n", name.c_str(),
              to_string(report.verdict), report.what.empty() ? "" : ": ",
              report.what.c_str(), report.trace.c_str(), name.c_str(),
              report.replay.c_str());
}

Report run_scenario(const std::string& name, const Scenario& scenario,
                    bool traces, Totals& totals) {
  std::printf("%-36s ", name.c_str());
  std::fflush(stdout);  // a model may end the process
  auto report = explore(scenario.options, scenario.build);
  std::printf("%7llu %5llu %10llu %10llu %8.2f  %s\n",
              static_cast<unsigned long long>(report.threads),
              static_cast<unsigned long long>(report.steps),
              static_cast<unsigned long long>(report.executions),
              static_cast<unsigned long long>(report.dropped), report.seconds,
              outcome(scenario, report).c_str());
  totals.executions += report.executions;
  totals.seconds += report.seconds;
  // A search with a limit is not expected to see everything.
  const bool limited =
      scenario.options.max_executions != 0 || scenario.options.max_seconds > 0;
  const bool surprise = report.verdict != scenario.expected &&
                        !(limited && report.verdict == Verdict::incomplete);
  if (surprise) ++totals.surprises;
  if (surprise || (traces && !report)) print_execution(name, report);
  std::fflush(stdout);
  return report;
}

// The first scenario that catches it, or nullptr.
const Scenario* catches(const Protocol& protocol, const Mutation& mutation,
                        Report& report, bool& applied) {
  for (const auto& scenario : protocol.scenarios) {
    if (scenario.expected != Verdict::holds || scenario.nightly) continue;
    auto options = scenario.options;
    options.mutation = &mutation;
    report = explore(options, scenario.build);
    applied = applied || report.mutated != 0;
    if (report.mutated == 0) continue;  // it fails by itself, or not at all
    if (report.verdict != Verdict::holds &&
        report.verdict != Verdict::incomplete) {
      return &scenario;
    }
  }
  return nullptr;
}

std::string never_reached(const Mutation& mutation) {
  return "of what was reached in " + std::string(mutation.file) +
         ", no statement of a function '" + mutation.function + "' contains '" +
         mutation.text + "'";
}

void run_mutations(const Protocol& protocol, bool traces, Totals& totals,
                   Page& page) {
  int killed = 0;
  for (const auto& mutation : protocol.mutations) {
    Report report;
    bool applied = false;
    const auto* scenario = catches(protocol, mutation, report, applied);
    page.add(mutation, scenario, report);
    if (scenario != nullptr) {
      ++killed;
      std::printf("  killed  %-34s %s: %s\n", mutation.name,
                  scenario->name.c_str(), report.what.c_str());
      if (traces) std::printf("%s\n", report.trace.c_str());
    } else {
      ++totals.surprises;
      std::printf("  ALIVE   %-34s %s\n", mutation.name,
                  applied ? "" : never_reached(mutation).c_str());
    }
    std::fflush(stdout);
  }
  const auto count = static_cast<int>(protocol.mutations.size());
  std::printf("  %s: mutations killed: %d of %d\n\n", protocol.name.c_str(),
              killed, count);
  totals.killed += killed;
  totals.mutations += count;
}

int run(const Protocols& protocols, const Selection& selection, Page& page) {
  Names known;
  for (const auto& protocol : protocols) {
    for (const auto& scenario : protocol.scenarios) {
      if (scenario.nightly && !selection.nightly) continue;
      known.push_back(full_name(protocol, scenario));
    }
  }
  const auto unknown = unknown_of(selection.names, known);
  if (!unknown.empty()) {
    return refuse("no scenario has such a name (--list): " + unknown);
  }

  Totals totals;
  std::printf("%-36s %7s %5s %10s %10s %8s\n", "protocol/scenario", "threads",
              "steps", "executions", "dropped", "seconds");
  for (const auto& protocol : protocols) {
    bool any = false;
    page.begin(protocol);
    for (const auto& scenario : protocol.scenarios) {
      if (!wanted(protocol, scenario, selection)) continue;
      page.add(scenario, run_scenario(full_name(protocol, scenario), scenario,
                                      selection.traces, totals));
      any = true;
    }
    if (any) run_mutations(protocol, selection.traces, totals, page);
  }
  std::printf("%llu executions in %.1f s; mutations killed: %d of %d; %s\n",
              static_cast<unsigned long long>(totals.executions),
              totals.seconds, totals.killed, totals.mutations,
              totals.surprises == 0 ? "no surprise" : "SURPRISES");
  return totals.surprises == 0 ? 0 : 1;
}

int replay(const Protocols& protocols, const std::string& name,
           const std::string& path) {
  // "-" is the path of a program that had no choice.
  if (path != "-" &&
      path.find_first_not_of("0123456789.") != std::string::npos) {
    return refuse("not a path (as in 0.2.1): " + path);
  }
  for (const auto& protocol : protocols) {
    for (const auto& scenario : protocol.scenarios) {
      if (full_name(protocol, scenario) != name) continue;
      auto options = scenario.options;
      options.replay = path;
      const auto report = explore(options, scenario.build);
      if (!report.fits) {
        return refuse(
            "this path does not fit " + name +
            ", which changed since, or the path is mistyped: " + path);
      }
      if (report && path.empty()) {
        std::printf("%s: none fails\n", name.c_str());
      } else {
        print_execution(name, report);
      }
      return report ? 0 : 1;
    }
  }
  return refuse("there is no scenario of this name (--list): " + name);
}

int run_for_page(const Protocols& protocols, const std::string& file) {
  Page page;
  const int result = run(protocols, {}, page);
  return page.write(file) ? result : refuse("cannot write " + file);
}

int list(const Protocols& protocols) {
  for (const auto& protocol : protocols) {
    for (const auto& scenario : protocol.scenarios) {
      std::printf("%s%s\n", full_name(protocol, scenario).c_str(),
                  scenario.nightly ? "  (nightly)" : "");
    }
  }
  return 0;
}

int audit_all(const Protocols& protocols, const Names& names) {
  Names known;
  for (const auto& protocol : protocols) known.push_back(protocol.name);
  const auto unknown = unknown_of(names, known);
  if (!unknown.empty()) {
    return refuse("no protocol has such a name (--list): " + unknown);
  }
  for (const auto& protocol : protocols) {
    if (wanted(protocol.name, names)) audit(protocol);
  }
  return 0;
}

}  // namespace

std::string outcome(const Scenario& scenario, const Report& report) {
  std::string result = to_string(report.verdict);
  const auto& options = scenario.options;
  const bool bounded = options.preemptions != 0 || options.stale_reads != 0 ||
                       options.spurious_failures == 0;
  if (report && bounded) result += " (bounded)";
  const bool as_expected = report.verdict == scenario.expected;
  if (!report && as_expected) result += ", as it must: " + report.what;
  return result;
}

int check_main(int argc, char** argv, const Protocols& protocols) {
  Names words(argv + 1, argv + argc);
  const std::string option =
      !words.empty() && words[0].starts_with("-") ? words[0] : "";
  if (!option.empty()) words.erase(words.begin());
  const auto count = words.size();
  if ((option == "--help" || option == "-h") && count == 0) {
    std::printf(kUsage, program_invocation_short_name);
    return 0;
  }
  if (option == "--list" && count == 0) return list(protocols);
  if (option == "--page" && count == 1) {
    return run_for_page(protocols, words[0]);
  }
  if (option == "--replay" && (count == 1 || count == 2)) {
    return replay(protocols, words[0], count == 2 ? words[1] : "");
  }
  for (const auto& word : words) {
    if (word.starts_with("-")) return refuse("one option at a time: " + word);
  }
  if (option == "--audit") return audit_all(protocols, words);
  if (option == "" || option == "--nightly" || option == "--traces") {
    Page page;
    return run(protocols, {words, option == "--nightly", option == "--traces"},
               page);
  }
  std::fprintf(stderr, kUsage, program_invocation_short_name);
  return refuse("not an option, or not with these words: " + option);
}

}  // namespace weft::model
