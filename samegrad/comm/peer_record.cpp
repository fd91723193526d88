#include "samegrad/comm/peer_record.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "samegrad/comm/status_image.h"

namespace samegrad {
namespace {

/// Memory that cannot be cut: a read behind its end would be a signal.
bool is_sealed_record(int fd) {
  struct stat found {};
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(fd, &found) == 0 &&
         found.st_size == static_cast<off_t>(sizeof(StatusImage));
}

}  // namespace

PeerRecord::PeerRecord(const RankFacts& facts, int rank) : rank_(rank) {
  if (facts.status_fd < 0) return;
  const std::string path = "/proc/" + std::to_string(facts.pid) + "/fd/" + std::to_string(facts.status_fd);
  const int fd = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return;
  if (is_sealed_record(fd)) {
    void* const base = mmap(nullptr, sizeof(StatusImage), PROT_READ, MAP_SHARED, fd, 0);
    if (base != MAP_FAILED) image_ = static_cast<const StatusImage*>(base);
  }
  close(fd);
}

PeerRecord::PeerRecord(PeerRecord&& other) noexcept
    : rank_(other.rank_), image_(std::exchange(other.image_, nullptr)) {}

PeerRecord::~PeerRecord() {
  if (image_ != nullptr) munmap(const_cast<StatusImage*>(image_), sizeof(StatusImage));
}

std::optional<RankStatus> PeerRecord::read() const {
  return image_ == nullptr ? std::nullopt : read_status_image(*image_, rank_).status;
}

}  // namespace samegrad
