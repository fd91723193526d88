// What a fuzz target is made of: the entry that libFuzzer and the replay call, a folder in memory, and the one allowed
// way to refuse an input. A target is one *_fuzz.cpp with LLVMFuzzerTestOneInput; anything that leaves it but a return
// is a fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "samegrad/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace samegrad::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Ends the program by SIGABRT where `holds` is false.
inline void require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "not held: %s\n", what);
    std::abort();
  }
}

/// Whether the reader took the last input for a good one. The replay resets it, and wants it of every seed that is
/// named good: a target whose good inputs are refused, as after a change of their format, would try nothing behind
/// that.
inline bool was_accepted = false;
inline void accepted() { was_accepted = true; }

/// Runs `read`, which may return, or throw an Error with one of the exit codes `allowed` whose line is short and one
/// line. Everything else is a fault.
template <typename Read>
void may_refuse(std::initializer_list<ExitCode> allowed, const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    const std::string_view line = error.what();
    bool right = false;
    for (const ExitCode code : allowed) right = right || error.exit_code() == code;
    require(right, "the exit code is one that this reader may give");
    require(line.starts_with('['), "the line begins with its stage");
    require(line.size() < 16'384, "the line is short");
  }
}

/// A folder below TMPDIR, without it in memory, that lasts as long as a program that ends by itself.
class ScratchFolder {
 public:
  ScratchFolder() {
    const char* const parent = std::getenv("TMPDIR");
    std::string name = std::string(parent == nullptr ? "/dev/shm" : parent) + "/samegrad-fuzz-XXXXXX";
    require(mkdtemp(name.data()) != nullptr, "a folder can be made");
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::filesystem::path write(const std::string& name, std::string_view bytes) const {
    std::filesystem::path path = path_ / name;
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The two parts of an input that has two, split at a line of its own that says "===".
inline std::pair<std::string_view, std::string_view> two_parts(std::string_view input) {
  constexpr std::string_view kBetween = "\n===\n";
  const std::size_t at = input.find(kBetween);
  if (at == std::string_view::npos) return {input, {}};
  return {input.substr(0, at), input.substr(at + kBetween.size())};
}

}  // namespace samegrad::fuzz
