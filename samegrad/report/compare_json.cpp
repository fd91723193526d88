// A comparison as JSON and back: report.json keeps it, and the figures are drawn from there.
#include "samegrad/base/untrusted_json.h"
#include "samegrad/report/compare.h"
#include "samegrad/report/json_number.h"

namespace samegrad {
namespace {

Json component_to_json(const ComponentError& component) {
  return {{"parameter", component.parameter},         {"index", component.index},
          {"value", number_to_json(component.value)}, {"reference", number_to_json(component.reference)},
          {"error", number_to_json(component.error)}, {"allowed", number_to_json(component.allowed)}};
}

ComponentError component_from_json(const Json& json) {
  return {json.at("parameter").get<std::string>(), whole_number(json.at("index")),
          number_from_json(json.at("value")),      number_from_json(json.at("reference")),
          number_from_json(json.at("error")),      number_from_json(json.at("allowed"))};
}

}  // namespace

Json comparison_to_json(const Comparison& comparison) {
  Json parameters = Json::array();
  for (const ParameterComparison& parameter : comparison.parameters) {
    parameters.push_back({{"name", parameter.name},
                          {"shape", parameter.shape},
                          {"elements", parameter.elements},
                          {"outside", parameter.outside},
                          {"different", parameter.different},
                          {"largest_reference", parameter.largest_reference},
                          {"worst", component_to_json(parameter.worst)}});
  }
  return {{"within_tolerance", comparison.within_tolerance()},
          {"identical", comparison.identical()},
          {"atol", comparison.tolerance.absolute},
          {"rtol", comparison.tolerance.relative},
          {"elements", comparison.elements},
          {"outside", comparison.outside},
          {"different", comparison.different},
          {"worst", component_to_json(comparison.worst)},
          {"problems", comparison.problems},
          {"parameters", std::move(parameters)}};
}

Comparison comparison_from_json(const Json& json) {
  Comparison result;
  result.tolerance = {json.at("atol").get<double>(), json.at("rtol").get<double>()};
  result.elements = whole_number(json.at("elements"));
  result.outside = whole_number(json.at("outside"));
  result.different = whole_number(json.at("different"));
  result.worst = component_from_json(json.at("worst"));
  result.problems = json.at("problems").get<std::vector<std::string>>();
  for (const Json& entry : json.at("parameters")) {
    ParameterComparison parameter;
    parameter.name = entry.at("name").get<std::string>();
    for (const Json& size : entry.at("shape")) parameter.shape.push_back(whole_number(size));
    parameter.elements = whole_number(entry.at("elements"));
    parameter.outside = whole_number(entry.at("outside"));
    parameter.different = whole_number(entry.at("different"));
    parameter.largest_reference = number_from_json(entry.at("largest_reference"));
    parameter.worst = component_from_json(entry.at("worst"));
    result.parameters.push_back(std::move(parameter));
  }
  return result;
}

}  // namespace samegrad
