#include "samegrad/comm/shm_region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "samegrad/base/check.h"
#include "samegrad/base/error.h"
#include "samegrad/comm/environment.h"

namespace samegrad {
namespace {

constexpr std::string_view kStage = "comm";
constexpr std::uint64_t kMagic = 0x3430444152474D53;  // "SMGRAD04": the layout's version is part of it
constexpr std::size_t kPage = 4096;

struct RegionHeader {
  std::uint64_t magic;
  std::uint64_t world_size;
  std::uint64_t slot_bytes;
  std::uint64_t arena_bytes;
};

// The story lies in the header's page.
constexpr std::size_t kStoryOffset = 64;
static_assert(sizeof(RegionHeader) <= kStoryOffset && kStoryOffset + sizeof(ShmStory) <= kPage);

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

std::size_t outbox_offset(int world_size) {
  return kPage + round_up(static_cast<std::size_t>(world_size) * sizeof(ShmRankRecord), kPage);
}

std::size_t arena_offset(int world_size, std::size_t slot_bytes) {
  return round_up(outbox_offset(world_size) + static_cast<std::size_t>(world_size) * 2 * slot_bytes, kPage);
}

std::size_t region_bytes(int world_size, std::size_t slot_bytes, std::size_t arena_bytes) {
  return arena_offset(world_size, slot_bytes) + static_cast<std::size_t>(world_size) * arena_bytes;
}

bool is_limited(int resource) {
  rlimit limit{};
  return getrlimit(static_cast<decltype(RLIMIT_AS)>(resource), &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

/// Of each of `world_size` processes. They inherit this process's limits, or share its place.
std::size_t arena_bytes_for(int world_size) {
  if (is_limited(RLIMIT_AS) || is_limited(RLIMIT_FSIZE)) return 0;
  return kArenaBytesOfAllRanks / static_cast<std::size_t>(world_size) / kPage * kPage;
}

/// Maps a region: the file's, or for -1 a new one of this process. Throws RunError.
std::byte* map_region(int fd, std::size_t bytes, std::size_t arenas_at) {
  const int flags = MAP_SHARED | MAP_NORESERVE | (fd < 0 ? MAP_ANONYMOUS : 0);
  void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (base == MAP_FAILED) {
    throw RunError(kStage, "mapping " + std::to_string(bytes) + " bytes of shared memory: " + std::strerror(errno));
  }
  auto* const memory = static_cast<std::byte*>(base);
  if (bytes > arenas_at) madvise(memory + arenas_at, bytes - arenas_at, MADV_DONTDUMP);  // a core file of its size
  return memory;
}

std::string reason() { return std::strerror(errno); }

/// Closes the descriptor unless released.
class OwnedFd {
 public:
  explicit OwnedFd(int fd) : fd_(fd) {}
  ~OwnedFd() {
    if (fd_ >= 0) {
      close(fd_);
    }
  }
  OwnedFd(const OwnedFd&) = delete;
  OwnedFd& operator=(const OwnedFd&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

[[noreturn]] void refuse_fd(int fd, const std::string& what) {
  throw InputError(kStage, std::string(kSharedMemoryVariable) + "=" + std::to_string(fd) + ": " + what +
                               "; it must be the descriptor that the launcher of this run made, so start processes "
                               "with `samegrad train --nproc N`");
}

}  // namespace

int create_region_file(int world_size, std::size_t slot_bytes) {
  const std::size_t arena_bytes = arena_bytes_for(world_size);
  const std::size_t bytes = region_bytes(world_size, slot_bytes, arena_bytes);
  const std::string what =
      "shared memory for " + std::to_string(world_size) + " processes (" + std::to_string(bytes) + " bytes): ";
  OwnedFd fd(memfd_create("samegrad", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd.get() < 0) {
    throw RunError(kStage, what + "memfd_create: " + reason());
  }
  const RegionHeader header{kMagic, static_cast<std::uint64_t>(world_size), slot_bytes, arena_bytes};
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0 ||
      pwrite(fd.get(), &header, sizeof(header), 0) != static_cast<ssize_t>(sizeof(header)) ||
      fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    throw RunError(kStage, what + reason());
  }
  return fd.release();
}

ShmRegion ShmRegion::adopt_file(int fd, int world_size) {
  struct stat status {};
  if (fstat(fd, &status) != 0) {
    refuse_fd(fd, reason());
  }
  RegionHeader header{};
  if (!S_ISREG(status.st_mode) || pread(fd, &header, sizeof(header), 0) != static_cast<ssize_t>(sizeof(header)) ||
      header.magic != kMagic) {
    refuse_fd(fd, "not the shared memory of this version of samegrad");
  }
  if (header.world_size != static_cast<std::uint64_t>(world_size)) {
    refuse_fd(fd, "made for " + std::to_string(header.world_size) + " processes, but " + kWorldSizeVariable + " is " +
                      std::to_string(world_size));
  }
  const std::size_t bytes = region_bytes(world_size, header.slot_bytes, header.arena_bytes);
  if (header.slot_bytes % 64 != 0 || header.arena_bytes % kPage != 0 ||
      static_cast<std::size_t>(status.st_size) != bytes) {
    refuse_fd(fd, "damaged: " + std::to_string(status.st_size) + " bytes instead of " + std::to_string(bytes));
  }
  std::byte* const base = map_region(fd, bytes, arena_offset(world_size, header.slot_bytes));
  close(fd);
  return {base, world_size, header.slot_bytes, header.arena_bytes};
}

ShmRegion ShmRegion::for_threads(int world_size, std::size_t slot_bytes, std::size_t arena_bytes) {
  SAMEGRAD_CHECK_OP(slot_bytes % 64, ==, 0U);
  SAMEGRAD_CHECK_OP(arena_bytes % kPage, ==, 0U);
  const std::size_t bytes = region_bytes(world_size, slot_bytes, arena_bytes);
  return {map_region(-1, bytes, arena_offset(world_size, slot_bytes)), world_size, slot_bytes, arena_bytes};
}

ShmRegion::ShmRegion(std::byte* base, int world_size, std::size_t slot_bytes, std::size_t arena_bytes)
    : base_(base), world_size_(world_size), slot_bytes_(slot_bytes), arena_bytes_(arena_bytes) {
  static_assert(kRecordsAt == kPage);
}

ShmRegion::ShmRegion(ShmRegion&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      world_size_(other.world_size_),
      slot_bytes_(other.slot_bytes_),
      arena_bytes_(other.arena_bytes_) {}

ShmRegion::~ShmRegion() {
  if (base_ != nullptr) {
    munmap(base_, region_bytes(world_size_, slot_bytes_, arena_bytes_));
  }
}

ShmStory& ShmRegion::story() const { return *reinterpret_cast<ShmStory*>(base_ + kStoryOffset); }

std::byte* ShmRegion::outbox(int rank, std::uint32_t slot) const {
  return base_ + outbox_offset(world_size_) + (static_cast<std::size_t>(rank) * 2 + slot) * slot_bytes_;
}

std::span<std::byte> ShmRegion::arena(int rank) const {
  return {base_ + arena_offset(world_size_, slot_bytes_) + static_cast<std::size_t>(rank) * arena_bytes_, arena_bytes_};
}

}  // namespace samegrad
