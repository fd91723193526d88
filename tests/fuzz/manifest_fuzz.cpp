// manifest.json as it is, and, so that the parser behind the digest is reached, signed.
#include "samegrad/base/digest.h"
#include "samegrad/checkpoint/manifest.h"
#include "tests/fuzz/fuzz_target.h"

using namespace samegrad;

namespace {

void read(std::string_view text) {
  fuzz::may_refuse({ExitCode::kCheckFailed}, [&] {
    const Manifest manifest = parse_manifest(text, "manifest.json");
    fuzz::require(manifest.update >= 0, "an update is no negative number");
    fuzz::require(manifest.files.size() >= 3, "a manifest lists its files");
    for (const ManifestFile& file : manifest.files) {
      fuzz::require(file.name.find('/') == std::string::npos && file.size >= 0, "a listed file is in the folder");
      std::int64_t rest = file.size;
      for (const ManifestTensor& tensor : file.tensors) rest -= tensor.size;
      fuzz::require(rest >= 0, "the tensors lie in their file");
      fuzz::require(damaged_place(file, text.substr(0, text.size() / 2)).size() < 16'384, "the damaged place is short");
    }
    fuzz::accepted();
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read(fuzz::text_of(data, size));
  std::string signed_text = std::string(fuzz::text_of(data, size)) + ",\n  \"sha256\": \"";
  signed_text += sha256_hex(signed_text) + "\"\n}\n";
  read(signed_text);
  return 0;
}
