#include "samegrad/comm/keeps_status.h"

namespace samegrad {

void note_phase(Communicator& comm, std::string_view phase, std::int64_t update) {
  if (auto* const keeper = dynamic_cast<KeepsStatus*>(&comm)) keeper->status().set_phase(phase, update);
}

bool keep_status_in(Communicator& comm, const std::filesystem::path& folder) {
  auto* const keeper = dynamic_cast<KeepsStatus*>(&comm);
  return keeper != nullptr && keeper->status().place_in_folder(folder);
}

}  // namespace samegrad
