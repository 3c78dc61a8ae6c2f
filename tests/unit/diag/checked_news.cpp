#include "unit/diag/checked_news.hpp"

namespace weft::test {

namespace {

struct Item {
  int value = 0;
};

}  // namespace

struct CheckedNews::Parts {
  Broadcast<Item> news;
  Subscription<Item> first = news.subscribe();
  Subscription<Item> second = news.subscribe();
};

CheckedNews::CheckedNews(std::size_t capacity, OnFull on_full)
    : parts_(new Parts{.news = Broadcast<Item>(capacity, on_full)}) {}
CheckedNews::~CheckedNews() = default;
bool CheckedNews::send(Deadline deadline) {
  return parts_->news.send(Item{1}, deadline).has_value();
}
bool CheckedNews::receive() { return parts_->first.receive().has_value(); }
bool CheckedNews::try_receive() {
  return parts_->second.try_receive().has_value();
}
void CheckedNews::leave() { parts_->first = {}; }
void CheckedNews::close() { parts_->news.close(); }
bool CheckedNews::closed() { return parts_->news.closed(); }

struct CheckedWatch::Parts {
  Watch<Item> watch{Item{0}};
};

CheckedWatch::CheckedWatch() : parts_(new Parts()) {}
CheckedWatch::~CheckedWatch() = default;
void CheckedWatch::set() { parts_->watch.set(Item{1}); }
bool CheckedWatch::changed() {
  std::uint64_t seen = 1;
  return parts_->watch.changed(seen).has_value();
}
void CheckedWatch::close() { parts_->watch.close(); }
bool CheckedWatch::closed() { return parts_->watch.closed(); }
std::uint64_t CheckedWatch::version() { return parts_->watch.version(); }

}  // namespace weft::test
