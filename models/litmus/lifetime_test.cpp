// Objects that one thread makes and another ends.
#include <gtest/gtest.h>

#include <string>

#include "base/atomic.hpp"
#include "checker/program.hpp"

namespace weft::model {
namespace {

struct Note {
  Plain<int> text = 0;
  Atomic<int> read{0};
};

// The reader says that it is done; the writer ends the note when it hears it.
Report lend(std::memory_order told, std::memory_order heard) {
  return explore({}, [=](Program& p) {
    auto& lent = p.make<Atomic<Note*>>("lent", nullptr);
    auto& done = p.make<Atomic<bool>>("done", false);
    p.thread("writer", [&, heard] {
      Note& note = create<Note>("note");
      note.text = 7;
      lent.store(&note, release);
      while (!done.load(heard)) pause();
      destroy(note);
    });
    p.thread("reader", [&, told] {
      Note* note = nullptr;
      while ((note = lent.load(acquire)) == nullptr) pause();
      expect(note->text == 7, "the text came");
      note->read.store(1, relaxed);
      done.store(true, told);
    });
  });
}

TEST(Lifetime, MayEndAfterTheLastUse) {
  const auto report = lend(release, acquire);
  EXPECT_EQ(report.verdict, Verdict::holds) << report.what << report.trace;
}

TEST(Lifetime, MayNotEndBesideAUse) {
  EXPECT_EQ(lend(relaxed, acquire).verdict, Verdict::race);
  const auto report = lend(release, relaxed);
  EXPECT_EQ(report.verdict, Verdict::race);
  EXPECT_NE(report.what.find("writer ends note"), std::string::npos)
      << report.what;
}

// Only an atomic is used, which no race of plain data shows.
TEST(Lifetime, MayNotEndBesideAnAtomicUse) {
  const auto report = explore({}, [](Program& p) {
    auto& lent = p.make<Atomic<Atomic<int>*>>("lent", nullptr);
    p.thread("owner", [&] {
      auto& word = create<Atomic<int>>("word", 0);
      lent.store(&word, release);
      while (word.load(acquire) != 1) pause();
      destroy(word);
    });
    p.thread("waker", [&] {
      auto* word = lent.load(acquire);
      while ((word = lent.load(acquire)) == nullptr) pause();
      word->store(1, release);
      (void)word->load(relaxed);  // the owner may be gone
    });
  });
  EXPECT_NE(report.verdict, Verdict::holds);
  EXPECT_NE(report.what.find("word"), std::string::npos) << report.what;
}

// The making of an object is no atomic operation: who finds it by a pointer
// that was not released races with it.
template <typename Made>
Report publish_made(std::memory_order order) {
  return explore({}, [=](Program& p) {
    auto& lent = p.make<Atomic<Made*>>("lent", nullptr);
    p.thread("maker",
             [&, order] { lent.store(&create<Made>("made", 42), order); });
    p.thread("user", [&, order] {
      Made* made = nullptr;
      while ((made = lent.load(order == release ? acquire : relaxed)) ==
             nullptr) {
        pause();
      }
      expect(*made == 42, "it is complete");
      if (order == release) destroy(*made);
    });
  });
}

struct MadeAtomic {
  explicit MadeAtomic(int first) : value(first) {}
  bool operator==(int wanted) const { return value.load(relaxed) == wanted; }
  Atomic<int> value;
};

TEST(Lifetime, BeginsBeforeTheFirstUse) {
  EXPECT_EQ(publish_made<Plain<int>>(release).verdict, Verdict::holds);
  EXPECT_EQ(publish_made<Plain<int>>(relaxed).verdict, Verdict::race);
  const auto report = publish_made<MadeAtomic>(release);
  EXPECT_EQ(report.verdict, Verdict::holds) << report.what << report.trace;
  EXPECT_EQ(publish_made<MadeAtomic>(relaxed).verdict, Verdict::race);
}

TEST(Lifetime, MustEnd) {
  const auto report = explore({}, [](Program& p) {
    auto& last = p.make<Atomic<int>>("last", 2);
    auto& shared = p.make<Note*>("shared", nullptr);
    p.thread("a", [&] {
      shared = &create<Note>("note");
      if (last.fetch_sub(1, acq_rel) == 1) destroy(*shared);
    });
    // Forgets that it may be the last.
    p.thread("b", [&] { last.fetch_sub(1, acq_rel); });
  });
  EXPECT_EQ(report.verdict, Verdict::leak);
  EXPECT_NE(report.what.find("note"), std::string::npos) << report.what;
}

TEST(Lifetime, OfACountedObjectEndsWithItsLastUser) {
  const auto count = [](std::memory_order order) {
    return explore({}, [=](Program& p) {
      auto& lent = p.make<Atomic<Note*>>("lent", nullptr);
      auto& last = p.make<Atomic<int>>("last", 2);
      const auto drop = [&, order](Note& note) {
        if (last.fetch_sub(1, order) == 1) destroy(note);
      };
      p.thread("a", [&, drop] {
        Note& note = create<Note>("note");
        lent.store(&note, release);
        (void)note.text;
        drop(note);
      });
      p.thread("b", [&, drop] {
        Note* note = nullptr;
        while ((note = lent.load(acquire)) == nullptr) pause();
        expect(note->text == 0, "it is there");
        drop(*note);
      });
    });
  };
  const auto report = count(acq_rel);
  EXPECT_EQ(report.verdict, Verdict::holds) << report.what << report.trace;
  EXPECT_EQ(count(release).verdict, Verdict::race);
  EXPECT_EQ(count(acquire).verdict, Verdict::race);
}

}  // namespace
}  // namespace weft::model
