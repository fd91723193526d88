#include "samegrad/checkpoint/manifest.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/checkpoint/printable.h"
#include "samegrad/checkpoint/strict_json.h"

namespace samegrad {
namespace {

constexpr std::string_view kFormat = "samegrad checkpoint";
constexpr std::string_view kBeforeDigest = ",\n  \"sha256\": \"";
constexpr std::string_view kAfterDigest = "\"\n}\n";
constexpr std::size_t kDigestDigits = 64;
constexpr std::size_t kTensorDigestDigits = 32;
constexpr std::array kFirstFiles = {kModelFile, kOptimizerFile, kStateFile};
constexpr std::size_t kFilesBeforeRanks = kFirstFiles.size();

/// The name of the file after those in `before`, where `name` is the one given: the extra file may be left out.
std::string expected_file_name(const Manifest& before, const Json& name) {
  const std::size_t index = before.files.size();
  if (index < kFilesBeforeRanks) return std::string(kFirstFiles.at(index));
  if (index == kFilesBeforeRanks && name == kExtraFile) return std::string(kExtraFile);
  return rank_file_name(index - before.first_rank_file());
}

/// Throws unless the end of `bytes` is the digest of what stands before it.
void check_own_digest(std::string_view bytes, const std::string& file) {
  const auto refuse = [&](const std::string& what) { throw CheckError("checkpoint", file + ": " + what); };
  if (bytes.size() < kBeforeDigest.size() + kDigestDigits + kAfterDigest.size() || !bytes.ends_with(kAfterDigest)) {
    refuse("cut or damaged: it does not end as a manifest does");
  }
  const std::string_view before = bytes.substr(0, bytes.size() - kAfterDigest.size() - kDigestDigits);
  const std::string_view digest = bytes.substr(before.size(), kDigestDigits);
  if (!before.ends_with(kBeforeDigest) || sha256_hex(before) != digest) {
    refuse("damaged: its own SHA-256 does not fit its bytes");
  }
}

/// 0 .. 2^63 - 1.
bool is_count(const Json& value) {
  return value.is_number_unsigned() && std::in_range<std::int64_t>(value.get<std::uint64_t>());
}

bool is_digest(const Json& value, std::size_t digits) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return text.size() == digits &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// Throws unless `object` has exactly `names` as its members, in this order.
template <std::size_t kCount>
void check_members(const Json& object, const std::array<const char*, kCount>& names, const std::string& file) {
  bool same = object.is_object() && object.size() == kCount;
  for (std::size_t i = 0; same && i < kCount; ++i) {
    same = std::next(object.begin(), static_cast<std::ptrdiff_t>(i)).key() == names.at(i);
  }
  if (!same) {
    throw CheckError("checkpoint",
                     file + ": members are not those of a manifest (docs/formats.md): " + printable_json(object));
  }
}

bool holds_tensors(std::string_view name) { return name == kModelFile || name == kOptimizerFile || name == kExtraFile; }

std::vector<ManifestTensor> parse_tensors(const Json& list, const ManifestFile& of, const std::string& file) {
  const auto refuse = [&](const std::string& what) {
    throw CheckError("checkpoint", file + ": tensors of " + of.name + ": " + what);
  };
  if (!list.is_array() || !holds_tensors(of.name)) refuse("no list, or of a file that holds none");
  std::vector<ManifestTensor> tensors;
  std::int64_t rest = of.size;
  for (const Json& value : list) {
    check_members<3>(value, {"name", "size", "xxh3"}, file);
    if (!value["name"].is_string() || !is_count(value["size"]) || value["size"] > rest ||
        !is_digest(value["xxh3"], kTensorDigestDigits)) {
      refuse(printable_json(value) + " in a file of " + std::to_string(of.size) +
             " bytes; expected a name, a size that fits and an XXH3-128");
    }
    tensors.push_back({.name = value["name"].get<std::string>(),
                       .size = value["size"].get<std::int64_t>(),
                       .xxh3 = value["xxh3"].get<std::string>()});
    rest -= tensors.back().size;
  }
  return tensors;
}

ManifestFile parse_file(const Json& value, const Manifest& before, std::int64_t version, const std::string& file) {
  const bool lists_tensors = version > 1 && value.is_object() && value.contains("tensors");
  if (lists_tensors) {
    check_members<4>(value, {"name", "size", "sha256", "tensors"}, file);
  } else {
    check_members<3>(value, {"name", "size", "sha256"}, file);
  }
  const std::string expected = expected_file_name(before, value["name"]);
  if (value["name"] != expected || !is_count(value["size"]) || !is_digest(value["sha256"], kDigestDigits)) {
    throw CheckError("checkpoint", file + ": file " + std::to_string(before.files.size()) + " of the list is " +
                                       printable_json(value) + "; expected " + expected + " with size and SHA-256");
  }
  ManifestFile parsed{
      .name = expected, .size = value["size"].get<std::int64_t>(), .sha256 = value["sha256"].get<std::string>()};
  if (lists_tensors) parsed.tensors = parse_tensors(value["tensors"], parsed, file);
  return parsed;
}

Json file_json(const ManifestFile& file, bool with_tensors) {
  Json json = {{"name", file.name}, {"size", file.size}, {"sha256", file.sha256}};
  if (!with_tensors || !holds_tensors(file.name)) return json;
  Json& tensors = json["tensors"] = Json::array();
  for (const ManifestTensor& tensor : file.tensors) {
    tensors.push_back({{"name", tensor.name}, {"size", tensor.size}, {"xxh3", tensor.xxh3}});
  }
  return json;
}

}  // namespace

std::string rank_file_name(std::size_t virtual_rank) { return "rank-" + std::to_string(virtual_rank) + ".json"; }

bool is_checkpoint_file_name(std::string_view name) {
  for (const std::string_view one : {kManifestFile, kModelFile, kOptimizerFile, kStateFile, kExtraFile}) {
    if (name == one) return true;
  }
  std::size_t rank = 0;
  const std::size_t digits = name.find_first_of("0123456789");
  if (digits == std::string_view::npos) return false;
  std::from_chars(name.data() + digits, name.data() + name.size(), rank);
  return name == rank_file_name(rank);
}

std::string damaged_place(const ManifestFile& file, std::string_view bytes) {
  if (file.tensors.empty()) return {};
  std::int64_t begin = file.size;
  for (const ManifestTensor& tensor : file.tensors) begin -= tensor.size;
  const std::string* first = nullptr;
  std::size_t damaged = 0;
  for (const ManifestTensor& tensor : file.tensors) {
    const auto place = static_cast<std::size_t>(begin);
    const auto size = static_cast<std::size_t>(tensor.size);
    const bool there = place + size <= bytes.size();
    if (!there || xxh3_128_hex(bytes.substr(place, size)) != tensor.xxh3) {
      ++damaged;
      if (first == nullptr) first = &tensor.name;
    }
    begin += tensor.size;
  }
  if (first == nullptr) return std::cmp_equal(bytes.size(), file.size) ? "its header" : "";
  return "tensor '" + printable(*first) + "'" +
         (damaged == 1
              ? ""
              : " (and " + std::to_string(damaged - 1) + " more of " + std::to_string(file.tensors.size()) + ")");
}

std::string manifest_text(const Manifest& manifest) {
  std::size_t tensors = 0;
  for (const ManifestFile& file : manifest.files) tensors += file.tensors.size();
  Json files = Json::array();
  for (const ManifestFile& file : manifest.files) files.push_back(file_json(file, tensors <= kMostListedTensors));
  const Json value = {{"format", kFormat},         {"format_version", kCheckpointFormatVersion},
                      {"update", manifest.update}, {"run_id", manifest.run_id},
                      {"facts", manifest.facts},   {"files", files}};
  std::string text = value.dump(2);
  text.resize(text.size() - std::string_view("\n}").size());
  text += kBeforeDigest;
  return text + sha256_hex(text) + std::string(kAfterDigest);
}

Manifest parse_manifest(std::string_view bytes, const std::string& file) {
  check_own_digest(bytes, file);
  const auto refuse = [&](const std::string& what) { throw CheckError("checkpoint", file + ": " + what); };
  const Json value = parse_strict_json(bytes, file);
  // Before the members are looked at: another version may have others.
  const Json version = value.is_object() ? value.value("format_version", Json()) : Json();
  if (!value.is_object() || value.value("format", Json()) != kFormat || !is_count(version) ||
      version < kOldestCheckpointFormatVersion || version > kCheckpointFormatVersion) {
    refuse("format " + (value.is_object() ? printable_json(value.value("format", Json())) : "none") + ", version " +
           printable_json(version) + "; this program reads \"" + std::string(kFormat) + "\", versions " +
           std::to_string(kOldestCheckpointFormatVersion) + " to " + std::to_string(kCheckpointFormatVersion) +
           ": use the version of samegrad that wrote it");
  }
  check_members<7>(value, {"format", "format_version", "update", "run_id", "facts", "files", "sha256"}, file);
  if (!is_count(value["update"]) || !value["run_id"].is_string() || !value["files"].is_array() ||
      value["files"].size() < kFilesBeforeRanks) {
    refuse("update, run_id or files is not of its type");
  }
  Manifest manifest{.update = value["update"].get<std::int64_t>(),
                    .run_id = value["run_id"].get<std::string>(),
                    .facts = value["facts"],
                    .files = {}};
  for (const Json& listed : value["files"]) {
    manifest.files.push_back(parse_file(listed, manifest, version.get<std::int64_t>(), file));
  }
  return manifest;
}

}  // namespace samegrad
