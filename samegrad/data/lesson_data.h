// The lesson's synthetic sequences: tokens 1..5 (0 would be padding), and for every token a label of 4 classes.
//
// Rule: label_t = (x_t + [x_{t-1} >= 4]) mod 4, with x_{-1} = 0. A model that sees only the token itself cannot know
// the label; one that sees its left neighbour can.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "samegrad/config/run_config.h"
#include "samegrad/data/sample.h"

namespace samegrad {

enum class LessonSplit : std::uint32_t { kTrain = 0, kValidation = 1, kTest = 2 };

inline constexpr LessonSplit kLessonSplits[] = {LessonSplit::kTrain, LessonSplit::kValidation, LessonSplit::kTest};

/// train | validation | test.
std::string_view lesson_split_name(LessonSplit split);

/// The sequences of one split, ids 0..n-1. Ids below n / 2 have lengths shortest..split (the plan's short pool), the
/// others split+1..longest (its long pool). Lengths and tokens are uniform and depend on (seed, split, id, position)
/// alone (Philox stream kLessonData, draws without bias). Requires 1 <= shortest <= split < longest. Local.
std::vector<Sample> generate_lesson_split(const DataConfig& config, std::int64_t seed, LessonSplit split);

/// The split as a .jsonl file: one line {"id","split","tokens","labels"} a sample. Local.
std::string lesson_jsonl(std::span<const Sample> samples, LessonSplit split);

}  // namespace samegrad
