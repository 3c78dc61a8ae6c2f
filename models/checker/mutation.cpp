#include "checker/mutation.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string_view>
#include <vector>

namespace weft::model {

namespace {

// None if the file cannot be read.
const std::vector<std::string>& lines_of(const std::string& file) {
  static std::map<std::string, std::vector<std::string>> known;
  const auto [found, added] = known.try_emplace(file);
  if (added) {
    // The compiler names files of weft relative to its folder; one that is
    // called by a cache, maybe relative to the build below that.
    std::string_view name = file;
    while (name.starts_with("../")) name.remove_prefix(3);
    std::ifstream stream(std::filesystem::path(WEFT_FOLDER) / name);
    if (!stream) stream.open(file);
    for (std::string line; std::getline(stream, line);) {
      found->second.push_back(line.substr(0, line.find("//")));
    }
  }
  return found->second;
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

bool is_whole(const std::string& text) {
  return text.empty() || text.back() == ';' || text.back() == '{' ||
         text.back() == '}';
}

}  // namespace

std::string statement_at(const char* file, unsigned line) {
  constexpr unsigned kMost = 3;
  const auto& lines = lines_of(file);
  if (line == 0 || line > lines.size()) return {};
  std::string result = trimmed(lines[line - 1]);
  for (unsigned i = line; i < lines.size() && i < line + kMost; ++i) {
    if (is_whole(result)) break;
    result += " " + trimmed(lines[i]);
  }
  return result;
}

bool applies(const Mutation& mutation, const base::Site& site) {
  if (mutation.line != 0 &&
      (mutation.line != site.line() || mutation.column != site.column())) {
    return false;
  }
  if (!std::string_view(site.file_name()).ends_with(mutation.file)) {
    return false;
  }
  const std::string_view function = site.function_name();
  const auto bare = "::" + std::string(function) + "(";  // what clang 14 knows
  if (function.find(mutation.function) == std::string_view::npos &&
      bare != mutation.function) {
    return false;
  }
  if (lines_of(site.file_name()).empty()) {
    std::fprintf(stderr, "cannot read %s\n", site.file_name());
    std::exit(2);
  }
  const auto statement = statement_at(site.file_name(), site.line());
  return statement.find(mutation.text) != std::string::npos;
}

const char* to_string(std::memory_order order) noexcept {
  switch (order) {
    case std::memory_order_relaxed:
      return "relaxed";
    case std::memory_order_consume:
    case std::memory_order_acquire:
      return "acquire";
    case std::memory_order_release:
      return "release";
    case std::memory_order_acq_rel:
      return "acq_rel";
    case std::memory_order_seq_cst:
      return "seq_cst";
  }
  return "?";
}

}  // namespace weft::model
