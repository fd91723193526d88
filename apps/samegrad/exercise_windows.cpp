#include "apps/samegrad/exercise_windows.h"

#include <string>

#include "samegrad/base/error.h"

namespace samegrad {

ExerciseSource::ExerciseSource(const SampleSource& source, std::array<std::int64_t, 2> tokens) {
  std::int64_t id = 0;
  for (std::size_t rank = 0; rank < samples_.size(); ++rank) {
    while (id < source.size() && source.input_tokens(id) < tokens[rank]) ++id;
    if (id == source.size()) {
      throw InputError("exercise", "no sample with " + std::to_string(tokens[rank]) + " tokens is left; prepare the " +
                                       "lesson's data with data.longest of at least that");
    }
    samples_[rank] = source.sample(id++);
    samples_[rank].id = static_cast<std::int64_t>(rank);
    for (auto i = static_cast<std::size_t>(tokens[rank]); i < samples_[rank].targets.size(); ++i) {
      samples_[rank].targets[i] = kIgnoreTarget;
    }
  }
}

PlanWindow exercise_window() { return {.update = 1, .epoch = 0, .atoms = {{0}, {1}}}; }

}  // namespace samegrad
