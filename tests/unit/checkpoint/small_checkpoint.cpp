#include "tests/unit/checkpoint/small_checkpoint.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sstream>

#include "samegrad/base/check.h"
#include "samegrad/base/digest.h"

namespace samegrad {

TemporaryFolder::TemporaryFolder(Medium medium) {
  const std::filesystem::path memory = "/dev/shm";
  const bool in_memory = medium == Medium::kMemory && std::filesystem::is_directory(memory);
  std::string pattern =
      ((in_memory ? memory : std::filesystem::temp_directory_path()) / "samegrad-test-XXXXXX").string();
  SAMEGRAD_CHECK_OP(mkdtemp(pattern.data()) != nullptr, ==, true);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

SmallContent::SmallContent(float seed, const std::string& run_id) : weight{}, counter{7}, momentum{} {
  std::iota(weight.begin(), weight.end(), seed);
  std::iota(momentum.begin(), momentum.end(), -seed);
  content.model = {
      {.name = "head.weight", .type = TensorType::kFloat32, .shape = {2, 3}, .bytes = std::as_bytes(std::span(weight))},
      {.name = "counter", .type = TensorType::kInt64, .shape = {}, .bytes = std::as_bytes(std::span(counter))}};
  content.optimizer = {{.name = "head.weight.momentum",
                        .type = TensorType::kFloat32,
                        .shape = {2, 3},
                        .bytes = std::as_bytes(std::span(momentum))}};
  content.optimizer_options = {{"kind", "sgd"}, {"learning_rate", 0.1}, {"momentum", 1.0 / 3.0}};
  content.state = {{"run_id", run_id}, {"config", {{"seed", 42}, {"model", {{"kind", "encoder"}, {"layers", 2}}}}}};
  content.rank_files = {{{"history", {1, 2}}}, {{"history", {3, 4}}}};
  content.manifest_facts = {{"world_size", 2}, {"libtorch", "2.11.0"}};
}

std::filesystem::path save_small(const std::filesystem::path& checkpoints, std::int64_t update,
                                 const std::string& run_id, float seed, FileOperations& files) {
  return save_checkpoint(checkpoints, update, SmallContent(seed, run_id).content, files);
}

int NoExchange::exchange(const std::filesystem::path& /*a*/, const std::filesystem::path& /*b*/) { return EINVAL; }

std::string file_text(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void write_text(const std::filesystem::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  SAMEGRAD_CHECK_OP(file.flush().good(), ==, true);
}

void forge(const std::filesystem::path& checkpoint, std::size_t index, const std::string& text) {
  Manifest manifest = read_manifest(checkpoint);
  manifest.files[index].size = static_cast<std::int64_t>(text.size());
  manifest.files[index].sha256 = sha256_hex(text);
  manifest.files[index].tensors = {};
  write_text(checkpoint / manifest.files[index].name, text);
  write_text(checkpoint / kManifestFile, manifest_text(manifest));
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace samegrad
