// The command with which a person goes on with a run, to be copied into a shell as it stands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apps/samegrad/command_line.h"
#include "samegrad/base/json.h"
#include "samegrad/config/run_paths.h"

namespace samegrad {

/// The options with which another command than `train` means the same run. Local.
std::vector<std::string> same_run(const CommandLine& command);

/// `words` without `option` and its value, "--option VALUE" or "--option=VALUE". Local.
std::vector<std::string> without_option(std::vector<std::string> words, std::string_view option);

/// "samegrad VERB" and the words, each as a shell reads it. Local.
std::string shell_command(const std::string& verb, const std::vector<std::string>& words);

/// `samegrad train --resume latest`, with all that a training was given, goes on from `update`: to the end where
/// it has reached its --stop-at, and in as many processes, where another launcher started them, on this host. Local.
std::string resume_command(const CommandLine& command, std::int64_t update);

/// What run.json keeps of a training's command: {"folder","arguments"}, the folder it was given in, and its words
/// without --resume. Local.
Json command_to_json(const CommandLine& command);

/// The same as the other, of the current run of the folder, to be given here: after `cd FOLDER` where its relative
/// paths mean something else here. Where run.json does not tell, with this folder alone. Local.
std::string resume_command(const RunPaths& paths, std::int64_t update);

}  // namespace samegrad
