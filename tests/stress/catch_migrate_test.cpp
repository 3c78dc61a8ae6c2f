// catch_migrate_test.cpp: exceptions of fibers that change their worker.

#include <gtest/gtest.h>

#include <exception>
#include <vector>

#include "stress/baton.hpp"
#include "stress/keepers.hpp"
#include "stress/scale.hpp"
#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using test::Baton;
using test::Keepers;
using test::scaled;

struct Thrown : std::exception {
  explicit Thrown(int i) : id(i) {}
  int id;
};

class CatchMigrateTest : public test::RuntimeTest {
 protected:
  static constexpr unsigned kWorkers = 3;
  static constexpr int kFibers = 4;

  // Runs body(id, move) in a few fibers at once; move() changes the worker.
  template <typename Body>
  static void in_fibers_that_move(Body body) {
    Runtime runtime = start(kWorkers);
    {
      Keepers keepers(runtime);
      Baton turn;  // keepers move one fiber at a time
      turn.give();
      const auto move = [&] {
        EXPECT_TRUE(turn.take());
        keepers.move_on();
        turn.give();
      };
      EXPECT_TRUE(runtime.run([&](Nursery& nursery) {
        for (int id = 0; id < kFibers; ++id) {
          nursery.spawn([&, id] {
            for (int i = 0; i < scaled(500); ++i) body(id, move);
            EXPECT_EQ(std::current_exception(), nullptr);
            EXPECT_EQ(std::uncaught_exceptions(), 0);
          });
        }
      }));
    }
    expect_empty(runtime);
  }
};

// R-CTRL-03 R-FIBER-14
TEST_F(CatchMigrateTest, ACatchBlockGoesOnElsewhereWithItsException) {
  in_fibers_that_move([](int id, const auto& move) {
    try {
      throw Thrown(id);
    } catch (const Thrown& first) {
      const auto caught = std::current_exception();
      move();
      EXPECT_EQ(first.id, id);
      EXPECT_EQ(std::current_exception(), caught);
      EXPECT_EQ(std::uncaught_exceptions(), 0);
    }
    EXPECT_EQ(std::current_exception(), nullptr);
  });
}

// R-CTRL-03 R-FIBER-14
TEST_F(CatchMigrateTest, ARethrowElsewhereThrowsTheSameObject) {
  in_fibers_that_move([](int id, const auto& move) {
    const Thrown* object = nullptr;
    std::exception_ptr caught;
    try {
      try {
        throw Thrown(id);
      } catch (const Thrown& first) {
        object = &first;
        caught = std::current_exception();
        move();
        throw;
      }
    } catch (const Thrown& again) {
      EXPECT_EQ(&again, object);
      EXPECT_EQ(again.id, id);
      EXPECT_EQ(std::current_exception(), caught);
      EXPECT_EQ(std::uncaught_exceptions(), 0);
      move();
      EXPECT_EQ(std::current_exception(), caught);
    }
    EXPECT_EQ(std::current_exception(), nullptr);
  });
}

// R-CTRL-03 R-FIBER-14
TEST_F(CatchMigrateTest, NestedCatchBlocksEndInTheirOrder) {
  in_fibers_that_move([](int id, const auto& move) {
    try {
      throw Thrown(id);
    } catch (const Thrown&) {
      const auto outer = std::current_exception();
      move();
      try {
        throw Thrown(-id);
      } catch (const Thrown& inner) {
        EXPECT_NE(std::current_exception(), outer);
        move();
        EXPECT_EQ(inner.id, -id);
        EXPECT_NE(std::current_exception(), outer);
      }
      EXPECT_EQ(std::current_exception(), outer);
      move();
      EXPECT_EQ(std::current_exception(), outer);
    }
  });
}

// Changes the worker while it is destroyed, and throws inside itself.
template <typename Move>
struct MovesAtItsEnd {
  const Move& move;
  std::exception_ptr caught;  // by a catch block around

  ~MovesAtItsEnd() {
    EXPECT_EQ(std::uncaught_exceptions(), 1);
    move();
    EXPECT_EQ(std::uncaught_exceptions(), 1);
    EXPECT_EQ(std::current_exception(), caught);
    try {
      throw Thrown(-1);
    } catch (const Thrown& inner) {
      EXPECT_EQ(std::uncaught_exceptions(), 1);
      move();
      EXPECT_EQ(std::uncaught_exceptions(), 1);
      EXPECT_EQ(inner.id, -1);
    }
    EXPECT_EQ(std::current_exception(), caught);
  }
};

// R-CTRL-03 R-FIBER-14
TEST_F(CatchMigrateTest, UnwindingGoesOnElsewhere) {
  in_fibers_that_move([](int id, const auto& move) {
    try {
      const MovesAtItsEnd<decltype(move)> moves{move, nullptr};
      throw Thrown(id);
    } catch (const Thrown& error) {
      EXPECT_EQ(error.id, id);
      EXPECT_EQ(std::uncaught_exceptions(), 0);
    }
    EXPECT_EQ(std::current_exception(), nullptr);
  });
}

// R-CTRL-03 R-FIBER-14
TEST_F(CatchMigrateTest, UnwindingInsideACatchBlockGoesOnElsewhere) {
  in_fibers_that_move([](int id, const auto& move) {
    try {
      throw Thrown(id);
    } catch (const Thrown& outer) {
      const auto caught = std::current_exception();
      try {
        const MovesAtItsEnd<decltype(move)> moves{move, caught};
        throw Thrown(id + 1);
      } catch (const Thrown& inner) {
        EXPECT_EQ(inner.id, id + 1);
        EXPECT_EQ(std::uncaught_exceptions(), 0);
      }
      EXPECT_EQ(std::current_exception(), caught);
      EXPECT_EQ(outer.id, id);
    }
  });
}

}  // namespace
}  // namespace weft
