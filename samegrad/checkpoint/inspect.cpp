#include "samegrad/checkpoint/inspect.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "samegrad/base/error.h"
#include "samegrad/checkpoint/checkpoint.h"
#include "samegrad/checkpoint/printable.h"
#include "samegrad/checkpoint/step_name.h"

namespace samegrad {
namespace {

std::string shown(const Json& value) {
  return value.is_string() ? printable(value.get<std::string>()) : printable_json(value);
}

/// "a=1 b=x" of an object's members.
std::string members_line(const Json& object) {
  std::string line;
  for (const auto& [key, value] : object.items()) {
    line += (line.empty() ? "" : " ") + printable(key) + "=" + shown(value);
  }
  return line;
}

Json tensors_json(const SafetensorsFile& file) {
  Json tensors = Json::array();
  for (const TensorView& tensor : file.tensors()) {
    tensors.push_back({{"name", tensor.name}, {"dtype", tensor_type_name(tensor.type)}, {"shape", tensor.shape}});
  }
  return tensors;
}

/// All that can be said of one checkpoint; of a damaged one, what its manifest says.
Json describe(const ExaminedCheckpoint& examined) {
  const CheckpointStatus& status = examined.status;
  Json json = {{"path", status.path.string()}, {"complete", status.complete}, {"update", status.update},
               {"run_id", status.run_id},      {"bytes", status.bytes},       {"problem", status.problem}};
  try {
    const Manifest manifest = read_manifest(status.path);
    json["facts"] = manifest.facts;
    json["files"] = Json::array();
    for (const ManifestFile& file : manifest.files) {
      json["files"].push_back({{"name", file.name}, {"size", file.size}, {"sha256", file.sha256}});
    }
  } catch (const Error&) {
    return json;  // `problem` says why there is no more
  }
  if (examined.verified) {
    const SafetensorsFile optimizer(status.path / kOptimizerFile);
    json["model"] = tensors_json(SafetensorsFile(status.path / kModelFile));
    json["optimizer"] = tensors_json(optimizer);
    if (examined.verified->manifest.has_extra_file()) {
      json["extra"] = tensors_json(SafetensorsFile(status.path / kExtraFile));
    }
    json["optimizer_options"] = read_optimizer_options(optimizer);
    json["config"] = examined.verified->state.value("config", Json::object());
  }
  return json;
}

void write_tensors(std::ostream& out, const char* title, const Json& tensors) {
  std::size_t widest = 0;
  for (const Json& tensor : tensors) {
    widest = std::max(widest, shown(tensor["name"]).size());
  }
  out << "  " << title << ": " << tensors.size() << (tensors.size() == 1 ? " tensor\n" : " tensors\n");
  for (const Json& tensor : tensors) {
    out << "    " << std::left << std::setw(static_cast<int>(widest)) << shown(tensor["name"]) << "  "
        << shown(tensor["dtype"]) << "  " << tensor["shape"].dump() << "\n";
  }
}

std::string detail_table(const Json& checkpoint) {
  std::ostringstream out;
  const bool complete = checkpoint["complete"].get<bool>();
  out << checkpoint["path"].get<std::string>() << ": " << (complete ? "complete" : "DAMAGED") << "\n";
  if (!complete) {
    out << "  " << checkpoint["problem"].get<std::string>() << "\n";
  }
  out << "  update " << checkpoint["update"].dump() << ", run " << shown(checkpoint["run_id"]) << ", "
      << checkpoint["bytes"].dump() << " bytes\n";
  if (checkpoint.contains("facts")) {
    out << "  saved by: " << members_line(checkpoint["facts"]) << "\n  files:\n";
  }
  for (const Json& file : checkpoint.value("files", Json::array())) {
    out << "    " << std::left << std::setw(22) << shown(file["name"]) << std::right << std::setw(14)
        << file["size"].dump() << "  " << shown(file["sha256"]) << "\n";
  }
  if (complete) {
    out << (checkpoint["config"].empty() ? "" : "  config:\n");
    for (const auto& [section, values] : checkpoint["config"].items()) {
      out << "    " << printable(section) << ": " << (values.is_object() ? members_line(values) : shown(values))
          << "\n";
    }
    out << "  optimizer options: " << members_line(checkpoint["optimizer_options"]) << "\n";
    write_tensors(out, "model", checkpoint["model"]);
    write_tensors(out, "optimizer", checkpoint["optimizer"]);
    if (checkpoint.contains("extra")) {
      write_tensors(out, "extra", checkpoint["extra"]);
    }
  }
  return out.str();
}

std::string list_table(const std::filesystem::path& path, const Json& checkpoints, std::int64_t damaged) {
  std::ostringstream out;
  out << path.string() << ": " << checkpoints.size() << (checkpoints.size() == 1 ? " checkpoint, " : " checkpoints, ")
      << damaged << " damaged\n";
  if (!checkpoints.empty()) {
    out << "    update           bytes  run id            state\n";
  }
  for (const Json& checkpoint : checkpoints) {
    const std::string run_id = shown(checkpoint["run_id"]);
    out << std::right << std::setw(10) << checkpoint["update"].dump() << std::setw(16) << checkpoint["bytes"].dump()
        << "  " << std::left << std::setw(16) << (run_id.empty() ? "-" : run_id) << "  "
        << (checkpoint["complete"].get<bool>() ? "complete" : "DAMAGED: " + checkpoint["problem"].get<std::string>())
        << "\n";
  }
  return out.str();
}

}  // namespace

Inspection inspect_checkpoints(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    throw InputError("checkpoint", path.string() + ": no such folder; give a checkpoint, or a folder of them");
  }
  // "step-0050/" is step-0050.
  const std::filesystem::path named = path.has_filename() ? path : path.parent_path();
  const bool single = parse_step_folder_name(named.filename().string()) ||
                      std::filesystem::exists(std::filesystem::symlink_status(named / kManifestFile, error));
  const std::vector<std::filesystem::path> folders =
      single ? std::vector<std::filesystem::path>{named} : checkpoint_folders(named);
  Json checkpoints = Json::array();
  std::int64_t damaged = 0;
  for (const std::filesystem::path& folder : folders) {
    const ExaminedCheckpoint examined = examine_checkpoint(folder);
    damaged += examined.status.complete ? 0 : 1;
    checkpoints.push_back(describe(examined));
  }
  std::string table = single ? detail_table(checkpoints[0]) : list_table(named, checkpoints, damaged);
  return {.json = {{"path", named.string()}, {"damaged", damaged}, {"checkpoints", std::move(checkpoints)}},
          .table = std::move(table),
          .damaged = damaged};
}

}  // namespace samegrad
