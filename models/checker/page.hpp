// page.hpp: what a run of all models found, as the tables of a page.
#pragma once

#include <string>
#include <vector>

#include "checker/check.hpp"

namespace weft::model {

class Page {
 public:
  void begin(const Protocol& protocol) { parts_.push_back({protocol, {}, {}}); }
  void add(const Scenario& scenario, const Report& report) {
    parts_.back().scenarios.push_back({scenario, report});
  }
  // The scenario that caught it, or nullptr.
  void add(const Mutation& mutation, const Scenario* scenario,
           const Report& report) {
    parts_.back().mutations.push_back(
        {mutation.name, scenario == nullptr ? "" : scenario->name,
         report.verdict});
  }
  // False: the file could not be written.
  bool write(const std::string& file) const;

 private:
  struct Explored {
    Scenario scenario;
    Report report;
  };
  struct Tried {
    std::string name;
    std::string caught_by;
    Verdict verdict;
  };
  struct Part {
    Protocol protocol;
    std::vector<Explored> scenarios;
    std::vector<Tried> mutations;
  };

  std::vector<Part> parts_;
};

}  // namespace weft::model
