#include "samegrad/config/run_paths.h"

#include <utility>

namespace samegrad {

std::span<const std::string> figure_names() {
  static const std::vector<std::string> kNames = {"loss", "tokens", "gradient-error", "rank-time"};
  return kNames;
}

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
      status(outputs / "status"),
      verify_resume(outputs / "verify-resume"),
      legs_log(outputs / "legs.log"),
      diverged_reference(outputs / "diverged-reference.safetensors"),
      diverged_schedule(outputs / "diverged-schedule.safetensors"),
      checkpoints(run / "artifacts" / "checkpoints") {}

void RunPaths::prepare_in(const std::filesystem::path& folder) {
  data_dir = folder / data_dir.filename();
  plan = folder / plan.filename();
  init = folder / init.filename();
  data_lock = folder / data_lock.filename();
}

std::filesystem::path RunPaths::final_parameters(const std::string& kind) const {
  return outputs / ("final-" + kind + ".safetensors");
}

std::filesystem::path RunPaths::lesson_split(const std::string& name) const { return data_dir / (name + ".jsonl"); }

std::filesystem::path RunPaths::text_index(const std::string& split) const {
  return data_dir / ("index-" + split + ".bin");
}

std::filesystem::path RunPaths::known_text(const std::string& split) const {
  return data_dir / ("index-" + split + ".known.json");
}

std::filesystem::path RunPaths::figure(const std::string& name, const std::string& extension) const {
  return figures / (name + "." + extension);
}

std::vector<std::filesystem::path> RunPaths::generated_files() const {
  std::vector<std::filesystem::path> files = {
      plan,    init,   data_lock, reference32,        reference64,      current_run,
      metrics, report, legs_log,  diverged_reference, diverged_schedule};
  for (const char* kind : {"stopped", "continuous", "resumed"}) {
    files.push_back(final_parameters(kind));
  }
  for (const char* split : {"train", "validation", "test"}) {
    files.push_back(lesson_split(split));
    files.push_back(text_index(split));
    files.push_back(known_text(split));
  }
  for (const std::string& name : figure_names()) {
    files.push_back(figure(name, "svg"));
    files.push_back(figure(name, "png"));
  }
  return files;
}

}  // namespace samegrad
