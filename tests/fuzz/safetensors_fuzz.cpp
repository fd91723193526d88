// A foreign .safetensors file: read, looked through, and diagnosed against itself.
#include "samegrad/checkpoint/safetensors.h"
#include "samegrad/report/diagnose.h"
#include "tests/fuzz/fuzz_target.h"

using namespace samegrad;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::ScratchFolder kFolder;
  const std::filesystem::path path = kFolder.write("a.safetensors", fuzz::text_of(data, size));
  fuzz::may_refuse({ExitCode::kCheckFailed}, [&] {
    const SafetensorsFile file(path);
    std::size_t bytes = 0;
    std::uint64_t sum = 0;
    for (const TensorView& tensor : file.tensors()) {
      bytes += tensor.bytes.size();
      for (const std::byte byte : tensor.bytes) sum += static_cast<std::uint64_t>(byte);
      fuzz::require(file.find(tensor.name) != nullptr, "every tensor is found by its name");
    }
    fuzz::require(bytes <= size && sum <= 255 * bytes, "the tensors lie in the file");
    const Diagnosis diagnosis = diagnose_tensors(file.tensors(), file.tensors(), {}, {});
    fuzz::require(!diagnosis_text(diagnosis, TextStyle{}).empty(), "a diagnosis says something");
    fuzz::accepted();
  });
  return 0;
}
