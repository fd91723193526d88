#include "samegrad/report/run_record.h"

#include <gtest/gtest.h>

#include <fstream>

#include "samegrad/base/error.h"
#include "samegrad/base/json.h"
#include "tests/unit/base/temporary_folder.h"

namespace samegrad {
namespace {

std::string hash(char digit) { return std::string(32, digit); }

Json line(const std::string& run_id, const std::string& kind, std::int64_t update) {
  return {{"run_id", run_id},
          {"kind", kind},
          {"update", update},
          {"action", "train"},
          {"supervised_tokens", 48},
          {"loss_sum", 120.0},
          {"gradient_norm", 1.5},
          {"learning_rate", 0.1},
          {"clip_factor", 1.0},
          {"gradient_xxh3", hash('a')},
          {"parameters_xxh3", hash('b')},
          {"hash_chain", hash('c')}};
}

class RunRecord : public TemporaryFolder {
 protected:
  std::filesystem::path write_lines(const std::vector<Json>& lines) {
    std::filesystem::path path = folder_ / "metrics.jsonl";
    std::ofstream out(path);
    for (const Json& each : lines) out << each.dump() << "\n";
    return path;
  }

  std::string refusal(const std::vector<Json>& lines, const std::string& kind = "") {
    try {
      read_run_record(write_lines(lines), kind);
    } catch (const InputError& error) {
      return error.what();
    }
    return "nothing was thrown";
  }
};

TEST_F(RunRecord, IsTheRunOfTheLastLineWithAllItsKinds) {
  const RecordedRun run = read_run_record(write_lines({line("one", "continuous", 1), line("two", "stopped", 1),
                                                       line("one", "continuous", 2), line("two", "resumed", 2)}),
                                          "");
  EXPECT_EQ(run.run_id, "two");
  EXPECT_EQ(run.kinds, (std::vector<std::string>{"stopped", "resumed"}));
  EXPECT_EQ(run.first(), 1);
  EXPECT_EQ(run.last(), 2);
  EXPECT_EQ(run.updates.at(1).supervised_tokens, 48);
  EXPECT_EQ(run.updates.at(2).parameters_hash, hash('b'));
}

TEST_F(RunRecord, AKindChoosesTheLastRunThatHasIt) {
  const auto lines = {line("one", "continuous", 1), line("two", "stopped", 1), line("two", "resumed", 2)};
  EXPECT_EQ(read_run_record(write_lines(lines), "continuous").run_id, "one");
  EXPECT_EQ(read_run_record(write_lines(lines), "stopped").run_id, "two");
  EXPECT_NE(refusal({line("one", "stopped", 1)}, "resumed").find("no line of a run of kind 'resumed'"),
            std::string::npos);
}

TEST_F(RunRecord, ALineThatATrainingDoesNotWriteIsRefusedByNumberAndReason) {
  const auto refused = [&](const char* member, const Json& value) {
    Json second = line("one", "continuous", 2);
    second[member] = value;
    const std::string text = refusal({line("one", "continuous", 1), second});
    EXPECT_NE(text.find("metrics.jsonl:2: "), std::string::npos) << member << " " << value << ": " << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
  };
  refused("update", "2");
  refused("update", 0);
  refused("update", 1.5);
  refused("update", 1);  // twice
  refused("kind", 3);
  refused("action", "dance");
  refused("supervised_tokens", -1);
  refused("supervised_tokens", 1e300);
  refused("loss_sum", "much");
  refused("gradient_xxh3", "");
  refused("parameters_xxh3", hash('g'));
  refused("parameters_xxh3", 17);
  refused("hash_chain", nullptr);
  Json without = line("one", "continuous", 2);
  without.erase("learning_rate");
  EXPECT_NE(refusal({line("one", "continuous", 1), without}).find("metrics.jsonl:2: "), std::string::npos);
}

TEST_F(RunRecord, AnUpdateThatIsMissingBetweenOthersIsNamed) {
  EXPECT_NE(
      refusal({line("one", "continuous", 5), line("one", "continuous", 7)}).find("update 6 of run one is missing"),
      std::string::npos);
}

TEST_F(RunRecord, ASkippedWindowHasNoGradient) {
  Json skipped = line("one", "continuous", 1);
  skipped["action"] = "skip";
  skipped["gradient_xxh3"] = "";
  EXPECT_EQ(read_run_record(write_lines({skipped}), "").updates.at(1).gradient_hash, "");
}

TEST_F(RunRecord, TheFirstUpdateThatDiffersIsFoundWithItsCauseFirst) {
  RecordedRun a = read_run_record(
      write_lines({line("one", "stopped", 3), line("one", "stopped", 4), line("one", "stopped", 5)}), "");
  EXPECT_EQ(compare_records(a, a).differing_update, 0);
  RecordedRun b = a;
  b.updates.erase(3);
  b.updates[6] = b.updates[5];
  EXPECT_EQ(compare_records(a, b).first, 4);
  EXPECT_EQ(compare_records(a, b).last, 5);
  EXPECT_EQ(compare_records(a, b).differing_update, 0);
  b.updates[5].parameters_hash = hash('d');
  b.updates[5].loss_sum = -a.updates[5].loss_sum;
  const RecordComparison comparison = compare_records(a, b);
  EXPECT_EQ(comparison.differing_update, 5);
  ASSERT_EQ(comparison.differences.size(), 2U);
  EXPECT_EQ(comparison.differences[0].what, "loss sum");
  EXPECT_EQ(comparison.differences[1].what, "parameters");
  EXPECT_EQ(comparison.differences[1].a, hash('b'));
  EXPECT_EQ(comparison.differences[1].b, hash('d'));
}

TEST_F(RunRecord, EveryRecordedValueIsCompared) {
  const RecordedUpdate before = read_run_record(write_lines({line("one", "stopped", 1)}), "").updates.at(1);
  EXPECT_TRUE(record_differences(before, before).empty());
  const auto differs = [&](std::string_view what, const auto& change) {
    RecordedUpdate after = before;
    change(after);
    const std::vector<RecordDifference> differences = record_differences(before, after);
    ASSERT_EQ(differences.size(), 1U) << what;
    EXPECT_EQ(differences[0].what, what);
  };
  differs("action", [](RecordedUpdate& update) { update.action = "skip"; });
  differs("supervised tokens", [](RecordedUpdate& update) { ++update.supervised_tokens; });
  differs("loss divisor", [](RecordedUpdate& update) { update.loss_divisor += 1; });
  differs("loss sum", [](RecordedUpdate& update) { update.loss_sum += 1; });
  differs("gradient", [](RecordedUpdate& update) { update.gradient_hash = hash('0'); });
  differs("gradient norm", [](RecordedUpdate& update) { update.gradient_norm = 0; });
  differs("learning rate", [](RecordedUpdate& update) { update.learning_rate = 0.2; });
  differs("clip factor", [](RecordedUpdate& update) { update.clip_factor = 0.5; });
  differs("parameters", [](RecordedUpdate& update) { update.parameters_hash = hash('0'); });
  differs("hash chain", [](RecordedUpdate& update) { update.hash_chain = hash('0'); });
}

}  // namespace
}  // namespace samegrad
