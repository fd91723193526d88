#include "samegrad/comm/status_writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <system_error>
#include <thread>

#include "samegrad/base/temporary_name.h"
#include "samegrad/comm/process_watch.h"

namespace samegrad {
namespace {

template <std::size_t kSize>
void put_text(std::array<char, kSize>& chars, std::string_view text) {
  chars.fill('\0');
  std::transform(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(text.size(), kSize - 1)),
                 chars.begin(), [](char c) { return c >= ' ' && c <= '~' ? c : '?'; });
}

void store(StatusImage& image, std::uint64_t current, const StatusMoment& moment) {
  image.moments[current % 2].store(moment);
  image.current.store(current, std::memory_order_release);
}

class SpinLock {
 public:
  explicit SpinLock(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  }
  ~SpinLock() { flag_.clear(std::memory_order_release); }
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

 private:
  std::atomic_flag& flag_;
};

/// The open file with `bytes` in it, mapped; nullptr where that cannot be done. The bytes are written before they are
/// mapped: a full disk must show here, not as a signal at a later store.
StatusImage* mapped_with(int fd, const StatusBytes& bytes) {
  if (fd < 0 || pwrite(fd, &bytes, sizeof(bytes), 0) != static_cast<ssize_t>(sizeof(bytes))) return nullptr;
  void* const base = mmap(nullptr, sizeof(StatusImage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return base == MAP_FAILED ? nullptr : static_cast<StatusImage*>(base);
}

}  // namespace

StatusWriter::StatusWriter(int rank, int world_size) {
  identity_.image_bytes = sizeof(StatusImage);
  identity_.rank = rank;
  identity_.world_size = world_size;
  identity_.pid = getpid();
  identity_.start_time = process_start_time(identity_.pid);
  identity_.started_realtime_ns = realtime_ns();
  identity_.started_monotonic_ns = monotonic_ns();
  realtime_ahead_ns_ = identity_.started_realtime_ns - identity_.started_monotonic_ns;
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  put_text(identity_.host, host.data());
  put_text(identity_.pid_space, pid_space_of_this_process());
  moment_.state = static_cast<std::uint32_t>(RankState::kRunning);
  moment_.progress_realtime_ns = identity_.started_realtime_ns;
  moment_.progress_monotonic_ns = identity_.started_monotonic_ns;
  put_text(moment_.phase, "start");
}

StatusWriter::~StatusWriter() {
  for (StatusImage* const image : mapped_) munmap(image, sizeof(StatusImage));
  if (shared_fd_ >= 0) close(shared_fd_);
}

StatusBytes StatusWriter::bytes_now() const {
  StatusBytes bytes;
  bytes.identity = identity_;
  bytes.current = current_;
  bytes.moments.fill(moment_);
  return bytes;
}

bool StatusWriter::take(StatusImage* image) {
  if (image == nullptr) return false;
  images_.push_back(image);
  mapped_.push_back(image);
  return true;
}

bool StatusWriter::place_in_folder(const std::filesystem::path& folder) {
  const SpinLock lock(busy_);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::filesystem::path path = status_path(folder, identity_.rank);
  const std::filesystem::path aside = temporary_path(path);
  remove_left_temporaries(path);
  const int fd = open(aside.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  StatusImage* const image = mapped_with(fd, bytes_now());
  if (fd >= 0) close(fd);
  if (image != nullptr && std::rename(aside.c_str(), path.c_str()) == 0) return take(image);
  if (image != nullptr) munmap(image, sizeof(StatusImage));
  unlink(aside.c_str());
  return false;
}

int StatusWriter::share() {
  const SpinLock lock(busy_);
  if (shared_fd_ >= 0) return shared_fd_;
  const int fd = memfd_create("samegrad-status", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (take(mapped_with(fd, bytes_now())) && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
    shared_fd_ = fd;
  } else if (fd >= 0) {
    close(fd);
  }
  return shared_fd_;
}

void StatusWriter::place_in_memory(StatusImage& image) {
  const SpinLock lock(busy_);
  image.identity.store(identity_);
  store(image, current_, moment_);
  images_.push_back(&image);
}

void StatusWriter::set_phase(std::string_view phase, std::int64_t update) {
  const SpinLock lock(busy_);
  put_text(moment_.phase, phase);
  moment_.update = std::max<std::int64_t>(0, update);
  const std::int64_t now = monotonic_ns();
  realtime_ahead_ns_ = realtime_ns() - now;
  publish(now);
}

void StatusWriter::enter(const CallRecord& call) {
  const SpinLock lock(busy_);
  moment_.state = static_cast<std::uint32_t>(RankState::kWaiting);
  moment_.operation = static_cast<std::uint32_t>(call.operation);
  moment_.root = call.root;
  moment_.dtype = static_cast<std::uint32_t>(call.dtype);
  moment_.bytes = call.bytes;
  moment_.call_update = std::max<std::int64_t>(0, call.update);
  moment_.name = call.name;
  ++moment_.collectives;
  moment_.entered_realtime_ns = call.entered_ns + realtime_ahead_ns_;
  moment_.entered_monotonic_ns = call.entered_ns;
  publish(call.entered_ns);
}

void StatusWriter::leave() {
  const SpinLock lock(busy_);
  if (ended_) return;
  moment_.state = static_cast<std::uint32_t>(RankState::kRunning);
  note_progress(monotonic_ns());
  for (StatusImage* const image : images_) {
    auto& moment = image->moments[current_ % 2];
    moment.store_part(moment_, offsetof(StatusMoment, state), offsetof(StatusMoment, operation));
    moment.store_part(moment_, offsetof(StatusMoment, progress_realtime_ns), offsetof(StatusMoment, phase));
  }
}

void StatusWriter::end(RankState state) {
  const SpinLock lock(busy_);
  moment_.state = static_cast<std::uint32_t>(state);
  publish(monotonic_ns());
  ended_ = true;
}

void StatusWriter::publish(std::int64_t now_monotonic_ns) {
  if (ended_) return;
  note_progress(now_monotonic_ns);
  ++current_;
  for (StatusImage* const image : images_) store(*image, current_, moment_);
}

void StatusWriter::note_progress(std::int64_t now_monotonic_ns) {
  moment_.progress_realtime_ns = now_monotonic_ns + realtime_ahead_ns_;
  moment_.progress_monotonic_ns = now_monotonic_ns;
}

}  // namespace samegrad
