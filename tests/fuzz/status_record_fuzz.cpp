// A rank's status record: the input as the file outputs/status/rank-1, and once more as one of the right size, of this
// version and of that rank, so that what stands behind these is reached.
#include <algorithm>
#include <cstring>

#include "samegrad/comm/status_image.h"
#include "samegrad/comm/status_record.h"
#include "tests/fuzz/fuzz_target.h"

using namespace samegrad;

namespace {

bool is_readable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

void read(const fuzz::ScratchFolder& folder, std::string_view bytes) {
  folder.write("rank-1", bytes);
  const std::vector<StatusReading> all = read_status_folder(folder.path());
  fuzz::require(all.size() == 1 && all[0].rank == 1, "the folder holds one record");
  const StatusReading reading = read_status_file(status_path(folder.path(), 1), 1);
  fuzz::require(reading.status.has_value() == reading.reason.empty(), "a record, or why there is none");
  fuzz::require(is_readable(reading.reason) && reading.reason.size() < 300, "the reason is a short line");
  if (!reading.status) return;
  const RankStatus& status = *reading.status;
  fuzz::require(status.rank == 1 && status.world_size > 1 && status.pid > 0, "its rank and pid can be");
  fuzz::require(!state_name(status.state).empty() && !operation_name(status.call.operation).empty(), "both have names");
  fuzz::require(is_readable(status.host + status.pid_space + status.phase) &&
                    std::memchr(status.call.name.data(), 0, status.call.name.size()) != nullptr &&
                    is_readable(status.call.name.data()),
                "its texts are texts");
  fuzz::require(status.update >= 0 && status.collectives >= 0 && status.progress_monotonic_ns >= 0,
                "counts are counts");
  fuzz::accepted();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::ScratchFolder kFolder;
  const std::string_view input = fuzz::text_of(data, size);
  read(kFolder, input);
  StatusBytes bytes;
  if (!input.empty()) std::memcpy(&bytes, input.data(), std::min(input.size(), sizeof(bytes)));
  bytes.identity.magic = kStatusMagic;
  bytes.identity.version = kStatusVersion;
  bytes.identity.image_bytes = sizeof(bytes);
  bytes.identity.rank = 1;
  read(kFolder, {reinterpret_cast<const char*>(&bytes), sizeof(bytes)});
  return 0;
}
