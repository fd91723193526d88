#include "samegrad/base/name_owner.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/base/regular_file.h"

namespace samegrad {
namespace {

constexpr std::size_t kHostDigits = 8;

/// By its name, not by its boot: what is found after the host, or a container, was started again is its own.
const std::string& this_host() {
  static const std::string host = [] {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    return sha256_hex(name.data()).substr(0, kHostDigits);
  }();
  return host;
}

/// What the kernel says of the process, or the thread, with this id; "" where it says nothing.
std::string kernel_status(int id) {
  std::string text(4096, '\0');
  try {
    const RegularFile file = open_regular_file("/proc/" + std::to_string(id) + "/status", "clean");
    const ssize_t bytes = read(file.descriptor, text.data(), text.size());
    close(file.descriptor);
    text.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  } catch (const InputError&) {
    text.clear();
  }
  return text;
}

/// Whether `id` is that of a process that may still do something. Not one is a process that has ended and that nobody
/// has waited for, as where the first process of a container does not, nor a thread of another one.
bool is_alive(int id) {
  if (kill(id, 0) != 0) return errno != ESRCH;
  std::istringstream status(kernel_status(id));
  bool ended = false;
  for (std::string key, value; status >> key >> value; std::getline(status, key)) {
    if (key == "State:") ended = value == "Z" || value == "X";
    if (key == "Tgid:" && value != std::to_string(id)) return false;
    if (key == "Threads:") return !ended || std::atoi(value.c_str()) > 1;
  }
  return true;
}

}  // namespace

std::string NameOwner::text() const { return host + "-" + std::to_string(process); }

NameOwner this_process() { return {.host = this_host(), .process = getpid()}; }

std::optional<NameOwner> parse_owner(std::string_view text) {
  const std::string_view host = text.substr(0, kHostDigits);
  if (text.size() < kHostDigits + 2 || host.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
    return std::nullopt;
  }
  NameOwner owner{.host = std::string(host), .process = 0};
  std::from_chars(text.data() + kHostDigits + 1, text.data() + text.size(), owner.process);
  // "-007" is no text of ours.
  return owner.process > 0 && owner.text() == text ? std::optional(std::move(owner)) : std::nullopt;
}

bool is_left_over(const std::filesystem::path& path, const NameOwner& owner, std::time_t now) {
  if (owner.host == this_host()) {
    return owner.process == getpid() || !is_alive(owner.process);
  }
  // The last change of the entry, which a rename is too: the bytes of a checkpoint that is moved aside are older.
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 && now - found.st_ctim.tv_sec > kLeftOverAfterSeconds;
}

}  // namespace samegrad
