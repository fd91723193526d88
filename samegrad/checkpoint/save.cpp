#include <array>
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

/// A tensor file in pieces, so that the tensors are not copied.
struct TensorFile {
  std::string header;
  std::vector<std::string_view> pieces;

  TensorFile(const std::vector<TensorView>& tensors, const std::map<std::string, std::string>& metadata)
      : header(safetensors_header(tensors, metadata)), pieces{header} {
    for (const TensorView& tensor : tensors) {
      pieces.emplace_back(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
    }
  }
  TensorFile(const TensorFile&) = delete;
  TensorFile& operator=(const TensorFile&) = delete;
};

}  // namespace

std::filesystem::path save_checkpoint(const std::filesystem::path& checkpoints, std::int64_t update,
                                      const CheckpointContent& content, FileOperations& files) {
  SAMEGRAD_CHECK_OP(update, >=, 0);
  SAMEGRAD_CHECK_OP(content.state.value("run_id", Json()).is_string(), ==, true);
  const TensorFile model(content.model, content.model_metadata);
  const TensorFile optimizer(content.optimizer, {{kOptimizerOptionsKey, content.optimizer_options.dump()}});
  const TensorFile extra(content.extra, {});
  const std::string state = json_file_text(with_member("update", update, content.state), 2);
  std::vector<std::string> ranks;
  for (std::size_t i = 0; i < content.rank_files.size(); ++i) {
    ranks.push_back(
        json_file_text(with_member("virtual_rank", static_cast<std::int64_t>(i), content.rank_files[i]), -1));
  }
  Manifest manifest{.update = update,
                    .run_id = content.state["run_id"].get<std::string>(),
                    .facts = content.manifest_facts,
                    .files = {}};

  struct File {
    std::string name;
    std::vector<std::string_view> pieces;
  };
  std::vector<File> parts = {{std::string(kModelFile), model.pieces},
                             {std::string(kOptimizerFile), optimizer.pieces},
                             {std::string(kStateFile), {state}}};
  if (!content.extra.empty()) {
    parts.push_back({std::string(kExtraFile), extra.pieces});
  }
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    parts.push_back({rank_file_name(i), {ranks[i]}});
  }
  std::size_t bytes_needed = 0;
  for (const File& file : parts) {
    for (const std::string_view piece : file.pieces) {
      bytes_needed += piece.size();
    }
  }

  StagedFolder folder(files, checkpoints, update, static_cast<std::int64_t>(bytes_needed));
  for (const File& file : parts) {
    manifest.files.push_back(folder.write(file.name, file.pieces));
  }
  const std::string text = manifest_text(manifest);
  folder.write(std::string(kManifestFile), std::array<std::string_view, 1>{text});
  return folder.place();
}

}  // namespace samegrad
