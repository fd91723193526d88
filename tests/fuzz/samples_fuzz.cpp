// A user's data file in each of its formats: indexed, then every sample read.
#include "samegrad/data/index_builder.h"
#include "samegrad/data/text_source.h"
#include "tests/fuzz/fuzz_target.h"

using namespace samegrad;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::ScratchFolder kFolder;
  const std::filesystem::path file = kFolder.write("data", fuzz::text_of(data, size));
  const std::filesystem::path index = kFolder.path() / "data.index";
  for (const TextFormat format : {TextFormat::kJsonl, TextFormat::kDocuments, TextFormat::kStream}) {
    for (const bool skip : {false, true}) {
      const TextOptions options{.format = format, .context = 16, .vocabulary = 256, .skip_bad_lines = skip};
      fuzz::may_refuse({ExitCode::kBadInput}, [&] {
        build_sample_index(file, index, options).file->commit();
        const TextSource source(file, index, options);
        std::int64_t supervised = 0;
        for (std::int64_t id = 0; id < source.size(); ++id) {
          const Sample sample = source.sample(id);
          fuzz::require(sample.inputs.size() == sample.targets.size() && sample.inputs.size() <= 16,
                        "a sample fits the context");
          for (const std::int32_t token : sample.inputs) fuzz::require(token >= 0 && token < 256, "tokens are known");
          supervised += sample.supervised_tokens();
        }
        fuzz::require(supervised == source.report().supervised_tokens, "what was counted is what is read");
        if (!skip && supervised > 0) fuzz::accepted();
      });
    }
  }
  return 0;
}
