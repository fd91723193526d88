#include <map>
#include <span>

#include "samegrad/base/check.h"
#include "samegrad/base/error.h"
#include "samegrad/checkpoint/checkpoint.h"
#include "samegrad/checkpoint/printable.h"
#include "samegrad/checkpoint/staged_folder.h"

namespace samegrad {
namespace {

/// `values` with `key` first. A value that `values` already has for it must be the same.
Json with_member(const char* key, std::int64_t value, const Json& values) {
  Json result = {{key, value}};
  result.update(values);
  SAMEGRAD_CHECK_OP(result[key], ==, value);
  return result;
}

std::string json_file_text(const Json& value, int indentation) {
  try {
    return value.dump(indentation) + "\n";
  } catch (const Json::type_error& error) {
    throw RunError("checkpoint", std::string("what is to be saved is not UTF-8: ") + printable(error.what()));
  }
}

/// A file as it is written: the tensors follow, uncopied.
struct File {
  std::string name;
  std::string head;
  std::span<const TensorView> tensors = {};

  std::size_t size() const {
    std::size_t bytes = head.size();
    for (const TensorView& tensor : tensors) bytes += tensor.bytes.size();
    return bytes;
  }
};

File tensor_file(std::string_view name, const std::vector<TensorView>& tensors,
                 const std::map<std::string, std::string>& metadata) {
  return {.name = std::string(name), .head = safetensors_header(tensors, metadata), .tensors = tensors};
}

}  // namespace

std::filesystem::path save_checkpoint(const std::filesystem::path& checkpoints, std::int64_t update,
                                      const CheckpointContent& content, FileOperations& files) {
  SAMEGRAD_CHECK_OP(update, >=, 0);
  SAMEGRAD_CHECK_OP(content.state.value("run_id", Json()).is_string(), ==, true);
  std::vector<File> parts = {
      tensor_file(kModelFile, content.model, content.model_metadata),
      tensor_file(kOptimizerFile, content.optimizer, {{kOptimizerOptionsKey, content.optimizer_options.dump()}}),
      {.name = std::string(kStateFile), .head = json_file_text(with_member("update", update, content.state), 2)}};
  if (!content.extra.empty()) {
    parts.push_back(tensor_file(kExtraFile, content.extra, {}));
  }
  for (std::size_t i = 0; i < content.rank_files.size(); ++i) {
    const Json rank = with_member("virtual_rank", static_cast<std::int64_t>(i), content.rank_files[i]);
    parts.push_back({.name = rank_file_name(i), .head = json_file_text(rank, -1)});
  }
  Manifest manifest{.update = update,
                    .run_id = content.state["run_id"].get<std::string>(),
                    .facts = content.manifest_facts,
                    .files = {}};
  std::size_t bytes_needed = 0;
  for (const File& file : parts) bytes_needed += file.size();

  StagedFolder folder(files, checkpoints, update, static_cast<std::int64_t>(bytes_needed));
  for (const File& file : parts) {
    manifest.files.push_back(folder.write(file.name, file.head, file.tensors));
  }
  folder.write(std::string(kManifestFile), manifest_text(manifest));
  return folder.place();
}

}  // namespace samegrad
