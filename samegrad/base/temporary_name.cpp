#include "samegrad/base/temporary_name.h"

#include <cerrno>
#include <utility>
#include <vector>

namespace samegrad {
namespace {

constexpr std::string_view kMark = ".tmp-";

}  // namespace

std::string TemporaryName::text() const { return "." + target + std::string(kMark) + owner.text(); }

std::optional<TemporaryName> parse_temporary_name(std::string_view name) {
  const std::size_t mark = name.rfind(kMark);
  if (!name.starts_with('.') || mark == std::string_view::npos || mark < 2) {
    return std::nullopt;
  }
  std::optional<NameOwner> owner = parse_owner(name.substr(mark + kMark.size()));
  if (!owner) {
    return std::nullopt;
  }
  return TemporaryName{.target = std::string(name.substr(1, mark - 1)), .owner = *std::move(owner)};
}

std::filesystem::path temporary_path(const std::filesystem::path& target) {
  const TemporaryName name{.target = target.filename().string(), .owner = this_process()};
  return target.parent_path() / name.text();
}

int remove_left_temporaries(const std::filesystem::path& target, FileOperations& files) {
  const std::filesystem::path folder = target.parent_path();
  std::vector<std::string> names;
  const int reason = files.list(folder.empty() ? "." : folder, names);
  for (const std::string& name : names) {
    const std::optional<TemporaryName> temporary = parse_temporary_name(name);
    if (temporary && temporary->target == target.filename() && is_left_over(folder / name, temporary->owner)) {
      remove_tree(files, folder / name);
    }
  }
  return reason == ENOENT ? 0 : reason;
}

}  // namespace samegrad
