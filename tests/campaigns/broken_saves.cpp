#include "tests/campaigns/broken_saves.h"

#include <algorithm>
#include <cstring>

#include "samegrad/base/error.h"
#include "samegrad/checkpoint/step_name.h"
#include "tests/unit/checkpoint/small_checkpoint.h"

namespace samegrad {
namespace {

void check(int reason) {
  if (reason != 0) throw RunError("broken", std::strerror(reason));
}

void write_file(FileOperations& files, const std::filesystem::path& path, const std::string& bytes) {
  int descriptor = -1;
  check(files.open_new(path, descriptor));
  const int written = files.write(descriptor, bytes);
  const int synced = written == 0 ? files.fsync(descriptor) : 0;
  const int closed = files.close(descriptor);
  check(written);
  check(synced);
  check(closed);
}

}  // namespace

void broken_save(FileOperations& files, const std::filesystem::path& checkpoints, std::int64_t update, float seed,
                 BrokenSave way) {
  const TemporaryFolder scratch(Medium::kMemory);
  const std::filesystem::path whole = save_small(scratch.path(), update, "run-a", seed);
  std::vector<std::string> names = names_in(whole);
  const bool in_place = way == BrokenSave::kManifestFirstInPlace;
  const auto manifest = std::ranges::find(names, std::string(kManifestFile));
  if (in_place) std::rotate(names.begin(), manifest, manifest + 1);

  check(make_folders(files, checkpoints));
  const std::filesystem::path final_path = checkpoints / step_folder_name(update);
  const std::filesystem::path folder =
      in_place ? final_path : checkpoints / aside_name(AsideKind::kSaving, update).text();
  check(remove_tree(files, folder));
  check(files.make_folder(folder));
  for (const std::string& name : names) write_file(files, folder / name, file_text(whole / name));
  check(files.fsync_folder(folder));
  if (!in_place) {
    check(remove_tree(files, final_path));
    check(files.rename(folder, final_path));
  }
  check(files.fsync_folder(checkpoints));
}

}  // namespace samegrad
