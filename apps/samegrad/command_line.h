// The command line of samegrad, the same for both of its programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/samegrad/launch_settings.h"
#include "apps/samegrad/simulate_settings.h"

namespace samegrad {

struct CommandLine {
  std::string subcommand;
  std::vector<std::string> given;  ///< what follows it, as it was given; of launch, without the program
  std::string help;                ///< not empty: what --help asked for, to be printed instead of doing anything

  std::string config;                   ///< path; empty: the lesson
  std::vector<std::string> overrides;   ///< --set, then the shorthands
  std::vector<std::string> shorthands;  ///< "--stop-at=N", "--continuous", "--backend=NAME"
  std::string run = ".";                ///< folder with outputs/ and artifacts/
  bool run_given = false;               ///< --run stands on the command line
  bool json = false;
  bool quiet = false;

  std::int64_t nproc = 0;             ///< train, evaluate, exercise, verify, launch: processes; 0: not given
  bool nproc_of_config = false;       ///< it is num_processes of the config
  std::int64_t stop_at = 0;           ///< train: also in `overrides`; 0: not given
  bool continuous = false;            ///< train: also in `overrides`
  std::string resume;                 ///< train: path, "latest" or "auto"; empty: a new run
  std::int64_t grace_s = 25;          ///< train, stop: seconds that a stop may take
  bool allow_other_dispatch = false;  ///< train: a resume where bits may differ
  bool dry_run = false;               ///< train, clean
  bool trace_ids = false;             ///< train
  std::string dump_gradients;         ///< train, verify: folder; empty: no

  std::vector<std::int64_t> stops;    ///< verify-resume; empty: not given; so is the next
  std::vector<std::int64_t> worlds;   ///< verify-resume: processes of each leg, or of each uninterrupted run
  std::vector<std::string> backends;  ///< verify-resume; empty: the config's
  std::int64_t updates = 0;           ///< verify-resume; 0: not given
  bool keep = false;                  ///< verify-resume

  std::vector<std::string> diagnose_files;  ///< diagnose: the suspect and the reference
  std::int64_t world_size = 0;              ///< diagnose; 0: not given; so are the next
  std::int64_t accumulation = 0;            ///< diagnose
  std::int64_t samples = 0;                 ///< diagnose
  std::vector<std::int64_t> rank_tokens;    ///< diagnose: by rank; empty: not given
  std::vector<std::string> rank_gradients;  ///< diagnose: files, by rank

  std::vector<std::string> bisect_runs;      ///< bisect: two folders
  std::vector<std::string> bisect_kinds{2};  ///< bisect: of each; "": of the last line
  bool replay = true;                        ///< bisect

  std::vector<std::string> program;  ///< launch: what to start, and its arguments
  LaunchSettings launch;             ///< train, launch
  SimulateSettings simulate;         ///< simulate

  bool dual = false;              ///< env
  bool measure_cost = false;      ///< env
  std::string explain;            ///< config: key; empty: the table
  std::string scope;              ///< clean
  std::int64_t update = 0;        ///< verify; 0: the one after the weights
  std::string checkpoint;         ///< checkpoints, generate, verify: path; empty: all, the latest, or none
  std::string prompt;             ///< generate
  std::int64_t max_tokens = 200;  ///< generate
  double temperature = 0.0;       ///< generate; 0: always the likeliest token
};

/// Parses what follows the program's name. Throws InputError (stage "usage") for unknown subcommands and options, with
/// the nearest known one, and for values that are missing or not allowed. Local.
CommandLine parse_command_line(int argc, const char* const* argv);

}  // namespace samegrad
