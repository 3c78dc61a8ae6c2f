// weft_models.cpp: weft-models, which runs all models and all mutations.
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "audit.hpp"
#include "page.hpp"
#include "protocol.hpp"

namespace weft::model {
namespace {

constexpr const char* kUsage =
    "usage: weft-models [NAME...]            run what contains one of NAMEs\n"
    "       weft-models --nightly [NAME...]  with the scenarios that take "
    "long\n"
    "       weft-models --page FILE          run all, write the tables there\n"
    "       weft-models --replay NAME [PATH] print one execution of a "
    "scenario:\n"
    "                                        that of PATH, else the first that "
    "fails\n"
    "       weft-models --audit [NAME...]    weaken every order, one by one\n"
    "       weft-models --list               the names\n"
    "       weft-models --help               this text\n"
    "\n"
    "A name is 'protocol' or 'protocol/scenario'; the mutations of a protocol\n"
    "always run with it. Ends with 1 if a model does not give what it should,\n"
    "or a mutation is found by none.\n";

std::vector<Protocol> protocols() {
  return {work_deque(),  ring(),         global_queue(),   private_queue(),
          join_word(),   control_word(), family(),         frames(),
          idle(),        admission(),    timers(),         wait_list(),
          thread_wait(), mistakes(),     mistaken_queues()};
}

struct Totals {
  int surprises = 0;
  int killed = 0;
  int mutations = 0;
  std::uint64_t executions = 0;
  double seconds = 0;
};

bool wanted(const std::string& name, const std::vector<std::string>& names) {
  if (names.empty()) return true;
  for (const auto& one : names) {
    if (name.starts_with(one + "/")) return true;
    if (name.find(one) != std::string::npos) return true;
  }
  return false;
}

void print_failure(const std::string& name, const Report& report) {
  std::printf("\n%s: %s: %s\n%s  --replay '%s' %s\n\n", name.c_str(),
              to_string(report.verdict), report.what.c_str(),
              report.trace.c_str(), name.c_str(), report.replay.c_str());
}

Report run_scenario(const std::string& name, const Scenario& scenario,
                    Totals& totals) {
  auto report = explore(scenario.options, scenario.build);
  std::printf("%-36s %7llu %5llu %10llu %10llu %8.2f  %s\n", name.c_str(),
              static_cast<unsigned long long>(report.threads),
              static_cast<unsigned long long>(report.steps),
              static_cast<unsigned long long>(report.executions),
              static_cast<unsigned long long>(report.dropped), report.seconds,
              outcome(scenario, report).c_str());
  std::fflush(stdout);
  totals.executions += report.executions;
  totals.seconds += report.seconds;
  // A search with a limit is not expected to see everything.
  const bool limited =
      scenario.options.max_executions != 0 || scenario.options.max_seconds > 0;
  if (report.verdict == scenario.expected ||
      (limited && report.verdict == Verdict::incomplete)) {
    return report;
  }
  ++totals.surprises;
  print_failure(name, report);
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

void run_mutations(const Protocol& protocol, Totals& totals, Page& page) {
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
    } else {
      ++totals.surprises;
      std::printf("  ALIVE   %-34s%s\n", mutation.name,
                  applied ? "" : " was never reached");
    }
    std::fflush(stdout);
  }
  const auto count = static_cast<int>(protocol.mutations.size());
  std::printf("  %s: mutations killed: %d of %d\n\n", protocol.name.c_str(),
              killed, count);
  totals.killed += killed;
  totals.mutations += count;
}

int run(const std::vector<std::string>& names, bool nightly, Page& page) {
  Totals totals;
  std::printf("%-36s %7s %5s %10s %10s %8s\n", "protocol/scenario", "threads",
              "steps", "executions", "dropped", "seconds");
  for (const auto& protocol : protocols()) {
    bool any = false;
    page.begin(protocol);
    for (const auto& scenario : protocol.scenarios) {
      const auto name = protocol.name + "/" + scenario.name;
      if (!wanted(name, names) || (scenario.nightly && !nightly)) continue;
      page.add(scenario, run_scenario(name, scenario, totals));
      any = true;
    }
    if (any) run_mutations(protocol, totals, page);
  }
  if (totals.executions == 0) {
    std::fputs("weft-models: no scenario has such a name (--list)\n", stderr);
    return 2;
  }
  std::printf("%llu executions in %.1f s; mutations killed: %d of %d; %s\n",
              static_cast<unsigned long long>(totals.executions),
              totals.seconds, totals.killed, totals.mutations,
              totals.surprises == 0 ? "no surprise" : "SURPRISES");
  return totals.surprises == 0 ? 0 : 1;
}

int replay(const std::string& name, const std::string& path) {
  if (path.find_first_not_of("0123456789.") != std::string::npos) {
    std::fprintf(stderr, "weft-models: not a path: %s\n", path.c_str());
    return 2;
  }
  for (const auto& protocol : protocols()) {
    for (const auto& scenario : protocol.scenarios) {
      if (protocol.name + "/" + scenario.name != name) continue;
      auto options = scenario.options;
      options.replay = path;
      const auto report = explore(options, scenario.build);
      if (report && path.empty()) {
        std::printf("%s: none fails\n", name.c_str());
      } else {
        print_failure(name, report);
      }
      return report ? 0 : 1;
    }
  }
  std::fprintf(stderr, "weft-models: there is no %s (--list)\n", name.c_str());
  return 2;
}

int run_for_page(const std::string& file) {
  Page page;
  const int result = run({}, false, page);
  if (page.write(file)) return result;
  std::fprintf(stderr, "weft-models: cannot write %s\n", file.c_str());
  return 2;
}

int list() {
  for (const auto& protocol : protocols()) {
    for (const auto& scenario : protocol.scenarios) {
      std::printf("%s/%s%s\n", protocol.name.c_str(), scenario.name.c_str(),
                  scenario.nightly ? "  (nightly)" : "");
    }
  }
  return 0;
}

int audit_all(const std::vector<std::string>& names) {
  bool any = false;
  for (const auto& protocol : protocols()) {
    if (!wanted(protocol.name, names)) continue;
    audit(protocol);
    any = true;
  }
  if (!any) std::fputs("weft-models: no protocol has such a name\n", stderr);
  return any ? 0 : 2;
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

}  // namespace weft::model

int main(int argc, char** argv) {
  using namespace weft::model;
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--help" || first == "-h") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (first == "--list") return list();
  if (first == "--page" && argc == 3) return run_for_page(argv[2]);
  if (first == "--replay" && (argc == 3 || argc == 4)) {
    return replay(argv[2], argc == 4 ? argv[3] : "");
  }
  if (first == "--audit") return audit_all({argv + 2, argv + argc});
  const bool nightly = first == "--nightly";
  if (first.starts_with("-") && !nightly) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  Page page;
  return run({argv + (nightly ? 2 : 1), argv + argc}, nightly, page);
}
