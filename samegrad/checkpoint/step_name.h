// The names of what stands in a folder of checkpoints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "samegrad/base/name_owner.h"

namespace samegrad {

/// "step-0050": four digits, more where the number needs them.
std::string step_folder_name(std::int64_t update);

/// The update of a name that step_folder_name gives; none for every other name. Local.
std::optional<std::int64_t> parse_step_folder_name(std::string_view name);

/// What a hidden folder of a checkpoint is there for.
enum class AsideKind {
  kSaving,    ///< being written; or an old checkpoint that has just been exchanged with the new one
  kReplaced,  ///< an old checkpoint out of the way of the new one, where the two cannot be exchanged in one step
  kRemoving,  ///< being removed
};

/// A hidden sibling of a checkpoint: ".saving-step-0050-HOST-PROCESS".
struct AsideName {
  AsideKind kind = AsideKind::kSaving;
  std::string step_folder;
  std::int64_t update = 0;
  NameOwner owner;

  std::string text() const;
};

/// The hidden name of this process for `update`.
AsideName aside_name(AsideKind kind, std::int64_t update);

/// None for every name that AsideName::text does not give. Local.
std::optional<AsideName> parse_aside_name(std::string_view name);

}  // namespace samegrad
