#include "checker/explorer.hpp"

#include <chrono>
#include <cstring>
#include <utility>

#include "base/check.hpp"
#include "checker/printer.hpp"

namespace weft::model {

const char* to_string(Verdict verdict) noexcept {
  constexpr const char* kNames[] = {
      "holds", "failed", "race", "deadlock", "leak", "too long", "incomplete"};
  return kNames[static_cast<std::size_t>(verdict)];
}

Report explore(const Options& options,
               const std::function<void(Program&)>& build) {
  auto explorer = std::make_unique<Explorer>(options, build);
  return explorer->explore();
}

Report Explorer::explore() {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start)
        .count();
  };
  if (!options_.replay.empty()) choices_.parse(options_.replay);
  do {
    choices_.restart();
    run();
    if (report_.verdict != Verdict::holds || !options_.replay.empty()) break;
    if (limits_reached(seconds())) {
      if (choices_.next()) report_.verdict = Verdict::incomplete;
      break;
    }
  } while (choices_.next());
  if (!options_.replay.empty()) report_.fits = choices_.fits();
  report_.seconds = seconds();
  return report_;
}

// One execution.
void Explorer::run() {
  Program program;
  program_ = &program;
  build_(program);
  graph_.clear();
  races_.clear();
  lifetimes_.clear();
  sleepers_.clear();
  steps_.clear();
  preemptions_ = spurious_ = barriers_ = 0;
  ended_ = dropped_ = false;
  last_ = -1;
  count_ = program.threads_.size();
  report_.threads = count_;
  WEFT_CHECK(count_ < kMaxThreads,
             "a model of %zu threads: the checker takes %zu at most, since "
             "executions multiply; ask the same with fewer",
             count_, kMaxThreads - 1);

  base::set_model_seam(this);
  run_threads();
  if (!ended_ && program.finally_) run_finally();
  if (const auto* left = ended_ ? nullptr : lifetimes_.left()) {
    end(Verdict::leak, "nobody ended " + left->name);
  }
  base::set_model_seam(nullptr);

  report_.steps = std::max<std::uint64_t>(report_.steps, steps_.size());
  ++(dropped_ ? report_.dropped : report_.executions);
  const bool wanted = report_.verdict != Verdict::holds && !dropped_;
  if (wanted || !options_.replay.empty()) {
    report_.replay = choices_.text();
    report_.trace = Printer(program, graph_).print(steps_);
  }
  program_ = nullptr;
}

void Explorer::run_threads() {
  for (std::size_t i = 0; i < count_; ++i) {
    Thread& thread = threads_[i];
    thread.pending = {};
    thread.carrier = nullptr;
    thread.since = 0;
    thread.woken = false;
    thread.answered = 0;
    thread.barrier = kNoEvent;
    thread.let_others_at = kNoEvent;
    thread.history.clear();
    thread.cycle.clear();
    thread.floor_location = -1;
    thread.late.reset();
    thread.stale.clear();
    thread.strand.start(program_->threads_[i].body);
  }
  for (std::size_t i = 0; i < count_ && !ended_; ++i) {
    resume(static_cast<int>(i));
  }
  while (!ended_) {
    if (steps_.size() > static_cast<std::size_t>(options_.max_steps) ||
        graph_.is_full()) {
      end(Verdict::too_long, "an execution without an end");
    } else if (!take_immediate() && !take_read()) {
      break;
    }
  }
  for (std::size_t i = 0; i < count_ && !ended_; ++i) {
    if (!threads_[i].strand.done()) report_stuck();
  }
}

void Explorer::run_finally() {
  const int id = static_cast<int>(count_);
  Thread& thread = threads_[count_];
  thread.history.clear();
  thread.cycle.clear();
  thread.floor_location = -1;
  thread.since = 0;
  thread.carrier = nullptr;
  graph_.join_all(id);
  thread.strand.start(program_->finally_);
  ++count_;
  resume(id);
  while (!ended_ && (take_immediate() || take_read())) {
  }
  if (!ended_ && !thread.strand.done()) report_stuck();
}

void Explorer::resume(int id) {
  current_ = id;
  Thread& thread = threads_[static_cast<std::size_t>(id)];
  thread.pending.what = What::none;
  auto* const mine = std::exchange(weft_tls_carrier, thread.carrier);
  thread.strand.resume();
  thread.carrier = std::exchange(weft_tls_carrier, mine);
  current_ = -1;
  if (thread.strand.done() && thread.late && !ended_) {  // nothing came after
    thread.pending = *thread.late;
    thread.late.reset();
    perform_store(id);
  }
}

bool Explorer::can_go_on(const Thread& thread) const {
  switch (thread.pending.what) {
    case What::store:
      return true;
    case What::sleep:
      return thread.woken;
    case What::spin:
      for (const Read& read : thread.cycle) {
        if (graph_.latest(read.location) != read.store) return true;
      }
      return false;
    default:
      return false;
  }
}

// X1: what waits for nobody, or waits no longer.
bool Explorer::take_immediate() {
  for (std::size_t i = 0; i < count_; ++i) {
    Thread& thread = threads_[i];
    const int id = static_cast<int>(i);
    const bool may_end = !thread.strand.done() &&
                         thread.pending.what == What::barrier &&
                         barrier_may_end(id);
    if (!may_end && (thread.strand.done() || !can_go_on(thread))) continue;
    if (thread.pending.what == What::store) perform_store(id);
    resume(id);
    return true;
  }
  return false;
}

void Explorer::perform_store(int id) {
  const auto& pending = threads_[static_cast<std::size_t>(id)].pending;
  const auto& stores = graph_.location(pending.access.location).stores;
  const auto floor =
      static_cast<std::size_t>(graph_.floor(id, pending.access.location));
  auto& options = option_buffer_;
  options.clear();
  for (auto i = stores.size(); i-- > floor;) {
    if (graph_.may_follow(pending.access, stores[i])) {
      options.push_back({stores[i], false});
    }
  }
  const int pick = choices_.choose(static_cast<int>(options.size()));
  const int event = graph_.add_store(
      pending.access, options[static_cast<std::size_t>(pick)].store,
      pending.operand);
  const auto& location = graph_.location(pending.access.location);
  if (location.stores.back() == event) {
    std::memcpy(const_cast<void*>(location.address), &pending.operand,
                location.size);
  }
  steps_.push_back({.thread = id, .event = event});
}

bool Explorer::too_stale(const Thread& thread, int location, int store) const {
  if (options_.stale_reads == 0 || store == graph_.latest(location)) {
    return false;
  }
  const auto found = thread.stale.find(location);
  return found != thread.stale.end() && found->second.first == store &&
         found->second.second >= options_.stale_reads;
}

// What a pending read may read now, the latest store first.
std::vector<Explorer::Option>& Explorer::options_of(int id) {
  const Thread& thread = threads_[static_cast<std::size_t>(id)];
  const Pending& pending = thread.pending;
  const int location = pending.access.location;
  const auto& stores = graph_.location(location).stores;
  auto floor = static_cast<std::size_t>(graph_.floor(id, location));
  if (thread.floor_location == location) {
    const auto later =
        static_cast<std::size_t>(graph_.event(thread.floor_store).position + 1);
    floor = std::max(floor, later);
  }
  auto on_failure = pending.access;
  on_failure.order = pending.failure;
  auto& options = option_buffer_;
  options.clear();
  for (auto i = stores.size(); i-- > floor;) {
    const int store = stores[i];
    if (store < thread.since || too_stale(thread, location, store)) continue;
    const bool compares = pending.what == What::compare;
    const bool equal =
        compares && graph_.event(store).written == pending.expected;
    if (compares && !equal) {
      if (graph_.may_read(on_failure, store, false)) {
        options.push_back({store, false});
      }
      continue;
    }
    const bool writes = !pending.skip && pending.what != What::load;
    if (graph_.may_read(pending.access, store, writes)) {
      options.push_back({store, false});
    }
    if (compares && pending.weak && spurious_ < options_.spurious_failures &&
        graph_.may_read(on_failure, store, false)) {
      options.push_back({store, true});
    }
  }
  return options;
}

// X2. False: nobody can go on.
bool Explorer::take_read() {
  std::array<int, kMaxThreads> ready{};
  int count = 0;
  bool passed_over = false;
  const auto look_at = [&](int id) {
    const Thread& thread = threads_[static_cast<std::size_t>(id)];
    const auto what = thread.pending.what;
    if (thread.strand.done() ||
        (what != What::load && what != What::change && what != What::compare)) {
      return;
    }
    if (thread.pending.answers && !is_wanted(id)) {
      passed_over = true;  // nobody asks: it had better not stop here
      return;
    }
    if (options_of(id).empty()) {
      passed_over = true;
    } else {
      ready[static_cast<std::size_t>(count++)] = id;
    }
  };
  // Who went last comes first, so that the first path switches least.
  if (last_ >= 0) look_at(last_);
  const bool could_stay = count > 0;
  for (int id = 0; id < static_cast<int>(count_); ++id) {
    if (id != last_) look_at(id);
  }
  if (count == 0) {
    if (passed_over) ended_ = dropped_ = true;
    return false;
  }
  const bool bound = options_.preemptions != 0 && could_stay &&
                     preemptions_ >= options_.preemptions;
  const int pick = choices_.choose(bound ? 1 : count);
  if (could_stay && pick != 0) ++preemptions_;
  for (int i = 0; i < pick; ++i) {
    const auto other = ready[static_cast<std::size_t>(i)];
    threads_[static_cast<std::size_t>(other)].since = graph_.size();
  }
  const int id = ready[static_cast<std::size_t>(pick)];
  const auto& options = options_of(id);
  const int which = choices_.choose(static_cast<int>(options.size()));
  perform_read(id, options[static_cast<std::size_t>(which)]);
  last_ = id;
  resume(id);
  return true;
}

namespace {

std::uint64_t changed(base::Change change, std::uint64_t was,
                      std::uint64_t operand, std::size_t size) {
  std::uint64_t result = operand;
  switch (change) {
    case base::Change::exchange:
      break;
    case base::Change::add:
      result = was + operand;
      break;
    case base::Change::sub:
      result = was - operand;
      break;
    case base::Change::bit_or:
      result = was | operand;
      break;
    case base::Change::bit_and:
      result = was & operand;
      break;
  }
  return size == 8 ? result : result & ((std::uint64_t{1} << (size * 8)) - 1);
}

}  // namespace

void Explorer::perform_read(int id, Option option) {
  Thread& thread = threads_[static_cast<std::size_t>(id)];
  Pending& pending = thread.pending;
  auto access = pending.access;
  const auto was = graph_.event(option.store).written;
  const auto& location = graph_.location(access.location);
  pending.result = was;
  thread.since = 0;
  if (options_.stale_reads != 0) {
    auto& [store, times] = thread.stale[access.location];
    times = store == option.store ? times + 1 : 1;
    store = option.store;
  }
  if (thread.floor_location == access.location) thread.floor_location = -1;
  bool writes = pending.what == What::change;
  if (pending.what == What::compare) {
    writes = was == pending.expected && !option.spurious;
    pending.success = writes;
    if (!writes) access.order = pending.failure;
    if (option.spurious) ++spurious_;
  }
  int event = kNoEvent;
  if (writes && !pending.skip) {
    const auto bits =
        pending.what == What::compare
            ? pending.operand
            : changed(pending.change, was, pending.operand, location.size);
    event = graph_.add_rmw(access, option.store, bits);
    if (graph_.latest(access.location) == event && location.size != 0) {
      std::memcpy(const_cast<void*>(location.address), &bits, location.size);
    }
    thread.history.clear();
    thread.cycle.clear();
  } else {
    event = graph_.add_load(access, option.store);
  }
  if (option.spurious) {  // it tries again, and does not wait
    thread.history.clear();
    thread.cycle.clear();
  }
  const Site& site = access.site;
  thread.history.push_back({access.location, writes ? event : option.store,
                            site.file_name(), site.line(), site.column()});
  steps_.push_back({.thread = id, .event = event});
}

void Explorer::end(Verdict verdict, std::string what) {
  ended_ = true;
  report_.verdict = verdict;
  report_.what = std::move(what);
}

void Explorer::report_stuck() {
  std::string who;
  for (std::size_t i = 0; i < count_; ++i) {
    if (threads_[i].strand.done()) continue;
    const bool sleeps = threads_[i].pending.what == What::sleep;
    // It let others go first, or its deadline comes: another execution.
    if (threads_[i].pending.what == What::barrier ||
        (sleeps && threads_[i].sleeps_until)) {
      ended_ = dropped_ = true;
      return;
    }
    if (!who.empty()) who += ", ";
    who += i < program_->threads_.size() ? program_->threads_[i].name
                                         : std::string("finally");
    who += sleeps ? " sleeps" : " waits for a change";
  }
  end(Verdict::deadlock, "nobody can go on: " + who);
}

}  // namespace weft::model
