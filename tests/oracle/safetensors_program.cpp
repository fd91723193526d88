// For test_safetensors_oracle.py: `write FILE` writes known tensors, `read FILE` prints a file's as JSON, bytes in hex.
#include <array>
#include <iostream>
#include <limits>

#include "samegrad/base/atomic_file.h"
#include "samegrad/base/error.h"
#include "samegrad/base/json.h"
#include "samegrad/checkpoint/safetensors.h"

namespace {

using namespace samegrad;

constexpr std::string_view kDigits = "0123456789abcdef";

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[static_cast<std::size_t>(byte) >> 4];
    text += kDigits[static_cast<std::size_t>(byte) & 15];
  }
  return text;
}

void write_known(const char* path) {
  const std::array<float, 6> f32 = {0.1F, -0.0F, 1e-45F, 3.4028235e38F, -1.5F, 0.0F};
  const std::array<double, 2> f64 = {0.1, -1e308};
  const std::array<std::int64_t, 1> i64 = {std::numeric_limits<std::int64_t>::min()};
  const std::array<std::uint8_t, 3> u8 = {0, 127, 255};
  const std::array tensors = {
      TensorView{"z.weight", TensorType::kFloat32, {2, 3}, std::as_bytes(std::span(f32))},
      TensorView{"a.double", TensorType::kFloat64, {2, 1}, std::as_bytes(std::span(f64))},
      TensorView{"scalar", TensorType::kInt64, {}, std::as_bytes(std::span(i64))},
      TensorView{"empty", TensorType::kFloat32, {0, 4}, {}},
      TensorView{"\u00fc \"bytes\"\n", TensorType::kUint8, {3}, std::as_bytes(std::span(u8))},
  };
  write_file_atomically(path, safetensors_bytes(tensors, {{"note", "\u00e9\t\"x\""}, {"empty", ""}}));
}

void print(const char* path) {
  const SafetensorsFile file(path);
  Json tensors = Json::array();
  for (const TensorView& tensor : file.tensors()) {
    tensors.push_back({{"name", tensor.name},
                       {"dtype", tensor_type_name(tensor.type)},
                       {"shape", tensor.shape},
                       {"bytes", hex(tensor.bytes)}});
  }
  std::cout << Json({{"tensors", tensors}, {"metadata", file.metadata()}}).dump() << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 3 ? argv[1] : "";
  try {
    if (what == "write") {
      write_known(argv[2]);
    } else if (what == "read") {
      print(argv[2]);
    } else {
      return static_cast<int>(ExitCode::kBadInput);
    }
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return static_cast<int>(error.exit_code());
  }
  return 0;
}
