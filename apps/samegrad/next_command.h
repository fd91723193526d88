// The command with which a person goes on with a run, to be copied into a shell as it stands.
#pragma once

#include <string>
#include <vector>

#include "apps/samegrad/command_line.h"
#include "samegrad/base/json.h"
#include "samegrad/config/run_paths.h"

namespace samegrad {

/// The options with which another command means the same run. Local.
std::vector<std::string> same_run(const CommandLine& command);

/// "samegrad VERB" and the words, each as a shell reads it. Local.
std::string shell_command(const std::string& verb, const std::vector<std::string>& words);

/// What run.json keeps of the command: {"folder","arguments"}, the folder it was given in and same_run(). Local.
Json command_to_json(const CommandLine& command);

/// How the current run of the folder goes on, from here: `samegrad train --resume latest ...`, after `cd FOLDER` where
/// its relative paths mean something else here. Where run.json does not tell, with this folder alone. Local.
std::string resume_command(const RunPaths& paths);

}  // namespace samegrad
