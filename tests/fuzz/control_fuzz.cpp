// A reader with planted faults, one for each way in which the replay must find one.
#include <cstring>
#include <stdexcept>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

using namespace samegrad;

namespace {

int depth_of(std::string_view text, std::size_t at) {
  volatile char frame[256] = {};
  frame[at % sizeof(frame)] = 1;
  return at < text.size() && text[at] == '[' ? depth_of(text, at + 1) + frame[at % sizeof(frame)] : 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const char* const planted = std::getenv("SAMEGRAD_PLANTED_FAULT");
  const std::string_view fault = planted == nullptr ? "" : planted;
  if (fault == "none") fuzz::accepted();
  if (fault == "memory" && size >= 12 && text.starts_with("LEN:")) {
    std::uint64_t length = 0;
    std::memcpy(&length, data + 4, sizeof(length));
    const std::vector<char> believed(length % (std::uint64_t{1} << 33));
  } else if (fault == "family" && text.find("\xff") != std::string_view::npos) {
    fuzz::may_refuse({ExitCode::kBadInput}, [] { throw RunError("control", "of the wrong family"); });
  } else if (fault == "foreign" && text.find('\0') != std::string_view::npos) {
    throw std::out_of_range("no samegrad::Error");
  } else if (fault == "stack") {
    depth_of(text, 0);
  } else if (fault == "pointer" && text.find("../") != std::string_view::npos) {
    fuzz::require(*reinterpret_cast<const volatile char*>(std::uintptr_t{size % 7}) == 0, "");
  }
  return 0;
}
