// stdin: {"draws": [{"words": [...]} or {"seed": n}, each with "steps"], "plans": [{config values, "lengths"}]}.
// stdout: the same two lists, answered. The Python tests beside it compare the answers with Python's own `random`.
#include <iostream>

#include "samegrad/base/json.h"
#include "samegrad/plan/python_random.h"
#include "samegrad/plan/sampler_history.h"
#include "samegrad/plan/update_plan.h"
#include "tests/unit/plan/length_source.h"

namespace samegrad {
namespace {

Json draw(PythonRandom& random, const Json& step) {
  const std::string name = step[0];
  if (name == "getrandbits") return random.getrandbits(step[1]);
  if (name == "random") return random.random();
  if (name == "randbelow") return random.randbelow(step[1]);
  if (name == "sample") return random.sample(step[1], step[2]);
  auto values = step[1].get<std::vector<std::int64_t>>();
  random.shuffle(std::span<std::int64_t>(values));
  return values;
}

Json answer_draws(const Json& request) {
  const auto words = request.value("words", std::vector<std::uint32_t>());
  PythonRandom random = request.contains("words") ? PythonRandom(std::span<const std::uint32_t>(words))
                                                  : PythonRandom(request["seed"].get<std::int64_t>());
  Json answers = Json::array();
  for (const Json& step : request["steps"]) answers.push_back(draw(random, step));
  return answers;
}

ModelConfig model_of(const Json& request) {
  ModelConfig model;
  model.kind = request["kind"];
  model.layers = request["layers"];
  model.width = request["width"];
  model.feed_forward = request["feed_forward"];
  model.vocabulary = request["vocabulary"];
  model.classes = request["classes"];
  return model;
}

Json answer_plan(const Json& request) {
  RunConfig config;
  config.seed = request["seed"];
  config.data.task = request["task"];
  config.data.split = request.value("split", config.data.split);
  config.plan.updates = request["updates"];
  config.plan.epochs = request["epochs"];
  config.plan.virtual_ranks = request["virtual_ranks"];
  config.plan.accumulation = request["accumulation"];
  config.plan.batch_size_per_rank = request["batch_size_per_rank"];
  config.plan.balance = request.value("balance", config.plan.balance);
  config.plan.cost_per_token = request.value("cost_per_token", 0.0);
  config.plan.cost_per_token_pair = request.value("cost_per_token_pair", 0.0);
  config.model = request.contains("model") ? model_of(request["model"]) : config.model;
  const auto plan = make_update_plan(config, LengthSource(request["lengths"]));
  Json answer = plan_to_json(*plan, config, 1'000'000);
  answer["histories"] = Json::array();
  for (std::int64_t rank = 0; rank < config.plan.virtual_ranks; ++rank) {
    SamplerHistory history{.virtual_rank = rank};
    for (std::int64_t update = 1; update <= plan->updates(); ++update) {
      append_window(history, plan->window(update), config.plan.accumulation);
    }
    answer["histories"].push_back(sampler_history_to_json(history));
  }
  return answer;
}

}  // namespace
}  // namespace samegrad

int main() {
  const samegrad::Json request = samegrad::Json::parse(std::cin);
  samegrad::Json answer{{"draws", samegrad::Json::array()}, {"plans", samegrad::Json::array()}};
  for (const samegrad::Json& one : request.value("draws", samegrad::Json::array())) {
    answer["draws"].push_back(samegrad::answer_draws(one));
  }
  for (const samegrad::Json& one : request.value("plans", samegrad::Json::array())) {
    answer["plans"].push_back(samegrad::answer_plan(one));
  }
  std::cout << answer.dump() << "\n";
}
