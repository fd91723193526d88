// Names of what gets another name when it is whole, or goes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "samegrad/base/file_operations.h"
#include "samegrad/base/name_owner.h"

namespace samegrad {

/// ".NAME.tmp-HOST-PROCESS", beside NAME.
struct TemporaryName {
  std::string target;
  NameOwner owner;

  std::string text() const;
};

/// None for every name that TemporaryName::text does not give. Local.
std::optional<TemporaryName> parse_temporary_name(std::string_view name);

/// This process's for `target`. Whoever uses it calls remove_left_temporaries() before. Local.
std::filesystem::path temporary_path(const std::filesystem::path& target);

/// Removes files and folders that processes which are gone left under temporary names of `target`. What cannot be
/// removed stays. 0, also where there is no folder, or the errno of reading the folder. Local.
int remove_left_temporaries(const std::filesystem::path& target, FileOperations& files = real_files());

}  // namespace samegrad
