// A training whose next window is built while this one computes: the bits, the place, the errors and the waits are
// those of one without.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "samegrad/comm/keeps_status.h"
#include "samegrad/comm/status_record.h"
#include "samegrad/plan/sampler_history.h"
#include "samegrad/train/trainer.h"
#include "tests/unit/comm/rank_threads.h"
#include "tests/unit/model/model_cases.h"
#include "tests/unit/train/watched_samples.h"

namespace samegrad {
namespace {

using testing::WatchedSamples;

constexpr std::int64_t kUpdates = 5;

/// Seven samples, windows of six: an epoch ends with every second update, with a partial window.
RunConfig small_config(std::int64_t prefetch) {
  RunConfig config;
  config.data.task = "text";
  config.data.prefetch = prefetch;
  config.model = decoder_config(/*width=*/16);
  config.model.layers = 1;
  config.model.dropout = 0.1;
  config.plan = {
      .updates = kUpdates, .virtual_ranks = 3, .accumulation = 1, .batch_size_per_rank = 2, .balance = "lpt"};
  config.objective.empty_window = "skip";
  return config;
}

std::vector<Sample> samples_of(const RunConfig& config) {
  return random_samples(config.model, {9, 4, 17, 6, 12, 5, 8});
}

Trainer make_trainer(const RunConfig& config, const std::shared_ptr<const SampleSource>& source, Communicator& comm,
                     TrainState state) {
  return {config, source, make_update_plan(config, *source), comm, "same", std::move(state)};
}

/// The next update of a run of kUpdates.
UpdateResult next_update(Trainer& trainer) {
  return trainer.train_update({.another_follows = trainer.state().update + 1 < kUpdates});
}

/// Rank 0's hash chain after each update: it holds samples, gradients and parameters.
std::vector<std::string> chain_on(int ranks, const RunConfig& config, const std::vector<Sample>& samples) {
  std::vector<std::string> chain;
  const auto errors = testing::run_ranks(ranks, [&](Communicator& comm) {
    Trainer trainer = make_trainer(config, std::make_shared<WatchedSamples>(samples), comm, initial_state(config));
    while (trainer.state().update < kUpdates) {
      const UpdateResult result = next_update(trainer);
      if (comm.rank() == 0) chain.push_back(result.hash_chain);
    }
  });
  EXPECT_EQ(errors, testing::nothing_thrown(ranks));
  return chain;
}

TEST(TrainingAhead, HasTheBitsOfOneWithoutOnAnyNumberOfRanksOverEpochsAndSkippedWindows) {
  std::vector<Sample> samples = samples_of(small_config(0));
  const WatchedSamples all(samples);
  const std::vector<Atom> partial = make_update_plan(small_config(0), all)->window(2).atoms;
  for (const Atom& atom : partial) {
    for (const std::int64_t id : atom) std::ranges::fill(samples[static_cast<std::size_t>(id)].targets, kIgnoreTarget);
  }
  const std::vector<std::string> expected = chain_on(1, small_config(0), samples);
  ASSERT_EQ(expected.size(), static_cast<std::size_t>(kUpdates));
  for (const int ranks : {1, 2, 3}) EXPECT_EQ(chain_on(ranks, small_config(1), samples), expected) << ranks;
  RunConfig other = small_config(1);
  other.seed += 1;
  EXPECT_NE(chain_on(1, other, samples), expected);
}

TEST(TrainingAhead, KeepsThePlaceOfTheWindowsConsumedNotOfTheOneBuilt) {
  const RunConfig config = small_config(1);
  const auto errors = testing::run_ranks(1, [&](Communicator& comm) {
    const auto source = std::make_shared<WatchedSamples>(samples_of(config));
    Trainer trainer = make_trainer(config, source, comm, initial_state(config));
    for (int i = 0; i < 2; ++i) next_update(trainer);
    source->wait_for_reads(7 + 6);  // the first epoch's, and those of window 3
    const std::unique_ptr<UpdatePlan> plan = make_update_plan(config, *source);
    std::vector<SamplerHistory> histories = initial_state(config).histories;
    for (const std::int64_t update : {1, 2}) {
      for (SamplerHistory& history : histories) append_window(history, plan->window(update), 1);
    }
    EXPECT_EQ(trainer.state().update, 2);
    EXPECT_EQ(trainer.state().histories, histories);
    for (SamplerHistory& history : histories) append_window(history, plan->window(3), 1);
    EXPECT_NE(trainer.state().histories, histories) << "the place of the window built";
  });
  EXPECT_EQ(errors, testing::nothing_thrown(1));
}

TEST(TrainingAhead, BuildsEachWindowOnceAndNonePastTheLast) {
  const RunConfig config = small_config(1);
  const auto errors = testing::run_ranks(1, [&](Communicator& comm) {
    const auto source = std::make_shared<WatchedSamples>(samples_of(config));
    std::vector<std::int64_t> seen;
    {
      Trainer trainer = make_trainer(config, source, comm, initial_state(config));
      const auto note = [&](const PlanWindow& window) {
        for (const Atom& atom : window.atoms) seen.insert(seen.end(), atom.begin(), atom.end());
      };
      for (std::int64_t update = 1; update <= 3; ++update) {  // as a run that stops at 3
        trainer.train_update({.another_follows = update < 3, .on_window = note});
      }
    }
    EXPECT_EQ(seen.size(), 7U + 6U);
    EXPECT_EQ(source->wait_for_reads(0), seen);
  });
  EXPECT_EQ(errors, testing::nothing_thrown(1));
}

TEST(TrainingAhead, TellsOfASampleThatCannotBeReadAtTheUpdateThatNeedsItOnAllRanks) {
  std::vector<std::string> told;
  for (const std::int64_t prefetch : {0, 1}) {
    const RunConfig config = small_config(prefetch);
    std::vector<std::int64_t> updates(2);
    const auto errors = testing::run_ranks(2, [&](Communicator& comm) {
      const auto source = std::make_shared<WatchedSamples>(samples_of(config));
      // The file of rank 1 alone: the second epoch begins with update 3, the sample is in the last of its atoms.
      Trainer trainer = make_trainer(config, source, comm, initial_state(config));
      std::int64_t& update = updates[static_cast<std::size_t>(comm.rank())];
      for (int i = 0; i < 2; ++i) {
        if (i == 1 && comm.rank() == 1) {
          source->make_faulty(make_update_plan(config, *source)->window(3).atoms.back().front());
        }
        next_update(trainer);
        update = trainer.state().update;
      }
      next_update(trainer);
    });
    EXPECT_EQ(updates, (std::vector<std::int64_t>{2, 2}));
    EXPECT_EQ(errors[0].find("[data] x.jsonl:"), 0U) << errors[0];
    EXPECT_EQ(errors[0], errors[1]);
    told.push_back(errors[0]);
  }
  EXPECT_EQ(told[0], told[1]);
}

TEST(TrainingAhead, StoppedInTheMiddleGoesOnWithTheSameBitsOnAnotherNumberOfRanks) {
  const RunConfig config = small_config(1);
  const std::vector<Sample> samples = samples_of(config);
  const std::vector<std::string> expected = chain_on(1, small_config(0), samples);
  std::optional<TrainState> stopped;
  EXPECT_EQ(testing::run_ranks(2,
                               [&](Communicator& comm) {
                                 Trainer trainer = make_trainer(config, std::make_shared<WatchedSamples>(samples), comm,
                                                                initial_state(config));
                                 for (int i = 0; i < 2; ++i) next_update(trainer);
                                 const bool mine = comm.rank() == 1;
                                 EXPECT_EQ(trainer.train_update({.stop = mine, .another_follows = true}).action,
                                           WindowAction::kStop);
                                 EXPECT_EQ(trainer.state().hash_chain, expected[1]);
                                 if (!mine) stopped.emplace(std::move(trainer.state()));
                               }),
            testing::nothing_thrown(2));
  ASSERT_TRUE(stopped);
  EXPECT_EQ(testing::run_ranks(1,
                               [&](Communicator& comm) {
                                 Trainer trainer = make_trainer(config, std::make_shared<WatchedSamples>(samples), comm,
                                                                std::move(*stopped));
                                 for (std::size_t i = 2; i < expected.size(); ++i) {
                                   EXPECT_EQ(next_update(trainer).hash_chain, expected[i]) << i;
                                 }
                               }),
            testing::nothing_thrown(1));
}

TEST(TrainingAhead, WhoseReadHangsComputesThisUpdateAndThenSaysThatItWaitsForTheDataOfTheNext) {
  const RunConfig config = small_config(1);
  const auto image = std::make_unique<StatusImage>();
  const auto errors = testing::run_ranks(1, [&](Communicator& comm) {
    const auto source = std::make_shared<WatchedSamples>(samples_of(config));
    dynamic_cast<KeepsStatus&>(comm).status().place_in_memory(*image);
    Trainer trainer = make_trainer(config, source, comm, initial_state(config));
    trainer.train_update({.another_follows = true, .on_window = [&](const PlanWindow&) { source->hang(true); }});
    EXPECT_EQ(trainer.state().update, 1);
    std::thread watcher([&] {
      const auto waits = [](const RankStatus& status) { return status.phase == "data" && status.update == 2; };
      while (!waits(read_status_image(*image, 0).status.value())) std::this_thread::yield();
      source->hang(false);
    });
    EXPECT_EQ(next_update(trainer).update, 2);
    watcher.join();
  });
  EXPECT_EQ(errors, testing::nothing_thrown(1));
}

}  // namespace
}  // namespace samegrad
