// printer.hpp: an execution, one line per step.
#pragma once

#include <string>
#include <vector>

#include "checker/explorer.hpp"

namespace weft::model {

class Printer {
 public:
  Printer(const Program& program, const Graph& graph)
      : program_(program), graph_(graph) {}

  std::string print(const std::vector<Step>& steps) const;

 private:
  std::string thread_name(int thread) const;
  std::string place_name(const void* address) const;
  std::string value_text(std::uint64_t bits, std::size_t size) const;
  std::string source(const Event& event, const std::vector<Step>& steps) const;
  std::string describe(const Event& event,
                       const std::vector<Step>& steps) const;

  const Program& program_;
  const Graph& graph_;
};

}  // namespace weft::model
