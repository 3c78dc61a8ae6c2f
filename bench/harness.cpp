#include "harness.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>

namespace bench {
namespace {

std::vector<Benchmark>& benchmarks() {
  static std::vector<Benchmark> all;
  return all;
}

constexpr const char* kUsage =
    "usage: weft-bench [NAME...] [--workers N] [--reps R] [--n N]\n"
    "       weft-bench --list | --help\n"
    "\n"
    "Runs benchmarks of weft, all unless named, and prints one JSON line per\n"
    "repetition.\n"
    "\n"
    "  --workers N  workers of the runtime (default: the benchmark's own)\n"
    "  --reps R     repetitions, each with a fresh runtime (default: 1)\n"
    "  --n N        how much work (default: the benchmark's own)\n"
    "  --list       names and what they measure\n"
    "\n"
    "weft-bench-checked has those with checks by the compiler, and channels\n"
    "beside them; bench/compare.py runs weft and its peers side by side.\n";

struct Arguments {
  std::vector<const Benchmark*> chosen;
  std::optional<std::int64_t> workers, reps, n;
};

[[noreturn]] void reject(const std::string& why) {
  std::fprintf(stderr, "weft-bench: %s\n", why.c_str());
  std::exit(2);
}

std::int64_t number(const std::string& option, const std::string& text,
                    std::int64_t most) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < 1 || value > most) {
    reject(option + ": '" + text + "' is not a number from 1 to " +
           std::to_string(most));
  }
  return value;
}

const Benchmark* find(const std::string& name) {
  for (const Benchmark& benchmark : benchmarks()) {
    if (benchmark.name == name) return &benchmark;
  }
  std::string names;
  for (const Benchmark& benchmark : benchmarks()) {
    names += std::string(names.empty() ? "" : ", ") + benchmark.name;
  }
  reject("no benchmark '" + name + "'; there are " + names);
}

void list() {
  for (const Benchmark& benchmark : benchmarks()) {
    std::printf("%-14s %s\n", benchmark.name, benchmark.question);
  }
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--help" || word == "-h") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    }
    if (word == "--list") {
      list();
      std::exit(0);
    }
    if (word.empty() || word[0] != '-') {
      arguments.chosen.push_back(find(word));
      continue;
    }
    std::string value;
    const bool joined = word.find('=') != std::string::npos;
    if (joined) {
      value = word.substr(word.find('=') + 1);
      word.resize(word.find('='));
    }
    std::optional<std::int64_t>* option = word == "--workers"
                                              ? &arguments.workers
                                          : word == "--reps" ? &arguments.reps
                                          : word == "--n"    ? &arguments.n
                                                             : nullptr;
    if (option == nullptr) reject("no option '" + word + "'; see --help");
    if (!joined) {
      if (++i == argc) reject(word + " wants a number");
      value = argv[i];
    }
    const std::int64_t most = word == "--workers" ? 1024
                              : word == "--reps"  ? 100'000
                                                  : 1'000'000'000;
    *option = number(word, value, most);
  }
  return arguments;
}

Options options_for(const Benchmark& benchmark, const Arguments& arguments) {
  const auto workers =
      arguments.workers.value_or(std::int64_t{benchmark.usual_workers});
  return {static_cast<unsigned>(workers),
          arguments.n.value_or(benchmark.usual_n)};
}

// Why a benchmark cannot run so, or nothing.
std::string misfit(const Benchmark& benchmark, const Arguments& arguments) {
  const Options options = options_for(benchmark, arguments);
  if (options.workers < benchmark.fewest_workers) {
    return std::string(benchmark.name) + ": --workers is at least " +
           std::to_string(benchmark.fewest_workers);
  }
  if (options.n > benchmark.most_n) {
    return std::string(benchmark.name) + ": --n is at most " +
           std::to_string(benchmark.most_n);
  }
  return "";
}

// Those named, which must all fit; else all that fit.
std::vector<const Benchmark*> select(const Arguments& arguments) {
  for (const Benchmark* benchmark : arguments.chosen) {
    const std::string why = misfit(*benchmark, arguments);
    if (!why.empty()) reject(why);
  }
  if (!arguments.chosen.empty()) return arguments.chosen;
  std::vector<const Benchmark*> fitting;
  for (const Benchmark& benchmark : benchmarks()) {
    const std::string why = misfit(benchmark, arguments);
    if (why.empty()) {
      fitting.push_back(&benchmark);
    } else {
      std::fprintf(stderr, "weft-bench: left out: %s\n", why.c_str());
    }
  }
  return fitting;
}

void print(const Benchmark& benchmark, const Options& options,
           const Outcome& outcome) {
  std::printf(
      "{\"peer\":\"weft\",\"bench\":\"%s\",\"workers\":%u,\"n\":%lld,"
      "\"metric\":\"%s\",\"value\":%.3f,\"cpu_ms\":%.1f",
      benchmark.name, options.workers, static_cast<long long>(options.n),
      outcome.metric.c_str(), outcome.value, outcome.cpu_ms);
  for (const auto& [name, value] : outcome.more) {
    std::printf(",\"%s\":%.3f", name.c_str(), value);
  }
  std::puts("}");
  std::fflush(stdout);
}

}  // namespace

Register::Register(const Benchmark& benchmark) {
  auto& all = benchmarks();
  const auto place = std::find_if(all.begin(), all.end(), [&](auto& other) {
    return std::strcmp(benchmark.name, other.name) < 0;
  });
  all.insert(place, benchmark);
}

double cpu_ms() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = used.ru_utime.tv_sec + used.ru_stime.tv_sec;
  const auto micros = used.ru_utime.tv_usec + used.ru_stime.tv_usec;
  return static_cast<double>(seconds) * 1e3 + static_cast<double>(micros) / 1e3;
}

void check(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "weft-bench: wrong result: %s\n", what);
  std::_Exit(3);
}

Outcome percentiles(std::vector<std::int64_t>& ns, const std::string& prefix) {
  check(!ns.empty(), "nothing was measured");
  std::sort(ns.begin(), ns.end());
  const auto us = [&](std::size_t index) {
    return static_cast<double>(ns[index]) / 1e3;
  };
  return {prefix + "p50_us",
          us(ns.size() / 2),
          0,
          {{prefix + "p99_us", us(ns.size() * 99 / 100)},
           {prefix + "max_us", us(ns.size() - 1)}}};
}

int main(int argc, char** argv) {
  const Arguments arguments = parse(argc, argv);
  for (const Benchmark* benchmark : select(arguments)) {
    const Options options = options_for(*benchmark, arguments);
    for (std::int64_t i = 0; i < arguments.reps.value_or(1); ++i) {
      try {
        print(*benchmark, options, benchmark->run(options));
      } catch (const std::exception& error) {
        std::fprintf(stderr, "weft-bench: %s: %s\n", benchmark->name,
                     error.what());
        return 1;
      }
    }
  }
  return 0;
}

}  // namespace bench
