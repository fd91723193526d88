#include "samegrad/checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <optional>
#include <unordered_set>
#include <utility>

#include "samegrad/base/check.h"
#include "samegrad/base/error.h"
#include "samegrad/base/json.h"
#include "samegrad/checkpoint/printable.h"
#include "samegrad/checkpoint/safetensors_header.h"

namespace samegrad {
namespace {

static_assert(std::endian::native == std::endian::little, "the format's numbers are little-endian");

constexpr std::string_view kStage = "safetensors";
constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kDataAlignment = 64;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // the reference implementation's bound

struct TypeFacts {
  TensorType type;
  std::string_view name;
  std::int64_t size;
};
constexpr std::array kTypes = {  // in the order of TensorType
    TypeFacts{TensorType::kFloat32, "F32", 4}, TypeFacts{TensorType::kFloat64, "F64", 8},
    TypeFacts{TensorType::kInt64, "I64", 8},   TypeFacts{TensorType::kUint8, "U8", 1},
    TypeFacts{TensorType::kFloat16, "F16", 2}, TypeFacts{TensorType::kBfloat16, "BF16", 2},
    TypeFacts{TensorType::kInt8, "I8", 1},     TypeFacts{TensorType::kInt16, "I16", 2},
    TypeFacts{TensorType::kInt32, "I32", 4},   TypeFacts{TensorType::kBool, "BOOL", 1}};

const TypeFacts& facts(TensorType type) { return kTypes.at(static_cast<std::size_t>(type)); }

/// Bytes of a tensor; none where the product leaves int64, also on the way to a factor 0.
template <typename Integer>
std::optional<std::int64_t> tensor_bytes(const std::vector<Integer>& shape, std::int64_t bytes_per_element) {
  std::int64_t bytes = bytes_per_element;
  for (const Integer size : shape) {
    if (std::cmp_less(size, 0) || __builtin_mul_overflow(bytes, static_cast<std::int64_t>(size), &bytes)) {
      return std::nullopt;
    }
  }
  return bytes;
}

std::string json_text(const std::string& text) {
  try {
    return Json(text).dump();
  } catch (const Json::type_error&) {
    throw InvariantError("[safetensors] not UTF-8: " + printable(text));
  }
}

template <typename Numbers>
std::string json_array(const Numbers& numbers) {
  std::string text = "[";
  for (const auto number : numbers) {
    text += (text.size() > 1 ? "," : "") + std::to_string(number);
  }
  return text + "]";
}

std::string metadata_member(const std::map<std::string, std::string>& metadata) {
  std::string text;
  for (const auto& [key, value] : metadata) {
    text += (text.empty() ? "" : ",") + json_text(key) + ":" + json_text(value);
  }
  return "\"__metadata__\":{" + text + "}";
}

/// The JSON part of a file, found by its length, which is checked before it is used.
std::string_view header_text(std::string_view bytes, const std::string& file) {
  std::uint64_t length = 0;
  if (bytes.size() < kLengthBytes) {
    throw CheckError(kStage, file + ": " + std::to_string(bytes.size()) + " bytes; a header's length alone has 8");
  }
  std::memcpy(&length, bytes.data(), kLengthBytes);
  const std::uint64_t most = std::min<std::uint64_t>(kLongestHeader, bytes.size() - kLengthBytes);
  if (length > most) {
    throw CheckError(kStage, file + ": header length: " + std::to_string(length) + ", at most " + std::to_string(most) +
                                 " bytes are possible here");
  }
  return bytes.substr(kLengthBytes, length);
}

[[noreturn]] void refuse_tensor(const std::string& file, const HeaderEntry& entry, const std::string& what) {
  throw CheckError(kStage, file + ": tensor '" + printable(entry.name) + "': " + what);
}

TensorType parse_type(const HeaderEntry& entry, const std::string& file) {
  for (const TypeFacts& type : kTypes) {
    if (type.name == entry.dtype) {
      return type.type;
    }
  }
  std::string known;
  for (const TypeFacts& type : kTypes) known += (known.empty() ? "" : ", ") + std::string(type.name);
  refuse_tensor(file, entry, "dtype '" + printable(entry.dtype) + "'; samegrad reads " + known);
}

}  // namespace

std::int64_t element_size(TensorType type) { return facts(type).size; }

std::string_view tensor_type_name(TensorType type) { return facts(type).name; }

std::string safetensors_header(std::span<const TensorView> tensors,
                               const std::map<std::string, std::string>& metadata) {
  std::string json = "{" + (metadata.empty() ? std::string() : metadata_member(metadata));
  std::unordered_set<std::string> names = {"__metadata__"};
  std::int64_t begin = 0;
  SAMEGRAD_CHECK_OP(tensors.size(), <=, kMostTensors);  // or it could not be read again
  SAMEGRAD_CHECK_OP(metadata.size(), <=, kMostMetadata);
  for (const TensorView& tensor : tensors) {
    SAMEGRAD_CHECK_OP(tensor.name.size(), <=, kLongestTensorName);
    const std::optional<std::int64_t> size = tensor_bytes(tensor.shape, element_size(tensor.type));
    if (!names.insert(tensor.name).second || !size || std::cmp_not_equal(*size, tensor.bytes.size())) {
      throw InvariantError("[safetensors] tensor '" + printable(tensor.name) + "' of shape " +
                           json_array(tensor.shape) + " with " + std::to_string(tensor.bytes.size()) +
                           " bytes: the name is taken, or the bytes do not fit the shape");
    }
    json += (json.size() > 1 ? "," : "") + json_text(tensor.name) + R"(:{"dtype":")" +
            std::string(tensor_type_name(tensor.type)) + R"(","shape":)" + json_array(tensor.shape) +
            R"(,"data_offsets":)" + json_array(std::array{begin, begin + *size}) + "}";
    begin += *size;
  }
  json += "}";
  json.resize((kLengthBytes + json.size() + kDataAlignment - 1) / kDataAlignment * kDataAlignment - kLengthBytes, ' ');
  const std::uint64_t length = json.size();
  SAMEGRAD_CHECK_OP(length, <=, kLongestHeader);
  std::string header(kLengthBytes, '\0');
  std::memcpy(header.data(), &length, kLengthBytes);
  return header + json;
}

std::string safetensors_bytes(std::span<const TensorView> tensors, const std::map<std::string, std::string>& metadata) {
  std::string file = safetensors_header(tensors, metadata);
  for (const TensorView& tensor : tensors) {
    file.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  }
  return file;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : file_(path, kStage) {
  const std::string name = path.string();
  const std::string_view json = header_text(file_.bytes(), name);
  SafetensorsHeader header = parse_safetensors_header(json, name);
  const std::string_view data = file_.bytes().substr(kLengthBytes + json.size());

  // An empty tensor may stand where another begins: it goes first, whatever the header's order.
  std::stable_sort(header.entries.begin(), header.entries.end(),
                   [](const HeaderEntry& a, const HeaderEntry& b) { return a.offsets < b.offsets; });
  std::uint64_t end = 0;
  for (HeaderEntry& entry : header.entries) {
    const TensorType type = parse_type(entry, name);
    const std::string offsets = "data_offsets " + json_array(entry.offsets);
    if (entry.offsets[0] != end || entry.offsets[1] < end || entry.offsets[1] > data.size()) {
      refuse_tensor(name, entry,
                    offsets + "; the tensor before ends at " + std::to_string(end) + ", the data has " +
                        std::to_string(data.size()) + " bytes");
    }
    const std::optional<std::int64_t> size = tensor_bytes(entry.shape, element_size(type));
    if (!size || std::cmp_not_equal(*size, entry.offsets[1] - end)) {
      refuse_tensor(name, entry, offsets + " do not fit its shape and dtype");
    }
    end = entry.offsets[1];
    const std::string_view bytes = data.substr(entry.offsets[0], static_cast<std::size_t>(*size));
    tensors_.push_back({.name = std::move(entry.name),
                        .type = type,
                        .shape = {entry.shape.begin(), entry.shape.end()},
                        .bytes = std::as_bytes(std::span(bytes))});
  }
  if (end != data.size()) {
    throw CheckError(kStage, name + ": the tensors end at byte " + std::to_string(end) + " of the data, which has " +
                                 std::to_string(data.size()));
  }
  metadata_ = std::move(header.metadata);
  by_name_.resize(tensors_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0U);
  std::ranges::sort(by_name_, {}, [&](std::uint32_t index) -> const std::string& { return tensors_[index].name; });
}

const TensorView* SafetensorsFile::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(
      by_name_, name, {}, [&](std::uint32_t index) { return std::string_view(tensors_[index].name); });
  return found == by_name_.end() || tensors_[*found].name != name ? nullptr : &tensors_[*found];
}

}  // namespace samegrad
