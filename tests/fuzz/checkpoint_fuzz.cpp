// A whole checkpoint folder made from the input: a good one, of which each record of the input (kind, length in two
// bytes, bytes) changes something. The manifest is then made to fit, unless the input begins with an odd byte.
#include "samegrad/base/digest.h"
#include "samegrad/checkpoint/checkpoint.h"
#include "samegrad/checkpoint/inspect.h"
#include "tests/fuzz/fuzz_target.h"

using namespace samegrad;

namespace {

struct Parts {
  std::map<std::string, std::string> files = {
      {"model.safetensors", safetensors_bytes({})},
      {"optimizer.safetensors", safetensors_bytes({}, {{kOptimizerOptionsKey, "{}"}})},
      {"state.json", R"({"update":7,"run_id":"r","config":{"model":{"kind":"encoder"}}})"},
      {"rank-0.json", R"({"virtual_rank":0})"},
      {"rank-1.json", R"({"virtual_rank":1})"}};
  std::map<std::string, std::string> links = {};
  std::string run_id = "r";
  std::string facts = R"({"world_size":2})";
  std::string manifest = {};  ///< in place of a good one
  std::string tensors = {};   ///< the list of tensors in the model file
};

std::string_view take(std::string_view& input, std::size_t count) {
  const std::string_view taken = input.substr(0, std::min(count, input.size()));
  input.remove_prefix(taken.size());
  return taken;
}

void change(Parts& parts, unsigned kind, const std::string& bytes) {
  static constexpr const char* kNames[] = {"model.safetensors", "optimizer.safetensors", "state.json",
                                           "rank-0.json",       "rank-1.json",           "extra.safetensors"};
  if (kind < 6) {
    parts.files[kNames[kind]] = bytes;
  } else if (kind == 6 && !bytes.empty()) {
    const std::string name = kNames[static_cast<unsigned char>(bytes[0]) % 6];
    parts.files.erase(name);
    parts.links[name] = bytes.substr(1, bytes.find('\0', 1) - 1);
  } else if (kind == 7 && !bytes.empty()) {
    parts.files.erase(kNames[static_cast<unsigned char>(bytes[0]) % 6]);
  } else if (kind == 8) {
    parts.facts = bytes;
  } else if (kind == 9) {
    parts.manifest = bytes;
  } else if (kind == 10) {
    parts.tensors = bytes;
  }
}

/// As manifest_text writes it, with facts and a list of tensors that need not be JSON.
std::string manifest_of(const Parts& parts) {
  constexpr std::string_view kFileWithTensors = "model.safetensors";
  std::string files;
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "state.json", "extra.safetensors",
                           "rank-0.json", "rank-1.json"}) {
    const auto file = parts.files.find(name);
    if (file == parts.files.end()) continue;
    files += std::string(files.empty() ? "" : ",") + R"({"name":")" + name + R"(","size":)" +
             std::to_string(file->second.size()) + R"(,"sha256":")" + sha256_hex(file->second) + '"';
    if (!parts.tensors.empty() && name == kFileWithTensors) files += ",\"tensors\":" + parts.tensors;
    files += '}';
  }
  std::string text = R"({"format":"samegrad checkpoint","format_version":)" +
                     std::string(parts.tensors.empty() ? "1" : "2") + R"(,"update":7,"run_id":")" + parts.run_id +
                     R"(","facts":)" + parts.facts + ",\"files\":[" + files + "],\n  \"sha256\": \"";
  return text + sha256_hex(text) + "\"\n}\n";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::ScratchFolder kFolder;
  std::string_view input = fuzz::text_of(data, size);
  const std::string_view first = take(input, 1);
  const bool fits = first.empty() || first[0] % 2 == 0;
  Parts parts;
  for (int records = 0; input.size() >= 3 && records < 16; ++records) {
    const std::string_view head = take(input, 3);
    const std::size_t length = static_cast<unsigned char>(head[1]) | std::size_t{static_cast<unsigned char>(head[2])}
                                                                         << 8;
    change(parts, static_cast<unsigned char>(head[0]) % 11, std::string(take(input, length)));
  }
  const std::filesystem::path folder = kFolder.path() / "step-0007";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  for (const auto& [name, bytes] : parts.files) kFolder.write("step-0007/" + name, bytes);
  for (const auto& [name, target] : parts.links) {
    std::error_code ignored;
    std::filesystem::create_symlink(target.empty() ? name : target, folder / name, ignored);
  }
  kFolder.write("step-0007/manifest.json", !parts.manifest.empty() ? parts.manifest
                                           : fits                  ? manifest_of(parts)
                                                                   : manifest_of({.tensors = parts.tensors}));
  fuzz::may_refuse({ExitCode::kCheckFailed}, [&] {
    verify_checkpoint(folder);
    fuzz::accepted();
  });
  const Inspection inspection = inspect_checkpoints(folder);
  fuzz::require(!inspection.table.empty() && !inspection.json.dump().empty(), "it can be shown, whole or not");
  find_latest(kFolder.path(), "r");
  return 0;
}
