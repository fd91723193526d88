#include "samegrad/report/compare.h"

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "samegrad/report/tensor_component.h"

namespace samegrad {
namespace {

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::ostringstream out;
  out << "[";
  for (std::size_t i = 0; i < shape.size(); ++i) out << (i == 0 ? "" : ",") << shape[i];
  out << "]";
  return out.str();
}

bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

// A NaN error belongs to a non-finite component and is worse than every number.
bool worse(double error, double than) {
  if (std::isnan(than)) return false;
  return std::isnan(error) || error > than;
}

// Why the pair cannot be compared component by component; empty where it can.
std::string mismatch(const TensorView& value, const TensorView& reference) {
  const std::size_t value_width = component_width(value.type);
  const std::size_t reference_width = component_width(reference.type);
  if (value_width == 0 || reference_width == 0) return reference.name + ": only float32 and float64 are compared";
  if (value.shape != reference.shape) {
    return reference.name + ": shape " + shape_text(value.shape) + ", the reference has " + shape_text(reference.shape);
  }
  if (value.bytes.size() / value_width != reference.bytes.size() / reference_width) {
    return reference.name + ": " + std::to_string(value.bytes.size() / value_width) + " elements, the reference has " +
           std::to_string(reference.bytes.size() / reference_width);
  }
  return "";
}

ParameterComparison compare_parameter(const TensorView& values, const TensorView& reference,
                                      const Tolerance& tolerance) {
  ParameterComparison result;
  result.name = reference.name;
  result.shape = reference.shape;
  const std::size_t elements = reference.bytes.size() / component_width(reference.type);
  result.elements = static_cast<std::int64_t>(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    const double a = tensor_component(values, i);
    const double b = tensor_component(reference, i);
    const bool finite = std::isfinite(a) && std::isfinite(b);
    const double error = finite ? std::abs(a - b) : std::numeric_limits<double>::quiet_NaN();
    const double allowed = tolerance.allowed(b);
    if (!finite || !(error <= allowed)) ++result.outside;
    if (!same_bits(a, b)) ++result.different;
    if (std::isfinite(b)) result.largest_reference = std::max(result.largest_reference, std::abs(b));
    if (i == 0 || worse(error, result.worst.error)) {
      result.worst = {reference.name, static_cast<std::int64_t>(i), a, b, error, allowed};
    }
  }
  return result;
}

// First of each name; repeats are problems.
std::map<std::string_view, const TensorView*> by_name(std::span<const TensorView> tensors, const char* which,
                                                      std::vector<std::string>& problems) {
  std::map<std::string_view, const TensorView*> result;
  for (const TensorView& tensor : tensors) {
    if (!result.emplace(tensor.name, &tensor).second) problems.push_back(tensor.name + ": twice in " + which);
  }
  return result;
}

}  // namespace

double Tolerance::allowed(double reference) const { return absolute + relative * std::abs(reference); }

bool Comparison::within_tolerance() const { return elements > 0 && outside == 0 && problems.empty(); }

bool Comparison::identical() const { return within_tolerance() && different == 0; }

Comparison compare_tensors(std::span<const TensorView> values, std::span<const TensorView> reference,
                           const Tolerance& tolerance) {
  Comparison result;
  result.tolerance = tolerance;
  const auto value_of = by_name(values, "the compared set", result.problems);
  const auto reference_of = by_name(reference, "the reference", result.problems);
  for (const TensorView& value : values) {
    if (!reference_of.contains(value.name)) result.problems.push_back(value.name + ": not in the reference");
  }
  std::set<std::string_view> done;
  for (const TensorView& expected : reference) {
    if (!done.insert(expected.name).second) continue;
    const auto found = value_of.find(expected.name);
    if (found == value_of.end()) {
      result.problems.push_back(expected.name + ": missing");
      continue;
    }
    if (std::string problem = mismatch(*found->second, expected); !problem.empty()) {
      result.problems.push_back(std::move(problem));
      continue;
    }
    ParameterComparison parameter = compare_parameter(*found->second, expected, tolerance);
    if (parameter.elements > 0 && (result.elements == 0 || worse(parameter.worst.error, result.worst.error))) {
      result.worst = parameter.worst;
    }
    result.elements += parameter.elements;
    result.outside += parameter.outside;
    result.different += parameter.different;
    result.parameters.push_back(std::move(parameter));
  }
  return result;
}

Comparison compare_tensor_files(const std::filesystem::path& values, const std::filesystem::path& reference,
                                const Tolerance& tolerance) {
  const SafetensorsFile value_file(values);
  const SafetensorsFile reference_file(reference);
  return compare_tensors(value_file.tensors(), reference_file.tensors(), tolerance);
}

}  // namespace samegrad
