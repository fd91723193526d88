#include "samegrad/data/known_file.h"

#include "samegrad/base/atomic_file.h"
#include "samegrad/base/error.h"
#include "samegrad/base/json.h"
#include "samegrad/base/mapped_file.h"
#include "samegrad/base/untrusted_json.h"

namespace samegrad {
namespace {

constexpr std::int64_t kCoarsestStep_ns = 2'000'000'000;

Json to_json(const FileFacts& facts, const std::string& sha256) {
  return {{"format", 1},          {"device", facts.device},         {"inode", facts.inode},
          {"bytes", facts.bytes}, {"written_ns", facts.written_ns}, {"changed_ns", facts.changed_ns},
          {"sha256", sha256}};
}

}  // namespace

bool facts_are_settled(const FileFacts& facts, std::int64_t now_ns) {
  return facts.changed_ns < now_ns - kCoarsestStep_ns && facts.written_ns < now_ns - kCoarsestStep_ns;
}

void remember_file(const std::filesystem::path& record, const FileFacts& facts, const std::string& sha256) {
  try {
    write_file_atomically(record, to_json(facts, sha256).dump(2) + "\n");
  } catch (const RunError&) {
    return;
  }
}

bool is_remembered(const std::filesystem::path& record, const FileFacts& facts, const std::string& sha256) {
  if (!std::filesystem::is_regular_file(record)) return false;
  try {
    return parse_untrusted_json(MappedFile(record, "data").bytes()) == to_json(facts, sha256);
  } catch (const InputError&) {
    return false;
  } catch (const Json::exception&) {
    return false;
  }
}

}  // namespace samegrad
