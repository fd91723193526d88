// Where the files of a run lie: `outputs/` and `artifacts/checkpoints/` of its folder. Every path that samegrad writes
// is named here, so that `clean` knows exactly what was generated.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace samegrad {

/// The figures of a run.
std::span<const std::string> figure_names();

struct RunPaths {
  /// The files of the run in folder `run`. Touches nothing.
  explicit RunPaths(std::filesystem::path run);

  /// What `prepare` writes (data, data lock, plan, initial weights) lies in `folder` instead of outputs/.
  void prepare_in(const std::filesystem::path& folder);

  std::filesystem::path run;
  std::filesystem::path outputs;
  std::filesystem::path data_dir;
  std::filesystem::path plan;
  std::filesystem::path init;
  std::filesystem::path data_lock;
  std::filesystem::path reference32;
  std::filesystem::path reference64;
  std::filesystem::path current_run;
  std::filesystem::path metrics;
  std::filesystem::path report;
  std::filesystem::path figures;
  std::filesystem::path status;  ///< folder with each rank's record while it trains (comm/status_record.h)
  /// The folder of `samegrad verify-resume`: a run's folder itself, with the next three in it.
  std::filesystem::path verify_resume;
  std::filesystem::path legs_log;            ///< what the workers of the legs printed
  std::filesystem::path diverged_reference;  ///< parameters after the first update that differs
  std::filesystem::path diverged_schedule;
  std::filesystem::path checkpoints;

  /// outputs/final-KIND.safetensors; kind is stopped, continuous or resumed.
  std::filesystem::path final_parameters(const std::string& kind) const;
  /// outputs/data/NAME.jsonl; name is train, validation or test.
  std::filesystem::path lesson_split(const std::string& name) const;
  /// outputs/data/index-SPLIT.bin; split is train or validation.
  std::filesystem::path text_index(const std::string& split) const;
  /// outputs/data/index-SPLIT.known.json: which file the index is known to belong to.
  std::filesystem::path known_text(const std::string& split) const;

  /// outputs/figures/NAME.EXTENSION; name is one of figure_names(), extension svg or png.
  std::filesystem::path figure(const std::string& name, const std::string& extension) const;

  /// Every single file above (not the checkpoints).
  std::vector<std::filesystem::path> generated_files() const;
};

}  // namespace samegrad
