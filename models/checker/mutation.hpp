// mutation.hpp: one change at one place of the code under test.
//
// The checker knows where each operation stands in the source, so no header
// needs a mark: a mutation names the file and a piece of the statement's text.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/model_seam.hpp"

namespace weft::model {

enum class Effect : std::uint8_t {
  weaken,          // the order
  weaken_failure,  // the order of a compare-exchange that fails
  skip,            // the store does not happen
  late,            // the store happens after the thread's next operation
  stale,           // the load answers what the thread knew: nobody looked again
};

struct Mutation {
  const char* name;
  const char* file;      // the end of its path
  const char* function;  // part of its name
  const char* text;      // in the statement, which may have three lines more
  std::memory_order weaker = std::memory_order_relaxed;
  Effect effect = Effect::weaken;
  unsigned line = 0;  // if not 0, only there
  unsigned column = 0;
};

// Ends the process if the site's file cannot be read: a mutation that is none
// would pass for one that nobody caught.
bool applies(const Mutation& mutation, const base::Site& site);

// The statement there, without its comment and in one line; empty if the file
// cannot be read.
std::string statement_at(const char* file, unsigned line);

const char* to_string(std::memory_order order) noexcept;

}  // namespace weft::model
