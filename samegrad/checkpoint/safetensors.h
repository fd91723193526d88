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

/// Every type of number that a parameter, a buffer or an optimizer's state has. Complex and 8-bit float are not read.
enum class TensorType { kFloat32, kFloat64, kInt64, kUint8, kFloat16, kBfloat16, kInt8, kInt16, kInt32, kBool };

/// Bytes of one element.
std::int64_t element_size(TensorType type);

/// The format's own name: F32, F64, I64, U8, F16, BF16, I8, I16, I32, BOOL.
std::string_view tensor_type_name(TensorType type);

/// A tensor in memory, row-major, little-endian.
struct TensorView {
  std::string name;
  TensorType type = TensorType::kFloat32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

/// What stands before the data: 8-byte length, then JSON padded with spaces so that data starts at a multiple of 64.
/// Together with the tensors' bytes in the order given it is the file. The same input gives the same bytes: nothing
/// else goes in. `metadata` becomes `__metadata__`. Throws InvariantError for a name given twice, a name or metadata
/// that is not UTF-8, bytes that do not fit the shape, a header above the format's 100 MB. Local.
std::string safetensors_header(std::span<const TensorView> tensors,
                               const std::map<std::string, std::string>& metadata = {});

/// The whole file: safetensors_header and the data. Local.
std::string safetensors_bytes(std::span<const TensorView> tensors,
                              const std::map<std::string, std::string>& metadata = {});

/// A file opened for reading, fully validated: header length and JSON, unique names, known types, sizes that fit shapes
/// without overflow, offsets that tile the data without gap or overlap, no more tensors than safetensors_header.h says.
/// Throws CheckError naming file and tensor, and
/// InputError where there is no such regular file. Local.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  /// In file order. The views live as long as this object. A foreign file may hold data at any byte: copy, do not cast.
  const std::vector<TensorView>& tensors() const { return tensors_; }
  /// nullptr where there is none of that name.
  const TensorView* find(std::string_view name) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  MappedFile file_;
  std::vector<TensorView> tensors_;
  std::vector<std::uint32_t> by_name_;  ///< indices of tensors_
  std::map<std::string, std::string> metadata_;
};

}  // namespace samegrad
