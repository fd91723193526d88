#include "samegrad/base/json.h"

#include <string>

#include "samegrad/base/atomic_file.h"
#include "samegrad/base/error.h"
#include "samegrad/base/mapped_file.h"

namespace samegrad {
namespace {

constexpr std::size_t kLargestFile = std::size_t{256} << 20;
constexpr int kDeepestNesting = 100;

}  // namespace

Json read_json_file(const std::filesystem::path& path, std::string_view stage) {
  const MappedFile file(path, stage);
  const std::string_view bytes = file.bytes();
  if (bytes.size() > kLargestFile) {
    throw InputError(stage, path.string() + ": " + std::to_string(bytes.size()) + " bytes; a JSON file has at most " +
                                std::to_string(kLargestFile));
  }
  // Freeing a value recurses, so a file must not choose how deep.
  const auto check_depth = [&](int depth, Json::parse_event_t event, Json& /*parsed*/) {
    const bool opens = event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    if (opens && depth >= kDeepestNesting) {
      throw InputError(stage, path.string() + ": nested deeper than " + std::to_string(kDeepestNesting));
    }
    return true;
  };
  try {
    return Json::parse(bytes.begin(), bytes.end(), check_depth);
  } catch (const Json::parse_error& error) {
    throw InputError(stage, path.string() + ": not JSON: " + error.what());
  }
}

void write_json_file(const std::filesystem::path& path, const Json& value) {
  write_file_atomically(path, value.dump(2) + "\n");
}

}  // namespace samegrad
