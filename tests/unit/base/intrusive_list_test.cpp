#include "base/intrusive_list.hpp"

#include <gtest/gtest.h>

namespace weft::base {
namespace {

struct Member : ListHook {};

TEST(IntrusiveList, StartsEmpty) {
  IntrusiveList<Member> list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.front(), nullptr);
  EXPECT_EQ(list.back(), nullptr);
  EXPECT_EQ(list.pop_front(), nullptr);
}

TEST(IntrusiveList, KeepsTheOrderOfItsEnds) {
  IntrusiveList<Member> list;
  Member a, b, c;
  list.push_back(b);
  list.push_back(c);
  list.push_front(a);
  EXPECT_EQ(list.front(), &a);
  EXPECT_EQ(list.back(), &c);
  EXPECT_EQ(list.pop_front(), &a);
  EXPECT_EQ(list.pop_front(), &b);
  EXPECT_EQ(list.pop_front(), &c);
  EXPECT_TRUE(list.empty());
}

TEST(IntrusiveList, RemovesFromAnyPlace) {
  IntrusiveList<Member> list;
  Member a, b, c;
  list.push_back(a);
  list.push_back(b);
  list.push_back(c);
  list.remove(b);
  EXPECT_EQ(list.front(), &a);
  EXPECT_EQ(list.back(), &c);
  list.remove(c);
  EXPECT_EQ(list.back(), &a);
  list.remove(a);
  EXPECT_TRUE(list.empty());
}

TEST(IntrusiveList, AMemberKnowsWhetherItIsIn) {
  IntrusiveList<Member> list;
  Member a;
  EXPECT_FALSE(IntrusiveList<Member>::contains_hook(a));
  list.push_back(a);
  EXPECT_TRUE(IntrusiveList<Member>::contains_hook(a));
  list.remove(a);
  EXPECT_FALSE(IntrusiveList<Member>::contains_hook(a));
  list.push_front(a);
  EXPECT_EQ(list.pop_front(), &a);
  EXPECT_FALSE(IntrusiveList<Member>::contains_hook(a));
}

}  // namespace
}  // namespace weft::base
