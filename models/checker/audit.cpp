#include "checker/audit.hpp"

#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

namespace weft::model {

namespace {

using Order = std::memory_order;

std::vector<Order> weaker_than(Order order, SiteKind kind) {
  std::vector<Order> result;
  const bool sc = order == seq_cst;
  if (sc && kind == SiteKind::change) result.push_back(acq_rel);
  if (kind != SiteKind::store && (sc || order == acq_rel)) {
    result.push_back(acquire);
  }
  if (kind != SiteKind::load && (sc || order == acq_rel)) {
    result.push_back(release);
  }
  if (order != relaxed) result.push_back(relaxed);
  return result;
}

bool is_caught(const Protocol& protocol, const Mutation& mutation) {
  for (const auto& scenario : protocol.scenarios) {
    if (scenario.expected != Verdict::holds || scenario.nightly) continue;
    auto options = scenario.options;
    options.mutation = &mutation;
    const auto verdict = explore(options, scenario.build).verdict;
    if (verdict != Verdict::holds && verdict != Verdict::incomplete) {
      return true;
    }
  }
  return false;
}

bool is_about(const Protocol& protocol, const UsedSite& used) {
  for (const char* file : protocol.files) {
    if (std::string_view(used.site.file_name()).ends_with(file)) return true;
  }
  return false;
}

}  // namespace

void audit(const Protocol& protocol) {
  std::map<std::tuple<std::string, unsigned, unsigned, bool>, UsedSite> sites;
  for (const auto& scenario : protocol.scenarios) {
    if (scenario.expected != Verdict::holds || scenario.nightly) continue;
    auto options = scenario.options;
    options.collect_sites = true;
    for (const auto& used : explore(options, scenario.build).sites) {
      if (!is_about(protocol, used)) continue;
      sites.try_emplace({used.site.file_name(), used.site.line(),
                         used.site.column(), used.on_failure},
                        used);
    }
  }
  int tried = 0;
  int alive = 0;
  for (const auto& [key, used] : sites) {
    for (const Order weaker : weaker_than(used.order, used.kind)) {
      const Mutation mutation{
          .name = "",
          .file = used.site.file_name(),
          .function = "",
          .text = "",
          .weaker = weaker,
          .effect = used.on_failure ? Effect::weaken_failure : Effect::weaken,
          .line = used.site.line(),
          .column = used.site.column()};
      ++tried;
      if (is_caught(protocol, mutation)) continue;
      ++alive;
      const std::string path = used.site.file_name();
      const auto file = path.substr(path.find_last_of('/') + 1);
      std::printf(
          "  %s:%u: %s%s would do: %s\n", file.c_str(), used.site.line(),
          to_string(weaker), used.on_failure ? " on failure" : "",
          statement_at(used.site.file_name(), used.site.line()).c_str());
      std::fflush(stdout);
    }
  }
  std::printf("%s: %d weaker orders tried, %d not caught\n",
              protocol.name.c_str(), tried, alive);
}

}  // namespace weft::model
