// What a save may take the place of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace samegrad {

/// What is at `path` and keeps a checkpoint from taking its place: anything but a folder, or a folder that holds
/// something whose name no checkpoint's file has. "" where nothing keeps it. Local.
std::string hindrance_to_replace(const std::filesystem::path& path);

/// Looks so at all names in `checkpoints` that a training from update `from` on, up to `last`, may need. Throws
/// RunError. Local.
void require_replaceable(const std::filesystem::path& checkpoints, std::int64_t from, std::int64_t last);

}  // namespace samegrad
