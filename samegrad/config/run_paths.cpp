#include "samegrad/config/run_paths.h"

#include <utility>

namespace samegrad {

RunPaths::RunPaths(std::filesystem::path folder)
    : run(std::move(folder)),
      outputs(run / "outputs"),
      data_dir(outputs / "data"),
      plan(outputs / "plan.json"),
      init(outputs / "init.safetensors"),
      data_lock(outputs / "data.lock.json"),
      reference32(outputs / "reference.safetensors"),
      reference64(outputs / "reference-float64.safetensors"),
      current_run(outputs / "run.json"),
      metrics(outputs / "metrics.jsonl"),
      report(outputs / "report.json"),
      figures(outputs / "figures"),
      checkpoints(run / "artifacts" / "checkpoints") {}

std::filesystem::path RunPaths::final_parameters(const std::string& kind) const {
  return outputs / ("final-" + kind + ".safetensors");
}

std::filesystem::path RunPaths::lesson_split(const std::string& name) const { return data_dir / (name + ".jsonl"); }

std::filesystem::path RunPaths::text_index(const std::string& split) const {
  return data_dir / ("index-" + split + ".bin");
}

std::vector<std::filesystem::path> RunPaths::generated_files() const {
  std::vector<std::filesystem::path> files = {plan,        init,        data_lock, reference32,
                                              reference64, current_run, metrics,   report};
  for (const char* kind : {"stopped", "continuous", "resumed"}) {
    files.push_back(final_parameters(kind));
  }
  for (const char* split : {"train", "validation", "test"}) {
    files.push_back(lesson_split(split));
    files.push_back(text_index(split));
  }
  return files;
}

}  // namespace samegrad
