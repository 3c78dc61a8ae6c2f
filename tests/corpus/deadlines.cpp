// deadlines.cpp: bugs of what deadlines and cancels leave half done.

#include "corpus/corpus.hpp"
#include "corpus/primitives.hpp"
#include <weft/weft.hpp>

namespace weft::corpus {

namespace {

using testing::point;
using namespace std::chrono_literals;

template <bool Fixed>
void deadline_drops_item(Simulation& sim) {
  Queue queue;
  std::size_t used = 0;
  Nursery nursery;
  nursery.spawn([&] {
    int item = 0;
    const auto deadline = Deadline::after(1ms);
    const Status popped = queue.pop(item, deadline);
    if (Fixed ? !popped : deadline.expired()) return;
    ++used;
  });
  nursery.spawn([&] { queue.push(1); });
  (void)nursery.join();
  sim.check(used + queue.size() == 1, "the item is used, or still there");
}

template <bool Fixed>
void cancel_drops_item(Simulation& sim) {
  Queue queue;
  std::size_t used = 0;
  Nursery nursery;
  nursery.spawn([&] {
    int item = 0;
    if (Fixed && !this_fiber::checkpoint()) return;
    if (!queue.pop(item)) return;
    if (!Fixed && !this_fiber::checkpoint()) return;
    ++used;
  });
  nursery.spawn([&] { queue.push(1); });
  (void)nursery.join();
  sim.check(used + queue.size() == 1, "the item is used, or still there");
}

template <bool Fixed>
void cancel_keeps_permit(Simulation&) {
  Semaphore permits(1);
  const auto work = [&] {
    if (!permits.acquire()) return;
    const Status slept = this_fiber::sleep_for(1ms);
    if (!Fixed && !slept) return;
    permits.release();
  };
  Nursery nursery;
  nursery.spawn(work);
  nursery.spawn(work);
  (void)nursery.join();
}

// A lock that a cancelled fiber asks for is not taken.
template <bool Fixed>
void ignored_refusal(Simulation& sim) {
  Mutex mutex;
  int count = 0;
  int entered = 0;
  const auto work = [&] {
    const Status locked = mutex.lock();
    if (Fixed && !locked) return;
    ++entered;
    const int seen = count;
    point();
    count = seen + 1;
    mutex.unlock();
  };
  Nursery nursery;
  nursery.spawn(work);
  nursery.spawn(work);
  (void)nursery.join();
  sim.check(count == entered, "all count");
}

template <bool Fixed>
void late_reply(Simulation& sim) {
  Queue requests;
  Queue replies;
  Nursery nursery;
  nursery.spawn([&] {
    for (int request = 0; requests.pop(request);) replies.push(request);
  });
  nursery.spawn([&] {
    for (int request = 1; request <= 2; ++request) {
      requests.push(request);
      const auto deadline = Deadline::after(1ms);
      int reply = 0;
      Status replied = replies.pop(reply, deadline);
      while (Fixed && replied && reply != request) {
        replied = replies.pop(reply, deadline);
      }
      sim.check(!replied || reply == request, "the reply is to this request");
    }
    requests.close();
  });
  (void)nursery.join();
}

template <bool Fixed>
void retry_charges_twice(Simulation& sim) {
  Queue orders;
  Event paid;
  int charged = 0;
  Nursery nursery;
  nursery.spawn([&] {
    int last = 0;
    for (int order = 0; orders.pop(order);) {
      if (Fixed && order == last) continue;
      last = order;
      ++charged;
      paid.set();
    }
  });
  nursery.spawn([&] {
    orders.push(7);
    if (!paid.wait(Deadline::after(1ms))) orders.push(7);
    (void)paid.wait();
    orders.close();
  });
  (void)nursery.join();
  sim.check(charged == 1, "it is charged once");
}

// The store takes writes of who held the lease last, and of nobody before.
template <bool Fixed>
void lease_runs_out(Simulation& sim) {
  Mutex store;
  int newest = 0;
  const auto write = [&](int lease) {
    Hold hold(store);
    if (Fixed && lease < newest) return;
    sim.check(lease > newest, "no older write comes after it");
    newest = lease;
  };
  Nursery nursery;
  const auto end_of_first = Deadline::after(1ms);
  nursery.spawn([&] {
    if (end_of_first.expired()) return;
    point();  // and now it may have expired
    write(1);
  });
  nursery.spawn([&] {
    (void)this_fiber::sleep_until(end_of_first);
    write(2);
  });
  (void)nursery.join();
}

}  // namespace

std::vector<Bug> deadline_bugs() {
  const testing::ExploreOptions cancels{
      .faults = {Fault::cancel_at_checkpoint}};
  const testing::ExploreOptions late{.faults = {Fault::time_passes}};
  return {
      {"deadline_drops_item",
       "An item that comes with the deadline is taken and dropped.",
       Verdict::assertion, deadline_drops_item<false>,
       deadline_drops_item<true>, late},
      {"cancel_drops_item", "A cancel after the item was taken drops it.",
       Verdict::assertion, cancel_drops_item<false>, cancel_drops_item<true>,
       cancels},
      {"cancel_keeps_permit",
       "A cancelled fiber ends without giving back its permit.",
       Verdict::deadlock, cancel_keeps_permit<false>, cancel_keeps_permit<true>,
       cancels},
      {"ignored_refusal",
       "A cancelled fiber does not get the lock and goes on without it.",
       Verdict::assertion, ignored_refusal<false>, ignored_refusal<true>,
       cancels},
      {"late_reply", "A reply after its deadline is taken for the next one.",
       Verdict::assertion, late_reply<false>, late_reply<true>, late},
      {"retry_charges_twice",
       "What seems lost is sent again, and both are carried out.",
       Verdict::assertion, retry_charges_twice<false>,
       retry_charges_twice<true>, late},
      {"lease_runs_out",
       "A holder goes on after its lease has ended, over the next one's work.",
       Verdict::assertion, lease_runs_out<false>, lease_runs_out<true>, late},
  };
}

}  // namespace weft::corpus
