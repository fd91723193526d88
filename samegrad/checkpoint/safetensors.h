// The safetensors file format (https://github.com/huggingface/safetensors#format), written and read without libtorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "samegrad/base/mapped_file.h"

namespace samegrad {

enum class TensorType { kFloat32, kFloat64, kInt64, kUint8 };

/// A tensor in memory, row-major.
struct TensorView {
  std::string name;
  TensorType type = TensorType::kFloat32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

/// The file's bytes: header (8-byte length, JSON padded with spaces so that data starts at a multiple of 64), then the
/// tensors in the order given. The same input gives the same bytes: nothing else goes in. `metadata` becomes
/// `__metadata__`. Local.
std::string safetensors_bytes(std::span<const TensorView> tensors,
                              const std::map<std::string, std::string>& metadata = {});

/// A file opened for reading, fully validated: header length and JSON, unique names, known types, sizes that fit shapes
/// without overflow, offsets that tile the data without gap or overlap. Throws CheckError naming file and tensor.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  /// In file order. The views live as long as this object.
  const std::vector<TensorView>& tensors() const { return tensors_; }
  /// nullptr where there is none of that name.
  const TensorView* find(std::string_view name) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  MappedFile file_;
  std::vector<TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace samegrad
