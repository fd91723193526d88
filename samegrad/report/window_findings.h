// In what two computations of one window differ: its samples, counts, gradients, and what they started from.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "samegrad/checkpoint/safetensors.h"
#include "samegrad/data/sample.h"
#include "samegrad/plan/update_plan.h"

namespace samegrad {

/// Where two windows differ, causes before effects.
enum class Part {
  kPlan,
  kData,
  kCount,
  kParameters,  ///< before the window
  kOptimizerState,
  kGradient,
  kLearningRate,
  kClipping,
  kOptimizerOptions,
  kStep,  ///< the parameters after it
};

/// "plan", "optimizer state", ...
std::string_view part_name(Part part);

struct WindowFinding {
  Part part = Part::kPlan;
  std::int64_t atom = -1;  ///< -1: the whole window
  std::string tensor{};    ///< "" where it is not about one
  std::string a{};         ///< the value, or that of the worst component
  std::string b{};
  std::string text{};  ///< all of it, on one line
};

/// Collects findings; of each part a few are kept and the rest counted, so that thousands of atoms stay readable.
class WindowFindings {
 public:
  static constexpr std::size_t kMostOfAPart = 8;

  /// By part, in the order in which they were found.
  std::vector<WindowFinding> found() const;
  /// How many more of a part there were.
  std::int64_t more(Part part) const;
  bool has(Part part) const { return found_.contains(part); }
  bool empty() const { return found_.empty(); }

  /// Numbers of atoms, and for each atom its sample ids.
  void compare_plans(const PlanWindow& a, const PlanWindow& b);
  /// Samples of an atom with the same ids in both: tokens and targets.
  void compare_samples(std::int64_t atom, std::span<const Sample> a, std::span<const Sample> b);
  /// Tensors by name; the few worst differing ones, each with its worst component. Requires float32 or float64.
  void compare_tensors(Part part, std::int64_t atom, std::span<const TensorView> a, std::span<const TensorView> b);
  /// A value with a name ("supervised tokens", "optimizer.momentum").
  void compare_values(Part part, std::int64_t atom, const std::string& name, const std::string& a,
                      const std::string& b);

 private:
  void add(WindowFinding finding);

  std::map<Part, std::vector<WindowFinding>> found_;
  std::map<Part, std::int64_t> more_;
};

}  // namespace samegrad
