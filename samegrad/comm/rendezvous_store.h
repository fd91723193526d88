// Where ranks that have no way to each other yet leave notes: keys with values, kept by a launcher or in a file.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace samegrad {

class RendezvousStore {
 public:
  virtual ~RendezvousStore() = default;

  /// Throws RunError where the store cannot be reached. Local.
  virtual void set(const std::string& key, const std::string& value) = 0;
  /// The value as soon as it is there; nothing where it is not within `timeout` (0: one look). Throws RunError where
  /// the store cannot be reached. Local.
  virtual std::optional<std::string> get(const std::string& key, std::chrono::milliseconds timeout) = 0;
};

}  // namespace samegrad
