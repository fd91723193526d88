// Every bit of a checkpoint flipped, every file cut at every length, and files missing, added, renamed and exchanged:
// verify_checkpoint() refuses them all.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "samegrad/base/check.h"
#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "tests/campaigns/campaign.h"
#include "tests/unit/checkpoint/small_checkpoint.h"

namespace samegrad {
namespace {

using Accepts = std::function<bool(const std::filesystem::path&)>;

bool verified(const std::filesystem::path& checkpoint) {
  try {
    verify_checkpoint(checkpoint);
    return true;
  } catch (const CheckError&) {
    return false;
  }
}

/// Broken: the manifest is believed without its own digest.
bool verified_without_own_digest(const std::filesystem::path& checkpoint) {
  const Json manifest = Json::parse(file_text(checkpoint / kManifestFile), nullptr, /*allow_exceptions=*/false);
  if (!manifest.is_object() || !manifest.value("files", Json()).is_array()) return false;
  return std::ranges::all_of(manifest["files"], [&](const Json& file) {
    if (!file.is_object() || !file.value("name", Json()).is_string()) return false;
    const std::filesystem::path path = checkpoint / file["name"].get<std::string>();
    return std::filesystem::is_regular_file(path) && file.value("size", Json()) == file_text(path).size() &&
           file.value("sha256", Json()) == sha256_hex(file_text(path));
  });
}

/// Broken: sizes and formats, but no digest of a file.
bool verified_without_digests(const std::filesystem::path& checkpoint) {
  try {
    const Manifest manifest = read_manifest(checkpoint);
    const SafetensorsFile model(checkpoint / kModelFile);
    const SafetensorsFile optimizer(checkpoint / kOptimizerFile);
    return std::ranges::all_of(manifest.files, [&](const ManifestFile& file) {
      return std::cmp_equal(std::filesystem::file_size(checkpoint / file.name), file.size);
    });
  } catch (const std::exception&) {
    return false;
  }
}

class Damages {
 public:
  Damages(CampaignResult& result, std::filesystem::path checkpoint, Accepts accepts)
      : result_(&result),
        checkpoint_(std::move(checkpoint)),
        names_(names_in(checkpoint_)),
        accepts_(std::move(accepts)) {}

  void all() {
    if (!accepts_(checkpoint_)) result_->fail("the whole checkpoint is refused");
    for (const std::string& name : names_) {
      flip_bits(name);
      cut_and_lengthen(name);
      remove_and_rename(name);
    }
    add_files();
    exchange_files();
    if (!accepts_(checkpoint_)) result_->fail("the restored checkpoint is refused");
  }

 private:
  void expect_refusal(const char* kind, const std::string& what) {
    result_->count(kind);
    if (accepts_(checkpoint_)) {
      result_->fail(std::string(kind) + ": accepted: " + what);
    } else {
      result_->count("refused");
    }
  }

  void flip_bits(const std::string& name) {
    const std::string bytes = file_text(checkpoint_ / name);
    const int descriptor = open((checkpoint_ / name).c_str(), O_WRONLY | O_CLOEXEC);
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      const char flipped = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
      SAMEGRAD_CHECK_OP(pwrite(descriptor, &flipped, 1, static_cast<off_t>(bit / 8)), ==, 1);
      expect_refusal("flipped bits", name + ", bit " + std::to_string(bit));
      SAMEGRAD_CHECK_OP(pwrite(descriptor, &bytes[bit / 8], 1, static_cast<off_t>(bit / 8)), ==, 1);
    }
    close(descriptor);
  }

  void cut_and_lengthen(const std::string& name) {
    const std::string bytes = file_text(checkpoint_ / name);
    for (std::size_t length = bytes.size(); length-- > 0;) {
      std::filesystem::resize_file(checkpoint_ / name, length);
      expect_refusal("truncations", name + " to " + std::to_string(length));
    }
    for (const char added : {'\0', ' ', '\n'}) {
      write_text(checkpoint_ / name, bytes + added);
      expect_refusal("bytes added", name);
    }
    write_text(checkpoint_ / name, bytes);
  }

  void remove_and_rename(const std::string& name) {
    const std::filesystem::path path = checkpoint_ / name;
    const std::filesystem::path away = checkpoint_.parent_path() / "away";
    std::filesystem::rename(path, away);
    expect_refusal("files missing", name);
    for (const char* other : {"rank-2.json", "Model.safetensors", ".hidden", "extra.safetensors"}) {
      std::filesystem::rename(away, checkpoint_ / other);
      expect_refusal("files renamed", name + " to " + other);
      std::filesystem::rename(checkpoint_ / other, away);
    }
    std::filesystem::create_symlink(away, path);
    expect_refusal("links in place of files", name);
    std::filesystem::remove(path);
    std::filesystem::rename(away, path);
  }

  void add_files() {
    for (const char* name :
         {"rank-2.json", "extra.safetensors", "model.bin", ".hidden", "manifest.json~", "rank-00.json"}) {
      for (const char* bytes : {"", "{}"}) {
        write_text(checkpoint_ / name, bytes);
        expect_refusal("files added", name);
        std::filesystem::remove(checkpoint_ / name);
      }
    }
    std::filesystem::create_directory(checkpoint_ / "folder");
    expect_refusal("files added", "a folder");
    std::filesystem::remove(checkpoint_ / "folder");
  }

  void exchange_files() {
    for (const std::string& a : names_) {
      for (const std::string& b : names_) {
        if (a >= b) continue;
        const int there = real_files().exchange(checkpoint_ / a, checkpoint_ / b);
        SAMEGRAD_CHECK_OP(there, ==, 0);
        expect_refusal("files exchanged", a + " and " + b);
        real_files().exchange(checkpoint_ / a, checkpoint_ / b);
      }
    }
  }

  CampaignResult* result_;
  std::filesystem::path checkpoint_;
  std::vector<std::string> names_;
  Accepts accepts_;
};

int run(int argc, char** argv) {
  const CampaignOptions options = campaign_options(argc, argv, /*budget=*/0);
  const TemporaryFolder folder(Medium::kMemory);
  const std::filesystem::path checkpoint = save_small(folder.path(), 2);
  CampaignResult result("bit_flips", options);
  for (const std::string& name : names_in(checkpoint)) {
    result.count("bytes", static_cast<std::int64_t>(std::filesystem::file_size(checkpoint / name)));
  }
  Damages(result, checkpoint, verified).all();
  const std::vector<std::pair<const char*, Accepts>> broken = {
      {"manifest without its own digest", verified_without_own_digest},
      {"no digests of files", verified_without_digests}};
  for (const auto& [name, accepts] : broken) {
    CampaignResult found("", options);
    Damages(found, checkpoint, accepts).all();
    result.broken_variant(name, found);
  }
  return result.finish();
}

}  // namespace
}  // namespace samegrad

int main(int argc, char** argv) { return samegrad::run(argc, argv); }
