// From a YAML file and `--set key=value` to a valid RunConfig.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "samegrad/base/json.h"
#include "samegrad/config/run_config.h"

namespace samegrad {

/// The lesson: what configs/minimum.yaml says, and what runs without a config file. Local.
RunConfig lesson_config();

/// Reads `path` (empty: lesson_config()) over the defaults of RunConfig, applies `overrides` ("section.key=value", in
/// order; a Hugging Face alias is accepted as key, and so are "--stop-at=N", "--continuous" and "--backend=NAME"),
/// validates. Of `plan.updates` and `plan.epochs` the one that was said last counts. Where nobody says plan.balance, it
/// is none for the lesson and lpt for text. Throws InputError naming key, value, what is allowed and, for an unknown
/// key, the nearest known one. Local.
RunConfig load_config(const std::filesystem::path& path, std::span<const std::string> overrides);

/// `config` with `overrides` applied and validated, as load_config does. Local.
RunConfig override_config(RunConfig config, std::span<const std::string> overrides);

struct OptionValue {
  std::string value;    ///< may be empty
  std::string said_by;  ///< "trainer.yaml:3: num_processes", for messages
};

/// What the file and `overrides` say in the place of command-line options (num_processes, output_dir,
/// resume_from_checkpoint), by option ("--nproc"). Throws as load_config. Local.
std::map<std::string, OptionValue> option_values(const std::filesystem::path& path,
                                                 std::span<const std::string> overrides);

/// Throws InputError for a value or combination that is not allowed. Local.
void validate_config(const RunConfig& config);

/// The resolved config, every field that applies (field_applies), sections in declaration order. Local.
Json config_to_json(const RunConfig& config);

/// The inverse of config_to_json; unknown keys throw InputError, and missing ones that decide bits: another one keeps
/// its default, for an older version may have written the JSON. Local.
RunConfig config_from_json(const Json& json);

/// SHA-256 over the fields that apply and decide bits: all but `run`, `logging`, `checkpoint`, `evaluation`,
/// plan.stop_at, model.gradient_checkpointing, and the two paths of `data` (the files' contents are in the data lock).
/// Local.
std::string config_digest(const RunConfig& config);

}  // namespace samegrad
