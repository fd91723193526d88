#include "samegrad/checkpoint/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "samegrad/base/error.h"
#include "samegrad/checkpoint/printable.h"

namespace samegrad {
namespace {

constexpr std::string_view kMetadataKey = "__metadata__";
/// As many as a tensor of PyTorch can have.
constexpr std::size_t kMostDimensions = 64;

/// Receives the parser's events. The parser keeps its own stack on the heap, so depth costs no call stack; here
/// anything deeper than a tensor's arrays is refused on sight.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(std::string file) : file_(std::move(file)) {}

  bool null() override { return refuse_value("null"); }
  bool boolean(bool /*value*/) override { return refuse_value("a boolean"); }
  bool number_integer(std::int64_t value) override { return refuse_value("the number " + std::to_string(value)); }
  bool number_float(double /*value*/, const std::string& text) override {
    return refuse_value("the number " + printable(text));
  }
  bool binary(binary_t& /*value*/) override { return refuse_value("binary data"); }

  bool number_unsigned(std::uint64_t value) override {
    if ((place_ != Place::kShape && place_ != Place::kOffsets) ||
        value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return refuse_value("the number " + std::to_string(value));
    }
    std::vector<std::uint64_t>& numbers = place_ == Place::kShape ? entry().shape : entry().offsets;
    if (place_ == Place::kOffsets && numbers.size() == 2) {
      refuse("data_offsets of more than two numbers");
    }
    if (numbers.size() == kMostDimensions) {
      refuse("a shape of more than " + std::to_string(kMostDimensions) + " numbers");
    }
    numbers.push_back(value);
    return true;
  }

  bool string(std::string& value) override {
    if (place_ == Place::kMetadata) {
      if (header_.metadata.size() == kMostMetadata) refuse_more(kMostMetadata, "texts of metadata");
      header_.metadata[key_] = std::move(value);
    } else if (place_ == Place::kTensor && key_ == "dtype") {
      entry().dtype = value;
    } else {
      refuse_value("the text '" + printable(value) + "'");
    }
    return true;
  }

  bool start_object(std::size_t /*elements*/) override {
    if (place_ == Place::kStart) {
      place_ = Place::kFile;
    } else if (place_ == Place::kFile && key_ == kMetadataKey) {
      place_ = Place::kMetadata;
    } else if (place_ == Place::kFile) {
      if (header_.entries.size() == kMostTensors) refuse_more(kMostTensors, "tensors");
      place_ = Place::kTensor;
      members_.clear();
      header_.entries.push_back({.name = key_, .dtype = {}, .shape = {}, .offsets = {}});
    } else {
      refuse_value("an object");
    }
    return true;
  }

  bool key(std::string& value) override {
    if (value.size() > kLongestTensorName) {
      refuse("name '" + printable(value) + "...' of " + std::to_string(value.size()) + " bytes; a name has at most " +
             std::to_string(kLongestTensorName));
    }
    if (place_ == Place::kMetadata && header_.metadata.contains(value)) {
      refuse("metadata '" + printable(value) + "' twice");
    }
    if (place_ == Place::kTensor && value != "dtype" && value != "shape" && value != "data_offsets") {
      refuse("unknown member '" + printable(value) + "'; known are dtype, shape, data_offsets");
    }
    const bool is_metadata = place_ == Place::kFile && value == kMetadataKey;
    if ((place_ == Place::kTensor && !members_.insert(value).second) || (is_metadata && has_metadata_)) {
      refuse("'" + printable(value) + "' twice");
    }
    has_metadata_ = has_metadata_ || is_metadata;
    key_ = value;
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kTensor && (members_.size() != 3 || entry().offsets.size() != 2)) {
      refuse("a tensor has dtype, shape and two data_offsets; not all are there");
    }
    place_ = place_ == Place::kFile ? Place::kEnd : Place::kFile;
    return true;
  }

  bool start_array(std::size_t /*elements*/) override {
    if (place_ != Place::kTensor || key_ == "dtype") {
      return refuse_value("an array");
    }
    place_ = key_ == "shape" ? Place::kShape : Place::kOffsets;
    return true;
  }

  bool end_array() override {
    place_ = Place::kTensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*last_token*/,
                   const nlohmann::json::exception& /*error*/) override {
    refuse("not JSON at byte " + std::to_string(position) + " of it");
  }

  /// Names are compared at the end: a set of them would be a second copy of all.
  SafetensorsHeader take() {
    std::vector<std::string_view> names;
    names.reserve(header_.entries.size());
    for (const HeaderEntry& entry : header_.entries) names.push_back(entry.name);
    std::ranges::sort(names);
    if (const auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
      refuse("'" + printable(*twice) + "' twice");
    }
    return std::move(header_);
  }

 private:
  enum class Place { kStart, kFile, kMetadata, kTensor, kShape, kOffsets, kEnd };

  HeaderEntry& entry() { return header_.entries.back(); }

  [[noreturn]] void refuse(const std::string& what) const {
    const bool in_tensor = place_ == Place::kTensor || place_ == Place::kShape || place_ == Place::kOffsets;
    throw CheckError("safetensors",
                     file_ + ": header: " +
                         (in_tensor ? "tensor '" + printable(header_.entries.back().name) + "': " : std::string()) +
                         what);
  }

  [[noreturn]] void refuse_more(std::size_t most, const char* things) const {
    refuse("more than " + std::to_string(most) + " " + things);
  }

  bool refuse_value(const std::string& value) const {
    refuse(value + " where the format has none" + (key_.empty() ? "" : " ('" + printable(key_) + "')"));
  }

  std::string file_;
  SafetensorsHeader header_;
  Place place_ = Place::kStart;
  std::string key_;  ///< the last key read
  bool has_metadata_ = false;
  std::unordered_set<std::string> members_;  ///< of the tensor being read
};

/// "", or why the parser must not see it: it keeps each number and text, and quotes one with a mistake, several times
/// over.
std::string too_long_part(std::string_view json) {
  constexpr std::size_t kLongestText = std::size_t{32} << 20;
  constexpr std::size_t kLongestNumber = 1'000;
  bool in_text = false;
  std::size_t length = 0;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    const bool ends = in_text ? c == '"' : std::string_view("\",:{}[] \n\r\t").find(c) != std::string_view::npos;
    if (in_text && c == '\\') ++i;
    if (c == '"') in_text = !in_text;
    length = ends ? 0 : length + 1;
    if (length > (in_text ? kLongestText : kLongestNumber)) {
      return in_text ? "a text of more than 32 MiB" : "a number of more than 1000 digits";
    }
  }
  return {};
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& file) {
  // The parser takes a NUL for the end of its input: what follows would go unread.
  if (!json.starts_with('{') || json.find('\0') != std::string_view::npos) {
    throw CheckError("safetensors", file + ": header: not one JSON object without NUL bytes");
  }
  if (const std::string part = too_long_part(json); !part.empty()) {
    throw CheckError("safetensors", file + ": header: " + part);
  }
  HeaderReader reader(file);
  nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
  return reader.take();
}

}  // namespace samegrad
