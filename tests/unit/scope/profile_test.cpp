// profile_test.cpp: what each profile permits.
#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>
#include <utility>

#include "support/runtime_test.hpp"
#include <weft/weft.hpp>

namespace weft {
namespace {

using profile::Asks;

class ProfileTest : public test::RuntimeTest {};

template <typename P>
Config config_in() {
  return {.workers = 1, .profile = P::kind};
}

// R-PROF-05: the matrix, as it is written and as it is.
TEST_F(ProfileTest, MatrixIsAsSpecified) {
  struct Row {
    Profile profile;
    bool scheduler, actors;
    Asks asks;
    Budget budget;
    std::uint32_t yield_interval;
  };
  const auto row = []<typename P>(P) -> Row {
    return {P::kind, P::has_scheduler, P::has_actors,
            P::asks, P::budget,        P::yield_interval};
  };
  const Row written[] = {row(profile::Service()), row(profile::Cluster()),
                         row(profile::Sovereign())};
  const Row specified[] = {
      {Profile::service, true, false, Asks::nobody, Budget::service(), 1024},
      {Profile::cluster, true, true, Asks::supervisor, Budget::cluster(), 512},
      {Profile::sovereign, true, false, Asks::capability, Budget(), 1024}};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(written[i].profile, specified[i].profile);
    EXPECT_EQ(written[i].scheduler, specified[i].scheduler);
    EXPECT_EQ(written[i].actors, specified[i].actors);
    EXPECT_EQ(written[i].asks, specified[i].asks);
    EXPECT_EQ(written[i].budget, specified[i].budget);
    EXPECT_EQ(written[i].yield_interval, specified[i].yield_interval);

    auto runtime = start({.workers = 1, .profile = written[i].profile});
    EXPECT_EQ(runtime.ref().config().profile, written[i].profile);
    EXPECT_EQ(runtime.ref().config().yield_interval, written[i].yield_interval);
    const auto plain = runtime.run([] {
      Nursery nursery;
      return nursery.try_spawn([] {}).has_value();
    });
    EXPECT_EQ(plain.value(), written[i].asks != Asks::capability);
  }
  static_assert(!profile::Core::has_scheduler && !profile::Core::has_actors);
  EXPECT_EQ(Runtime::start({.profile = Profile::core}).error(), Errc::invalid);
  auto chosen = start(
      {.workers = 1, .profile = Profile::sovereign, .yield_interval = 64});
  EXPECT_EQ(chosen.ref().config().yield_interval, 64u);
}

// R-PROF-02
TEST_F(ProfileTest, ServiceAsksForNothing) {
  auto runtime = start(config_in<profile::Service>());
  EXPECT_EQ(runtime
                .run([] {
                  NurseryIn<profile::Service> nursery;
                  auto child =
                      nursery.spawn([] { return this_fiber::ledger().left; });
                  EXPECT_EQ(child.join().value(), Budget::unlimited());
                  EXPECT_TRUE(nursery.join());
                  NurseryIn<profile::Service> limited(
                      {.budget = profile::Service::budget});
                  auto usual =
                      limited.spawn([] { return this_fiber::ledger().left; });
                  EXPECT_EQ(usual.join().value(), Budget::child());
                  EXPECT_TRUE(limited.join());
                  return 7;
                })
                .value(),
            7);
  EXPECT_EQ(runtime.ref().stats().audit.spawn.granted, 0u);
}

// R-PROF-04 R-CAP-01: code that knows no profile is held to it.
TEST_F(ProfileTest, SovereignDeniesWhatShowsNoAuthority) {
  auto runtime = start(config_in<profile::Sovereign>());
  const auto end = runtime.run([](Nursery& own) {  // the root fiber may run
    EXPECT_EQ(own.try_spawn([] {}).error(), Errc::denied);
    Nursery plain;
    EXPECT_EQ(plain.spawn([] {}).join().error(), Errc::denied);
    EXPECT_EQ(plain.join().error(), Errc::denied);
    EXPECT_EQ(plain.try_spawn([] {}).error(), Errc::denied);
    Nursery limited({.budget = Budget::service()});
    EXPECT_EQ(limited.try_spawn([] {}).error(), Errc::denied);
    Nursery root(this_fiber::runtime());
    EXPECT_EQ(root.try_spawn([] {}).error(), Errc::denied);
    NurseryIn<profile::Service> service;
    EXPECT_EQ(service.try_spawn([] {}).error(), Errc::denied);
    const auto inner = with_nursery([](Nursery& n) { n.spawn([] {}); });
    EXPECT_EQ(inner.error(), Errc::denied);
  });
  EXPECT_TRUE(end);
  Nursery outside(runtime);
  EXPECT_EQ(outside.try_spawn([] {}).error(), Errc::denied);
  EXPECT_EQ(runtime.ref().stats().audit.spawn.denied, 8u);
}

TEST_F(ProfileTest, SovereignSpawnsByAuthority) {
  auto runtime = start(config_in<profile::Sovereign>());
  auto [spawn, budget, channel, executor] = runtime.authority().value();
  NurseryIn<profile::Sovereign> outside(runtime, budget, Budget::service(),
                                        {.name = "box"});
  EXPECT_EQ(outside.name(), "box");
  auto answer = outside.spawn(
      spawn, [](int n) { return n + 1; }, 41);
  EXPECT_EQ(answer.join().value(), 42);
  EXPECT_TRUE(outside.join());
  EXPECT_EQ(outside.try_spawn(spawn, [] {}).error(), Errc::closed);
}

// The authority of a runtime works in every profile.
TEST_F(ProfileTest, SandboxRunsInAServiceRuntime) {
  auto runtime = start(config_in<profile::Service>());
  auto all = runtime.authority().value();
  auto one = all.spawn.narrow({1, Budget::unlimited()}).value();
  NurseryIn<profile::Sovereign> box(runtime, all.budget, Budget::service());
  EXPECT_TRUE(box.spawn(one, [] {}).join());
  EXPECT_TRUE(box.join());
}

TEST_F(ProfileTest, SovereignDeniesAChannelWithoutAuthority) {
  auto runtime = start(config_in<profile::Sovereign>());
  auto all = runtime.authority().value();
  const auto end = runtime.run([&] {
    auto [sender, receiver] = make_channel<int>(1);
    EXPECT_FALSE(sender);
    EXPECT_FALSE(receiver);
    EXPECT_TRUE(sender.closed());
    EXPECT_EQ(sender.send(1).error(), Errc::denied);
    EXPECT_EQ(sender.try_send(1).error(), Errc::denied);
    EXPECT_EQ(receiver.receive().error(), Errc::denied);
    EXPECT_EQ(receiver.try_receive().error(), Errc::denied);
    Error told{Errc{}};
    EXPECT_TRUE(select(
        on_receive(receiver, [&](Result<int> got) { told = got.error(); })));
    EXPECT_EQ(told, Errc::denied);
    EXPECT_TRUE(make_channel<int>(all.channel, 1));
  });
  EXPECT_TRUE(end);
  const auto audit = runtime.ref().stats().audit.channel;
  EXPECT_EQ(audit.denied, 1u);
  EXPECT_EQ(audit.granted, 1u);
  EXPECT_TRUE(make_channel<int>(1).sender) << "a plain thread is in no runtime";
}

}  // namespace
}  // namespace weft
