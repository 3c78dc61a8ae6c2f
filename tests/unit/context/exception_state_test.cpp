#include "context/exception_state.hpp"

#include <gtest/gtest.h>

#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>

namespace weft::context {
namespace {

TEST(ExceptionState, IsEmptyOutsideOfACatchBlock) {
  EXPECT_TRUE(thread_exception_state().empty());
  try {
    throw 1;
  } catch (int) {
  }
  EXPECT_TRUE(thread_exception_state().empty());
}

TEST(ExceptionState, HoldsTheCaughtException) {
  try {
    throw std::runtime_error("one");
  } catch (const std::exception&) {
    EXPECT_NE(thread_exception_state().caught, nullptr);
    EXPECT_EQ(thread_exception_state().uncaught, 0u);
  }
}

TEST(ExceptionState, CountsTheExceptionInFlight) {
  struct Look {
    unsigned* uncaught;
    ~Look() { *uncaught = thread_exception_state().uncaught; }
  };
  unsigned uncaught = 0;
  try {
    const Look look{&uncaught};
    throw 1;
  } catch (int) {
  }
  EXPECT_EQ(uncaught, 1u);
}

TEST(ExceptionState, BelongsToItsThread) {
  ExceptionState* mine = &thread_exception_state();
  ExceptionState* other = nullptr;
  std::thread thread([&other] { other = &thread_exception_state(); });
  thread.join();
  EXPECT_EQ(mine, &thread_exception_state());
  EXPECT_NE(mine, other);
}

TEST(ExceptionState, GivesBackItsExceptionAfterItWasTakenAway) {
  try {
    throw std::runtime_error("kept");
  } catch (const std::exception&) {
    auto& state = thread_exception_state();
    const auto saved = std::exchange(state, {});
    EXPECT_EQ(std::current_exception(), nullptr);
    try {
      throw 2;  // somebody else's, meanwhile
    } catch (int) {
    }
    state = saved;
    try {
      throw;
    } catch (const std::runtime_error& again) {
      EXPECT_STREQ(again.what(), "kept");
    }
  }
}

}  // namespace
}  // namespace weft::context
