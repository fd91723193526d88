#include "samegrad/data/data_lock.h"

#include <algorithm>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/base/untrusted_json.h"

namespace samegrad {
namespace {

constexpr std::int64_t kLockFormat = 1;

Json without_digest(const DataLock& lock) {
  Json splits = Json::object();
  for (const auto& [name, split] : lock.splits) {
    splits[name] = {{"samples", split.samples},
                    {"tokens", split.tokens},
                    {"supervised_tokens", split.supervised_tokens},
                    {"bytes", split.bytes},
                    {"sha256", split.sha256}};
  }
  return {{"format", kLockFormat}, {"task", lock.task}, {"splits", splits}};
}

std::string names_of(const DataLock& lock) {
  std::string names;
  for (const auto& [name, split] : lock.splits) {
    names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

[[noreturn]] void throw_changed(const std::string& what, const std::string& before, const std::string& now) {
  throw InputError("data", "the data changed: " + what + " was " + before + ", is " + now +
                               "; give the same data, or start a new run");
}

void compare_number(const std::string& what, std::int64_t before, std::int64_t now) {
  if (before != now) {
    throw_changed(what, std::to_string(before), std::to_string(now));
  }
}

}  // namespace

std::string DataLock::digest() const { return sha256_hex(without_digest(*this).dump()); }

SplitLock lock_split(const SampleSource& source, const FileFingerprint& file) {
  SplitLock lock{.samples = source.size(), .bytes = file.bytes, .sha256 = file.sha256};
  for (std::int64_t id = 0; id < source.size(); ++id) {
    lock.tokens += source.input_tokens(id);
    lock.supervised_tokens += source.supervised_tokens(id);
  }
  return lock;
}

Json to_json(const DataLock& lock) {
  Json json = without_digest(lock);
  json["digest"] = lock.digest();
  return json;
}

DataLock data_lock_from_json(const Json& json, const std::string& where) {
  DataLock lock;
  try {
    if (json.at("format") != kLockFormat) {
      throw CheckError("data", where + ": format " + json.at("format").dump() + "; this version reads " +
                                   std::to_string(kLockFormat));
    }
    lock.task = json.at("task").get<std::string>();
    for (const auto& [name, split] : json.at("splits").items()) {
      lock.splits.emplace_back(name, SplitLock{.samples = whole_number(split.at("samples")),
                                               .tokens = whole_number(split.at("tokens")),
                                               .supervised_tokens = whole_number(split.at("supervised_tokens")),
                                               .bytes = whole_number(split.at("bytes")),
                                               .sha256 = split.at("sha256").get<std::string>()});
    }
    if (json.at("digest") != lock.digest()) {
      throw CheckError("data", where + ": the data lock is damaged: its digest is " + json.at("digest").dump() +
                                   ", its content has " + lock.digest());
    }
  } catch (const Json::exception& error) {
    throw CheckError("data", where + ": the data lock is damaged: " + error.what());
  }
  return lock;
}

DataLock read_data_lock(const std::filesystem::path& path) {
  return data_lock_from_json(read_json_file(path, "data"), path.string());
}

const SplitLock* split_of(const DataLock& lock, std::string_view name) {
  const auto found = std::ranges::find(lock.splits, name, &std::pair<std::string, SplitLock>::first);
  return found == lock.splits.end() ? nullptr : &found->second;
}

DataLock training_part(const DataLock& lock) {
  DataLock part{.task = lock.task, .splits = {}};
  if (const SplitLock* train = split_of(lock, "train")) part.splits.emplace_back("train", *train);
  return part;
}

void compare_data_locks(const DataLock& before, const DataLock& now) {
  if (before.task != now.task) {
    throw_changed("data.task", before.task, now.task);
  }
  if (names_of(before) != names_of(now)) {
    throw_changed("the splits", names_of(before), names_of(now));
  }
  for (std::size_t i = 0; i < before.splits.size(); ++i) {
    const auto& [name, old_split] = before.splits[i];
    const SplitLock& new_split = now.splits[i].second;
    compare_number(name + " samples", old_split.samples, new_split.samples);
    compare_number(name + " bytes", old_split.bytes, new_split.bytes);
    if (old_split.sha256 != new_split.sha256) {
      throw_changed(name + " sha256", old_split.sha256, new_split.sha256);
    }
    compare_number(name + " tokens", old_split.tokens, new_split.tokens);
    compare_number(name + " supervised tokens", old_split.supervised_tokens, new_split.supervised_tokens);
  }
}

}  // namespace samegrad
