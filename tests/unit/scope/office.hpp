// office.hpp: actors that keep a diary.
#pragma once

#include <gtest/gtest.h>

#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "support/spending.hpp"
#include <weft/weft.hpp>

namespace weft::test {

// What actors did, in order.
class Diary {
 public:
  void note(const std::string& what) {
    const std::lock_guard guard(mutex_);
    text_ += what;
  }
  std::string read() {
    const std::lock_guard guard(mutex_);
    return text_;
  }

 private:
  Mutex mutex_;
  std::string text_;
};

enum Order { kWork, kFail, kThrow, kLeave, kSpend, kTalk };

// Notes when it comes into being ("a+") and when it goes ("a-").
class Worker final {
 public:
  Worker(Diary& diary, std::string name) : diary_(&diary), name_(name) {
    diary.note(name_ + "+");
  }
  Worker(Worker&& other) noexcept
      : diary_(std::exchange(other.diary_, nullptr)), name_(other.name_) {}
  ~Worker() {
    if (diary_ != nullptr) diary_->note(name_ + "-");
  }
  Status handle(std::pair<Order, Future<int>*>& order) {
    switch (order.first) {
      case kFail:
        return Error::user(7);
      case kThrow:
        throw std::runtime_error("thrown");
      case kLeave:
        return Errc::closed;
      case kSpend:
        spend(60);
        break;
      case kTalk: {
        auto [sender, receiver] = make_channel<int>(1);
        WEFT_TRY(sender.send(1));
        WEFT_TRY(receiver.receive());
        break;
      }
      case kWork:
        break;
    }
    if (order.second != nullptr) order.second->set(++count_);
    return {};
  }

 private:
  Diary* diary_;
  std::string name_;
  int count_ = 0;
};

using Message = std::pair<Order, Future<int>*>;
using Address = ActorRef<Message>;

// A supervisor with three actors a, b, c.
class Office {
 public:
  explicit Office(const SupervisorOptions& options = {},
                  const ActorOptions& each = {})
      : supervisor(nursery, options) {
    for (int i = 0; i < 3; ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      auto how = each;
      how.name = name;
      actor[i] = supervisor.start<Message>(
          how, [this, name] { return Worker(diary, name); });
      EXPECT_EQ(ask(i, kWork), 1);  // it is there
    }
    EXPECT_EQ(diary.read(), "a+b+c+");
  }
  // How many orders it has done; 0: it did not.
  int ask(int who, Order what) {
    Future<int> done;
    if (!actor[who].send({what, &done})) return 0;
    return done.wait().value();
  }
  void tell(int who, Order what) {
    EXPECT_TRUE(actor[who].send({what, nullptr}));
  }
  void end() {
    nursery.cancel();
    EXPECT_TRUE(nursery.join());
  }

  Diary diary;
  NurseryIn<profile::Cluster> nursery;
  Supervisor supervisor;
  Address actor[3];
};

}  // namespace weft::test
