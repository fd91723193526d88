#include "samegrad/base/cut_file.h"

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <sstream>

#include "samegrad/base/error.h"
#include "samegrad/base/regular_file.h"

namespace samegrad {
namespace {

void (*tell_line)(const std::string&) = nullptr;

/// The file that is mapped at `address`; empty where none is. Throws InputError where /proc does not tell.
std::string mapped_at(std::uintptr_t address) {
  const RegularFile maps = open_regular_file("/proc/self/maps", "files");
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t size = 0; (size = read(maps.descriptor, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  close(maps.descriptor);
  std::istringstream lines(text);  // begin-end rights offset device inode path
  for (std::string line; std::getline(lines, line);) {
    char* end = nullptr;
    const std::uintptr_t begin = std::strtoull(line.c_str(), &end, 16);
    const std::uintptr_t past = std::strtoull(end + 1, nullptr, 16);
    if (address < begin || address >= past) continue;
    const std::size_t path = line.find('/');
    return path == std::string::npos ? "" : line.substr(path);
  }
  return {};
}

void on_bus_error(int /*number*/, siginfo_t* info, void* /*context*/) {
  constexpr unsigned kMostSeconds = 5;
  alarm(kMostSeconds);
  std::string path;
  try {
    if (info->si_code == BUS_ADRERR) path = mapped_at(reinterpret_cast<std::uintptr_t>(info->si_addr));
  } catch (const Error&) {
  }
  if (path.empty()) {
    raise(SIGBUS);  // this handler is gone by now (SA_RESETHAND)
    return;
  }
  const InputError error("files", path +
                                      ": cut while it was read, or its disk failed; put the whole file back, change it "
                                      "by a rename only, and start again");
  tell_line(error.what());
  _exit(static_cast<int>(ExitCode::kBadInput));
}

}  // namespace

void tell_of_cut_files(void (*tell)(const std::string& line)) {
  tell_line = tell;
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | static_cast<int>(SA_RESETHAND);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace samegrad
