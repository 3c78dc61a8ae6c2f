// choices.hpp: the path through the tree of all executions.
//
// An execution asks choose() wherever it could go on in several ways. next()
// moves to the next path, depth first; text() and parse() make a path of it
// that a later run can replay.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::model {

class Choices {
 public:
  // One of `count` >= 1 ways.
  int choose(int count) {
    if (count == 1) return 0;
    if (depth_ == path_.size()) path_.push_back({0, count});
    auto& choice = path_[depth_++];
    choice.count = count;
    if (choice.taken < count) return choice.taken;
    fits_ = false;  // then any way is as good
    return count - 1;
  }

  void restart() noexcept { depth_ = 0; }

  // False: there is no other path.
  bool next() {
    path_.resize(depth_);
    while (!path_.empty() && path_.back().taken + 1 >= path_.back().count) {
      path_.pop_back();
    }
    if (path_.empty()) return false;
    ++path_.back().taken;
    return true;
  }

  std::string text() const {
    std::string result;
    for (std::size_t i = 0; i < depth_; ++i) {
      if (i != 0) result += '.';
      result += std::to_string(path_[i].taken);
    }
    return result.empty() ? "-" : result;
  }

  void parse(std::string_view text) {
    constexpr int kMost = 100'000'000;  // that no choice has
    path_.clear();
    int number = 0;
    for (const char c : text) {
      if (c == '.') {
        path_.push_back({number, number + 1});
        number = 0;
      } else if (c >= '0' && c <= '9') {
        number = std::min(number * 10 + (c - '0'), kMost);
      }
    }
    if (!text.empty() && text != "-") path_.push_back({number, number + 1});
    given_ = path_.size();
  }

  // After an execution. False: what parse() took is no path of this program,
  // or of more or fewer choices than there were.
  bool fits() const noexcept { return fits_ && depth_ == given_; }

 private:
  struct Choice {
    int taken = 0;
    int count = 0;
  };
  std::vector<Choice> path_;
  std::size_t depth_ = 0;
  std::size_t given_ = 0;  // by parse()
  bool fits_ = true;
};

}  // namespace weft::model
