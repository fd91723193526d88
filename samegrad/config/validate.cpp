#include <algorithm>

#include "samegrad/base/error.h"
#include "samegrad/config/field_value.h"
#include "samegrad/config/load.h"

namespace samegrad {
namespace {

std::string text(std::int64_t number) { return std::to_string(number); }

void require(bool holds, const std::string& message) {
  if (!holds) {
    throw InputError("config", message);
  }
}

void check_plan(const RunConfig& config) {
  const PlanConfig& plan = config.plan;
  require(plan.updates > 0 || plan.epochs > 0, "plan.updates and plan.epochs: both 0; give one of them");
  require(plan.updates == 0 || plan.epochs == 0, "plan.updates and plan.epochs: " + text(plan.updates) + " and " +
                                                     text(plan.epochs) +
                                                     "; give one of them, the other follows from it");
  require(plan.epochs == 0 || config.data.task == "text",
          "plan.epochs: " + text(plan.epochs) + "; the lesson is counted in updates: set plan.updates");
  require(plan.updates == 0 || plan.stop_at <= plan.updates,
          "plan.stop_at: " + text(plan.stop_at) + " is past the last update; allowed: up to plan.updates = " +
              text(plan.updates) + ", or 0 (also --continuous) to train to the end");
  constexpr std::int64_t kMostAtoms = 1 << 20;
  require(plan.atoms_per_window() <= kMostAtoms,
          "plan: virtual_ranks x accumulation is " + text(plan.atoms_per_window()) + "; at most " + text(kMostAtoms));
}

void check_lesson(const RunConfig& config) {
  const DataConfig& data = config.data;
  const ModelConfig& model = config.model;
  require(data.train.empty() && data.validation.empty(),
          "data.train and data.validation: files are for data.task text, this is the lesson; use --config "
          "configs/text.yaml");
  require(model.kind == "encoder", "model.kind: '" + model.kind + "'; the lesson needs encoder");
  require(data.shortest <= data.split && data.split < data.longest,
          "data: shortest " + text(data.shortest) + ", split " + text(data.split) + ", longest " + text(data.longest) +
              "; needs shortest <= split < longest");
  require(model.positions >= data.longest,
          "model.positions: " + text(model.positions) + "; at least data.longest = " + text(data.longest));
  require(model.vocabulary >= 6, "model.vocabulary: " + text(model.vocabulary) + "; the lesson has tokens 0..5: 6");
  require(model.classes >= 4, "model.classes: " + text(model.classes) + "; the lesson has 4 labels: at least 4");
}

void check_text(const RunConfig& config) {
  const ModelConfig& model = config.model;
  require(!config.data.train.empty(), "data.train: nothing given; say which file: --set data.train=FILE");
  require(model.kind == "decoder", "model.kind: '" + model.kind + "'; data.task text needs decoder");
  require(model.vocabulary >= 256, "model.vocabulary: " + text(model.vocabulary) + "; text is bytes: at least 256");
}

/// What the data cannot give to the objective.
void check_objective_of_data(const RunConfig& config) {
  const ObjectiveConfig& objective = config.objective;
  require((objective.unit == "constant") == (objective.constant > 0),
          "objective.constant: " + text(objective.constant) + " with objective.unit " + objective.unit +
              "; unit constant divides by it and needs at least 1, the others count: leave it 0");
  require(objective.unit != "document" || config.data.task == "text",
          "objective.unit: document; the lesson's sequences belong to no documents: use sequence");
  require(objective.unit != "document" || config.data.txt != "stream" || !config.data.train.ends_with(".txt"),
          "objective.unit: document; data.txt=stream cuts one text into pieces and knows no documents: use "
          "data.txt=documents, or a .jsonl file with the field \"document\"");
  if (objective.class_weights.empty()) return;
  const auto given = static_cast<std::int64_t>(objective.class_weights.size());
  const bool lesson = config.data.task == "lesson";
  const std::int64_t classes = lesson ? config.model.classes : config.model.vocabulary;
  require(given == classes, "objective.class_weights: " + text(given) + " weights; needs one for each of the " +
                                text(classes) + (lesson ? " classes (model.classes)" : " tokens (model.vocabulary)"));
  require(std::any_of(objective.class_weights.begin(), objective.class_weights.end(), [](double w) { return w > 0.0; }),
          "objective.class_weights: all 0; at least one must be above 0");
  require(objective.unit == "token" || objective.unit == "constant",
          "objective.class_weights: with objective.unit " + objective.unit +
              " a unit's mean could be over its tokens or over their weights; leave them out, or use unit token or "
              "constant");
}

void check_model(const RunConfig& config) {
  require(config.model.width % config.model.heads == 0,
          "model.heads: " + text(config.model.heads) + " does not divide model.width = " + text(config.model.width));
  require(config.optimizer.kind == "sgd" || config.optimizer.momentum == 0,
          "optimizer.momentum: belongs to sgd; adamw has optimizer.beta1");
}

}  // namespace

void validate_config(const RunConfig& config) {
  for (const Field& field : config_fields()) {
    check_field(config, field, "");
  }
  check_plan(config);
  check_objective_of_data(config);
  check_model(config);
  if (config.data.task == "lesson") {
    check_lesson(config);
  } else {
    check_text(config);
  }
}

}  // namespace samegrad
