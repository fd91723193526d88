#include "samegrad/data/sample_index.h"

#include <bit>
#include <cstring>

#include "samegrad/base/check.h"
#include "samegrad/base/error.h"
#include "samegrad/base/untrusted_json.h"
#include "samegrad/kernels/xxh3.h"

namespace samegrad {

static_assert(std::endian::native == std::endian::little);

namespace {

constexpr std::size_t kDigestDigits = 32;
constexpr std::size_t kLengthBytes = 8;

}  // namespace

SampleIndex::SampleIndex(const std::filesystem::path& path) : file_(path, "data") {
  const auto refuse = [&](const std::string& reason) {
    throw InputError("data", path.string() + ": " + reason + "; remove it and run `samegrad prepare`");
  };
  const std::string_view bytes = file_.bytes();
  if (bytes.size() < kIndexMagic.size() + kLengthBytes + kDigestDigits || !bytes.starts_with(kIndexMagic)) {
    refuse("is no index of samples in this format");
  }
  const std::string_view digested = bytes.substr(0, bytes.size() - kDigestDigits);
  Xxh3 digest;
  digest.update(digested);
  if (digest.hex() != bytes.substr(digested.size())) {
    refuse("is damaged: its digest does not fit its bytes");
  }
  std::uint64_t json_length = 0;
  std::memcpy(&json_length, digested.data() + digested.size() - kLengthBytes, kLengthBytes);
  const std::size_t body = digested.size() - kIndexMagic.size() - kLengthBytes;
  if (json_length > body || (body - json_length) % sizeof(IndexRecord) != 0) {
    refuse("is damaged: its parts do not fit its size");
  }
  size_ = static_cast<std::int64_t>((body - json_length) / sizeof(IndexRecord));
  try {
    const Json json = parse_untrusted_json(digested.substr(digested.size() - kLengthBytes - json_length, json_length));
    if (json.at("format") != kIndexFormat) {
      refuse("has format " + json.at("format").dump() + "; this version reads " + std::to_string(kIndexFormat));
    }
    options_ = json.at("options");
    data_file_ = {.bytes = whole_number(json.at("file").at("bytes")),
                  .sha256 = json.at("file").at("sha256").get<std::string>()};
    report_ = ingest_report_from_json(json.at("report"));
  } catch (const Json::exception& error) {
    refuse(std::string("is damaged: ") + error.what());
  }
  if (size_ != report_.samples) {
    refuse("is damaged: it has " + std::to_string(size_) + " records for " + std::to_string(report_.samples) +
           " samples");
  }
}

IndexRecord SampleIndex::record(std::int64_t id) const {
  SAMEGRAD_CHECK_OP(id, >=, 0);
  SAMEGRAD_CHECK_OP(id, <, size_);
  IndexRecord record;
  const std::size_t place = kIndexMagic.size() + static_cast<std::size_t>(id) * sizeof(IndexRecord);
  std::memcpy(&record, file_.bytes().data() + place, sizeof(record));
  return record;
}

}  // namespace samegrad
