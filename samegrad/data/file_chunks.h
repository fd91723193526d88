// A file from its beginning to its end in pieces of bounded size, hashed on the way.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "samegrad/base/digest.h"
#include "samegrad/data/data_file.h"

namespace samegrad {

class FileChunks {
 public:
  /// `chunk_bytes`: more than the 3 bytes of a byte order mark, since an empty piece means the end.
  explicit FileChunks(const DataFile& file, std::size_t chunk_bytes = std::size_t{1} << 20);

  /// The next piece, empty at the end of the file. A UTF-8 byte order mark at the file's beginning is hashed, but left
  /// out of the first piece. The view lives until the next call.
  std::string_view next();
  /// Where in the file the piece last returned begins.
  std::int64_t offset() const { return offset_; }
  /// Bytes read so far.
  std::int64_t bytes() const { return bytes_; }
  /// SHA-256 of the bytes read. Call once.
  std::string sha256() { return digest_.hex(); }

 private:
  const DataFile& file_;
  std::vector<char> buffer_;
  Sha256 digest_;
  std::int64_t offset_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace samegrad
