#include "samegrad/base/json.h"

#include <string>

#include "samegrad/base/atomic_file.h"
#include "samegrad/base/error.h"
#include "samegrad/base/mapped_file.h"
#include "samegrad/base/untrusted_json.h"

namespace samegrad {
namespace {

constexpr std::size_t kLargestFile = std::size_t{32} << 20;

}  // namespace

Json read_json_file(const std::filesystem::path& path, std::string_view stage) {
  const MappedFile file(path, stage);
  const std::string_view bytes = file.bytes();
  if (bytes.size() > kLargestFile) {
    throw InputError(stage, path.string() + ": " + std::to_string(bytes.size()) + " bytes; a JSON file has at most " +
                                std::to_string(kLargestFile));
  }
  try {
    return parse_untrusted_json(bytes);
  } catch (const JsonRefused& error) {
    throw InputError(stage, path.string() + ": " + error.what());
  }
}

void write_json_file(const std::filesystem::path& path, const Json& value) {
  write_file_atomically(path, value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace samegrad
