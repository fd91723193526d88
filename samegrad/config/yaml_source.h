// A YAML config file as a list of "this field gets this text", with the place of each.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "samegrad/config/fields.h"
#include "samegrad/config/origins.h"

namespace samegrad {

struct Assignment {
  const Field* field = nullptr;  ///< null: a name of trainer_names() that no field takes
  std::string text;              ///< as the field takes it
  Origin origin;                 ///< as it was written, and where
};

/// Reads a YAML file of at most 256 KiB: one document, a mapping of sections to mappings of names to scalars; `seed`
/// and aliases stand at the top. Throws InputError "file:line: ..." for what is not that, for a key that is unknown
/// (with the nearest known one) and for one that is given twice; several faults are told by one. Local.
std::vector<Assignment> read_yaml_assignments(const std::filesystem::path& path);

/// "key=value" of the command line's --set, or one of its options that stand for a key: "--stop-at=N", "--continuous",
/// "--backend=NAME". Throws InputError. Local.
Assignment parse_override(const std::string& text);

}  // namespace samegrad
