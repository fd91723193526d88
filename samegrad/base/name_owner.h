// Whose the name of a file or folder is that is there only while it is made or taken away: so that what a killed
// process left can be removed, and nothing that a living one works on.
#pragma once

#include <sys/types.h>

#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace samegrad {

/// Processes of several hosts may work in one folder, and an id tells processes of one host apart.
struct NameOwner {
  std::string host;  ///< eight hexadecimal digits of the SHA-256 of the host's name
  pid_t process = 0;

  /// "HOST-PROCESS".
  std::string text() const;
};

NameOwner this_process();

/// None for every text that NameOwner::text does not give. Local.
std::optional<NameOwner> parse_owner(std::string_view text);

/// After so long without a change, what another host has named is taken for left over: nobody here sees its processes.
inline constexpr std::time_t kLeftOverAfterSeconds = std::time_t{24} * 60 * 60;

/// Whether `path`, which `owner` has named, is of a process that is gone. Of this host: no process has its id, or only
/// this one, which asks before it uses the name itself. Of another host: see kLeftOverAfterSeconds. Local.
bool is_left_over(const std::filesystem::path& path, const NameOwner& owner, std::time_t now = std::time(nullptr));

}  // namespace samegrad
