#include <filesystem>
#include <iostream>
#include <optional>

#include "apps/samegrad/commands.h"
#include "apps/samegrad/edge.h"
#include "apps/samegrad/generated_files.h"
#include "samegrad/base/folder_lock.h"
#include "samegrad/base/json.h"
#include "samegrad/report/number_text.h"
#include "samegrad/report/table.h"

namespace samegrad {
namespace {

Json to_json(const GeneratedFiles& found, bool dry_run) {
  Json files = Json::array();
  for (const GeneratedFile& file : found.files) {
    files.push_back({{"path", file.path.string()}, {"bytes", file.bytes}});
  }
  Json left = Json::array();
  for (const LeftFile& file : found.left) {
    left.push_back({{"path", file.path.string()}, {"reason", file.reason}});
  }
  return {{"scope", "generated"}, {"dry_run", dry_run}, {"bytes", found.bytes()}, {"files", files}, {"left", left}};
}

std::string to_text(const GeneratedFiles& found, bool dry_run) {
  std::string text;
  if (!found.files.empty()) {
    Table table({{dry_run ? "would be removed" : "removed"}, {"size", Align::kRight}});
    for (const GeneratedFile& file : found.files) {
      table.add_row({file.path.string(), bytes_text(file.bytes)});
    }
    text += table.render() + "\n";
  }
  text += grouped(static_cast<std::int64_t>(found.files.size())) + " generated files, " + bytes_text(found.bytes()) +
          (dry_run ? "; nothing was removed (--dry-run)\n" : " removed\n");
  for (const LeftFile& file : found.left) {
    text += "left alone: " + file.path.string() + " (" + file.reason + ")\n";
  }
  return text;
}

}  // namespace

int run_clean(const CommandLine& command) {
  const RunPaths paths(command.run);
  std::optional<FolderLock> lock;
  if (!command.dry_run && std::filesystem::is_directory(paths.outputs)) lock.emplace(paths.outputs, "clean");
  const GeneratedFiles found = find_generated(paths);
  if (!command.dry_run) {
    remove_generated(found);
  }
  std::cout << (command.json ? result_text(to_json(found, command.dry_run)) + "\n" : to_text(found, command.dry_run));
  return 0;
}

}  // namespace samegrad
