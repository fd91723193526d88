// Which checkpoints of a run belong to it still. A resume from an older one takes back what came after it: those newer
// checkpoints stay, under the same run id, but the run goes on another way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "samegrad/base/json.h"
#include "samegrad/checkpoint/manifest.h"

namespace samegrad {

/// The starts of one run, in order. Each is a leg with an id of its own, which a checkpoint names in its manifest's
/// facts as "leg"; one that names none, or an unknown one, is older than all of them.
class RunLegs {
 public:
  /// Reads to_json()'s value. Throws Json::exception for any other. Local.
  static RunLegs from_json(const Json& json);
  /// [{"id", "from"}]. Local.
  Json to_json() const;

  /// A new leg that goes on from update `from` (0: from the start); returns its id. Legs that it takes back as a whole
  /// are forgotten. Local.
  std::string begin(std::int64_t from);

  /// Empty, or why the checkpoint is of a part of its run that was taken back. Local.
  std::string taken_back(const Manifest& manifest) const;

 private:
  struct Leg {
    std::string id;
    std::int64_t from = 0;
  };
  std::vector<Leg> legs_;
};

}  // namespace samegrad
