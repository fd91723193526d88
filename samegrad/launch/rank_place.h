// Where a rank was last, by the status record that it kept (comm/status_record.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "samegrad/launch/worker_outcome.h"

namespace samegrad {

/// By the record of `rank` in `folder`; nothing where there is none, or its process started before `not_before_ns`
/// (since 1970, realtime_ns()): it is of an earlier attempt. Local.
std::optional<RankPlace> rank_place(const std::filesystem::path& folder, int rank, std::int64_t not_before_ns);

}  // namespace samegrad
