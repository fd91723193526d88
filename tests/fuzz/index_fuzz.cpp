// An index of samples: as it is, without its digest, and as the JSON at its end and, after "===", its records; the last
// two signed, so that what stands behind the digest is reached. Then the samples that it points to are read.
#include <cstring>

#include "samegrad/base/digest.h"
#include "samegrad/data/text_source.h"
#include "tests/fuzz/fuzz_target.h"

using namespace samegrad;

namespace {

constexpr std::string_view kData = "{\"text\":\"ab\"}\n{\"text\":\"cd\"}\n";

void read(const std::filesystem::path& data, const std::filesystem::path& index) {
  fuzz::may_refuse({ExitCode::kBadInput}, [&] { const SampleIndex found(index); });
  const TextOptions options{.format = TextFormat::kJsonl, .context = 16, .vocabulary = 256};
  std::int64_t samples = 0;
  fuzz::may_refuse({ExitCode::kBadInput}, [&] { samples = TextSource(data, index, options).size(); });
  for (std::int64_t id = 0; id < std::min<std::int64_t>(samples, 8); ++id) {
    fuzz::may_refuse({ExitCode::kBadInput}, [&] {
      TextSource(data, index, options).sample(id);
      fuzz::accepted();
    });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::ScratchFolder kFolder;
  static const std::filesystem::path kFile = kFolder.write("data.jsonl", kData);
  const std::string_view input = fuzz::text_of(data, size);
  read(kFile, kFolder.write("data.index", input));
  read(kFile, kFolder.write("data.index", std::string(input) + xxh3_128_hex(input)));
  const auto [json, records] = fuzz::two_parts(input);
  const std::uint64_t length = json.size();
  std::string bytes = std::string(kIndexMagic) + std::string(records) + std::string(json);
  bytes.append(reinterpret_cast<const char*>(&length), sizeof(length));
  read(kFile, kFolder.write("data.index", bytes + xxh3_128_hex(bytes)));
  return 0;
}
