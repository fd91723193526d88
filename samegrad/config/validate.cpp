#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "samegrad/base/error.h"
#include "samegrad/config/field_value.h"
#include "samegrad/config/load.h"
#include "samegrad/config/origins.h"

namespace samegrad {
namespace {

std::string text(std::int64_t number) { return std::to_string(number); }

/// What fields allow together. Messages call a field as its user did.
class Combinations {
 public:
  Combinations(const RunConfig& config, const Origins& origins) : config_(config), said_by_(origins) {}

  void check() const {
    check_plan();
    check_objective_of_data();
    check_model();
    if (config_.data.task == "lesson") {
      check_lesson();
    } else {
      check_text();
    }
  }

 private:
  using Keys = std::initializer_list<std::string_view>;

  /// `keys`: the fields that the message is about.
  void require(bool holds, Keys keys, const std::string& message) const {
    if (!holds) {
      throw InputError("config", said_by_.places(keys) + message);
    }
  }

  std::string name(std::string_view key) const { return said_by_.name(key); }
  std::string said(std::string_view key, std::int64_t value) const { return said_by_.said(key, text(value)); }
  std::string said(std::string_view key, const std::string& value) const { return said_by_.said(key, value); }

  void check_plan() const {
    const PlanConfig& plan = config_.plan;
    const bool text_run = config_.data.task == "text";
    const Keys length = {"plan.updates", "plan.epochs"};
    const std::string both = said("plan.updates", plan.updates) + " and " + said("plan.epochs", plan.epochs);
    require(plan.updates > 0 || plan.epochs > 0, length,
            both + "; nothing says how long to train: give " + name("plan.updates") +
                (text_run ? " or " + name("plan.epochs") + ", one of them above 0" : " above 0"));
    require(plan.updates == 0 || plan.epochs == 0, length, both + "; give one of them, the other follows from it");
    require(plan.epochs == 0 || text_run, {"plan.epochs", "data.task"},
            said("plan.epochs", plan.epochs) + "; the lesson is counted in updates: set " + name("plan.updates"));
    require(plan.updates == 0 || plan.stop_at <= plan.updates, {"plan.stop_at", "plan.updates"},
            said("plan.stop_at", plan.stop_at) + " is past the last update; allowed: up to " + name("plan.updates") +
                " = " + text(plan.updates) + ", or plan.stop_at: 0 (also --continuous) to train to the end");
    for (const auto& [key, cost] : {std::pair{"plan.cost_per_token", plan.cost_per_token},
                                    {"plan.cost_per_token_pair", plan.cost_per_token_pair}}) {
      require(cost == 0.0 || plan.balance == "lpt", {key, "plan.balance"},
              said(key, std::to_string(cost)) + " with " + said("plan.balance", plan.balance) +
                  "; only lpt weighs samples: set plan.balance=lpt, or leave the costs out");
    }
    constexpr std::int64_t kMostAtoms = 1 << 20;
    require(plan.atoms_per_window() <= kMostAtoms, {"plan.virtual_ranks", "plan.accumulation"},
            said("plan.virtual_ranks", plan.virtual_ranks) + " x " + said("plan.accumulation", plan.accumulation) +
                " is " + text(plan.atoms_per_window()) + "; at most " + text(kMostAtoms));
  }

  void check_lesson() const {
    const DataConfig& data = config_.data;
    const ModelConfig& model = config_.model;
    for (const auto& [key, file] : {std::pair{"data.train", data.train}, {"data.validation", data.validation}}) {
      require(file.empty(), {key, "data.task"},
              said(key, file) + "; files are for data.task text, this is the lesson; use --config configs/text.yaml");
    }
    require(model.kind == "encoder", {"model.kind", "data.task"},
            said("model.kind", model.kind) + "; the lesson needs encoder");
    require(data.shortest <= data.split && data.split < data.longest, {"data.shortest", "data.split", "data.longest"},
            said("data.shortest", data.shortest) + ", " + said("data.split", data.split) + ", " +
                said("data.longest", data.longest) + "; needs shortest <= split < longest");
    require(
        model.positions >= data.longest, {"model.positions", "data.longest"},
        said("model.positions", model.positions) + "; at least " + name("data.longest") + " = " + text(data.longest));
    require(model.vocabulary >= 6, {"model.vocabulary", "data.task"},
            said("model.vocabulary", model.vocabulary) + "; the lesson has tokens 0..5: 6");
    require(model.classes >= 4, {"model.classes", "data.task"},
            said("model.classes", model.classes) + "; the lesson has 4 labels: at least 4");
  }

  void check_text() const {
    const ModelConfig& model = config_.model;
    require(!config_.data.train.empty(), {"data.train", "data.task"},
            name("data.train") + ": nothing given; say which file: --set " + name("data.train") + "=FILE");
    require(model.kind == "decoder", {"model.kind", "data.task"},
            said("model.kind", model.kind) + "; data.task text needs decoder");
    require(model.vocabulary >= 256, {"model.vocabulary", "data.task"},
            said("model.vocabulary", model.vocabulary) + "; text is bytes: at least 256");
  }

  /// What the data cannot give to the objective.
  void check_objective_of_data() const {
    const ObjectiveConfig& objective = config_.objective;
    require((objective.unit == "constant") == (objective.constant > 0), {"objective.constant", "objective.unit"},
            said("objective.constant", objective.constant) + " with " + said("objective.unit", objective.unit) +
                "; unit constant divides by it and needs at least 1, the others count: leave it 0");
    require(objective.unit != "document" || config_.data.task == "text", {"objective.unit", "data.task"},
            said("objective.unit", objective.unit) + "; the lesson's sequences belong to no documents: use sequence");
    require(objective.unit != "document" || config_.data.txt != "stream" || !config_.data.train.ends_with(".txt"),
            {"objective.unit", "data.txt"},
            said("objective.unit", objective.unit) +
                "; data.txt=stream cuts one text into pieces and knows no documents: use data.txt=documents, or a "
                ".jsonl file with the field \"document\"");
    if (objective.class_weights.empty()) return;
    const auto given = static_cast<std::int64_t>(objective.class_weights.size());
    const bool lesson = config_.data.task == "lesson";
    const std::int64_t classes = lesson ? config_.model.classes : config_.model.vocabulary;
    const std::string weights = name("objective.class_weights") + ": ";
    require(given == classes, {"objective.class_weights", lesson ? "model.classes" : "model.vocabulary"},
            weights + text(given) + " weights; needs one for each of the " + text(classes) +
                (lesson ? " classes (model.classes)" : " tokens (model.vocabulary)"));
    require(
        std::any_of(objective.class_weights.begin(), objective.class_weights.end(), [](double w) { return w > 0.0; }),
        {"objective.class_weights"}, weights + "all 0; at least one must be above 0");
    require(objective.unit == "token" || objective.unit == "constant", {"objective.class_weights", "objective.unit"},
            weights + "with " + said("objective.unit", objective.unit) +
                " a unit's mean could be over its tokens or over their weights; leave them out, or use unit token or "
                "constant");
  }

  void check_model() const {
    require(config_.model.width % config_.model.heads == 0, {"model.heads", "model.width"},
            said("model.heads", config_.model.heads) + " does not divide " + name("model.width") + " = " +
                text(config_.model.width));
    require(config_.optimizer.kind == "sgd" || config_.optimizer.momentum == 0,
            {"optimizer.momentum", "optimizer.kind"},
            name("optimizer.momentum") + ": belongs to sgd, and " + said("optimizer.kind", config_.optimizer.kind) +
                " has " + name("optimizer.beta1"));
  }

  const RunConfig& config_;
  const Origins& said_by_;
};

}  // namespace

void validate_config(const RunConfig& config, const Origins& origins) {
  for (const Field& field : config_fields()) {
    check_field(config, field, origins);
  }
  Combinations(config, origins).check();
}

void validate_config(const RunConfig& config) { validate_config(config, Origins()); }

}  // namespace samegrad
