#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "samegrad/config/field_value.h"
#include "samegrad/config/fields.h"
#include "samegrad/config/load.h"
#include "tests/unit/config/refusal.h"

namespace samegrad {
namespace {

RunConfig text_config() {
  RunConfig config;
  config.data.task = "text";
  config.data.train = "some.jsonl";
  config.model.kind = "decoder";
  config.model.vocabulary = 256;
  return config;
}

std::string refused(const RunConfig& config) {
  return refusal([&] { validate_config(config); });
}

struct Case {
  const char* name;
  RunConfig good;
  void (*spoil)(RunConfig&);
  const char* reason;  ///< part of the message
};

class ValidateConfig : public ::testing::TestWithParam<Case> {};

TEST_P(ValidateConfig, RefusesWhatItAcceptedBefore) {
  RunConfig config = GetParam().good;
  EXPECT_NO_THROW(validate_config(config));
  GetParam().spoil(config);
  EXPECT_NE(refused(config).find(GetParam().reason), std::string::npos) << refused(config);
}

const Case kCases[] = {
    {"HeadsMustDivideWidth", RunConfig{}, [](RunConfig& c) { c.model.heads = 3; }, "model.heads: 3 does not divide"},
    {"UpdatesOrEpochs", RunConfig{}, [](RunConfig& c) { c.plan.updates = 0; },
     "plan.updates: 0 and plan.epochs: 0; nothing says how long to train"},
    {"NotBothUpdatesAndEpochs", text_config(), [](RunConfig& c) { c.plan.epochs = 1; }, "give one of them"},
    {"NoEpochsInTheLesson", RunConfig{}, [](RunConfig& c) { c.plan.updates = 0, c.plan.epochs = 1; }, "plan.epochs: 1"},
    {"StopAtWithinTheRun", RunConfig{}, [](RunConfig& c) { c.plan.stop_at = 101; }, "plan.stop_at: 101"},
    {"AtomsOfAWindow", RunConfig{}, [](RunConfig& c) { c.plan.virtual_ranks = c.plan.accumulation = 65536; },
     "plan.virtual_ranks: 65536 x plan.accumulation: 65536 is 4294967296"},
    {"CostsNeedABalance", RunConfig{}, [](RunConfig& c) { c.plan.cost_per_token_pair = 0.5; },
     "plan.cost_per_token_pair: 0.500000 with plan.balance: none; only lpt weighs samples"},
    {"LessonNeedsEncoder", RunConfig{}, [](RunConfig& c) { c.model.kind = "decoder"; }, "the lesson needs encoder"},
    {"LessonNeedsPositions", RunConfig{}, [](RunConfig& c) { c.model.positions = 127; }, "model.positions: 127"},
    {"LessonNeedsVocabulary", RunConfig{}, [](RunConfig& c) { c.model.vocabulary = 5; }, "model.vocabulary: 5"},
    {"LessonNeedsClasses", RunConfig{}, [](RunConfig& c) { c.model.classes = 3; }, "model.classes: 3"},
    {"LessonNeedsOrderedLengths", RunConfig{}, [](RunConfig& c) { c.data.split = 128; }, "shortest <= split < longest"},
    {"LessonHasNoFiles", RunConfig{}, [](RunConfig& c) { c.data.train = "a.txt"; }, "this is the lesson"},
    {"ConstantNeedsItsNumber", RunConfig{}, [](RunConfig& c) { c.objective.unit = "constant"; },
     "objective.constant: 0 with objective.unit: constant"},
    {"AConstantNeedsItsUnit", RunConfig{}, [](RunConfig& c) { c.objective.constant = 9; },
     "objective.constant: 9 with objective.unit: token"},
    {"TheLessonHasNoDocuments", RunConfig{}, [](RunConfig& c) { c.objective.unit = "document"; }, "use sequence"},
    {"AStreamHasNoDocuments", text_config(),
     [](RunConfig& c) { c.objective.unit = "document", c.data.train = "a.txt", c.data.txt = "stream"; },
     "knows no documents"},
    {"AWeightForEachClass", RunConfig{},
     [](RunConfig& c) {
       c.objective.class_weights = {1, 2, 3};
     },
     "3 weights; needs one for each of the 4 classes"},
    {"AWeightForEachToken", text_config(),
     [](RunConfig& c) {
       c.objective.class_weights = {1, 2, 3};
     },
     "3 weights; needs one for each of the 256 tokens"},
    {"ClassWeightsNotAllZero", RunConfig{},
     [](RunConfig& c) {
       c.objective.class_weights = {0, 0, 0, 0};
     },
     "all 0"},
    {"ClassWeightsInASequencesMean", RunConfig{},
     [](RunConfig& c) {
       c.objective.class_weights = {1, 2, 3, 4}, c.objective.unit = "sequence";
     },
     "with objective.unit: sequence"},
    {"TextNeedsAFile", text_config(), [](RunConfig& c) { c.data.train = ""; }, "--set data.train=FILE"},
    {"TextNeedsDecoder", text_config(), [](RunConfig& c) { c.model.kind = "encoder"; }, "needs decoder"},
    {"TextNeedsAllBytes", text_config(), [](RunConfig& c) { c.model.vocabulary = 255; }, "at least 256"},
    {"DropoutBelowOne", RunConfig{}, [](RunConfig& c) { c.model.dropout = 1.0; },
     "model.dropout: 1.0 is out of range; allowed: a number, at least 0 and less than 1"},
    {"DropoutNotNegative", RunConfig{}, [](RunConfig& c) { c.model.dropout = -0.1; }, "model.dropout"},
    {"NumbersAreFinite", RunConfig{}, [](RunConfig& c) { c.optimizer.learning_rate = 0.0 / 0.0; }, "is not finite"},
    {"FiniteAndTooLarge", RunConfig{}, [](RunConfig& c) { c.optimizer.learning_rate = 1e32; },
     "optimizer.learning_rate: 1e+32 is out of range; allowed: a number, at least 0 and at most 1e+30"},
    {"MomentumBelongsToSgd", RunConfig{}, [](RunConfig& c) { c.optimizer.kind = "adamw", c.optimizer.momentum = 0.9; },
     "optimizer.momentum"},
    {"BatchIsPositive", RunConfig{}, [](RunConfig& c) { c.plan.batch_size_per_rank = 0; }, "plan.batch_size_per_rank"},
    {"SeedIsNotNegative", RunConfig{}, [](RunConfig& c) { c.seed = -1; }, "seed: -1"},
};

INSTANTIATE_TEST_SUITE_P(Combinations, ValidateConfig, ::testing::ValuesIn(kCases),
                         [](const auto& tested) { return tested.param.name; });

TEST(ConfigFields, EachRangesEndsAreInItsRefusal) {
  int ranges = 0;
  for (const Field& field : config_fields()) {
    std::ostringstream least, most;
    std::vector<std::string> outside;
    if (const auto* const whole = std::get_if<IntegerLimits>(&field.limits)) {
      least << whole->least, most << whole->most;
      outside = {std::to_string(whole->least - 1), std::to_string(whole->most + 1)};
    } else if (const auto* const number = std::get_if<NumberLimits>(&field.limits)) {
      least << number->least, most << number->most;
      outside = {"-0.5", std::to_string(2 * number->most)};
    }
    for (const std::string& value : outside) {
      RunConfig config;
      const std::string line =
          refusal([&] { set_field_from_text(config, field, value, {.name = field.key, .given = value, .where = {}}); });
      const std::string allowed = line.substr(std::min(line.find("allowed: "), line.size()));
      EXPECT_NE(allowed.find(" " + least.str()), std::string::npos) << line;
      EXPECT_NE(allowed.find(" " + most.str()), std::string::npos) << line;
      ++ranges;
    }
  }
  EXPECT_GT(ranges, 60);
}

}  // namespace
}  // namespace samegrad
