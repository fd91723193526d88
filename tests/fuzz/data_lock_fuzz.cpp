// data.lock, and its comparison with another.
#include "samegrad/data/data_lock.h"
#include "tests/fuzz/fuzz_target.h"

using namespace samegrad;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::ScratchFolder kFolder;
  const std::filesystem::path file = kFolder.write("data.lock", fuzz::text_of(data, size));
  fuzz::may_refuse({ExitCode::kBadInput, ExitCode::kCheckFailed}, [&] {
    const DataLock lock = read_data_lock(file);
    fuzz::require(data_lock_from_json(to_json(lock), "again") == lock, "a lock is read back the same");
    fuzz::accepted();
    compare_data_locks(lock, DataLock{.task = "text", .splits = {}});
  });
  return 0;
}
