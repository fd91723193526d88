// What `--help` teaches about each subcommand.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace samegrad {

struct CommandTopic {
  std::string name;
  std::string summary;  ///< one line
  std::string detail;
  std::string reads;
  std::string writes;
  std::vector<std::string> examples;
  bool prints_results = false;  ///< takes --json
};

/// All subcommands, in the order in which a person meets them.
std::span<const CommandTopic> command_topics();

/// What stands below the options in `samegrad NAME --help`. Local.
std::string topic_footer(const CommandTopic& topic);

/// What stands below the subcommands in `samegrad --help`. Local.
std::string overview_footer();

}  // namespace samegrad
