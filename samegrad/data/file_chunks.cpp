#include "samegrad/data/file_chunks.h"

namespace samegrad {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

FileChunks::FileChunks(const DataFile& file, std::size_t chunk_bytes) : file_(file), buffer_(chunk_bytes) {}

std::string_view FileChunks::next() {
  const bool first = bytes_ == 0;
  offset_ = bytes_;
  std::string_view chunk(buffer_.data(), file_.read_at(offset_, buffer_));
  digest_.update(chunk);
  bytes_ += static_cast<std::int64_t>(chunk.size());
  if (first && chunk.starts_with(kByteOrderMark)) {
    chunk.remove_prefix(kByteOrderMark.size());
    offset_ += static_cast<std::int64_t>(kByteOrderMark.size());
  }
  return chunk;
}

}  // namespace samegrad
