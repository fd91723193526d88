// window_ahead_speed DATA.jsonl INDEX [JSON]: what the thread that trains spends on the samples of a window, 16 of the
// file at random, when it reads and packs them itself and when another thread has (data.prefetch), 12 ms, a short
// update, before; with the file in memory, and after the system was told to drop its pages. INDEX:
// outputs/data/index-train.bin of `samegrad prepare --config configs/text.yaml --set data.train=DATA.jsonl`.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "samegrad/base/atomic_file.h"
#include "samegrad/base/json.h"
#include "samegrad/base/philox.h"
#include "samegrad/data/text_options.h"
#include "samegrad/data/text_source.h"
#include "samegrad/train/window_ahead.h"

namespace samegrad {
namespace {

constexpr int kWindows = 150;
constexpr std::uint32_t kAtoms = 4;
constexpr std::uint32_t kSamples = 4;  // of an atom
constexpr auto kUpdate = std::chrono::milliseconds(12);

BuiltWindow window_of(const SampleSource& source, std::int64_t update) {
  BuiltWindow built{.plan = {.update = update, .atoms = {}}, .batches = {}};
  for (std::uint32_t a = 0; a < kAtoms; ++a) {
    Atom& atom = built.plan.atoms.emplace_back();
    for (std::uint32_t i = 0; i < kSamples; ++i) {
      const auto bits = philox4x32({static_cast<std::uint32_t>(update), a, i, 0}, {1, 2});
      atom.push_back(bits[0] % source.size());
    }
  }
  built.batches = window_batches(built.plan, {0, kAtoms}, source, Objective{});
  return built;
}

template <class Work>
double milliseconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

Json figures(std::vector<double> values) {
  std::ranges::sort(values);
  return {{"least", values.front()}, {"median", values[values.size() / 2]}};
}

Json measured(const std::filesystem::path& data, WindowAhead& windows, bool cold) {
  const int file = open(data.c_str(), O_RDONLY | O_CLOEXEC);
  std::vector<char> part(1 << 20);
  while (read(file, part.data(), part.size()) > 0) {
  }
  std::vector<double> itself;
  std::vector<double> ahead;
  for (std::int64_t update = 1; update < 2 * kWindows; update += 2) {
    if (cold) posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    itself.push_back(milliseconds([&] { windows.take(update); }));
    if (cold) posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    ahead.push_back(milliseconds([&] { windows.start(update + 1); }));
    std::this_thread::sleep_for(kUpdate);
    ahead.back() += milliseconds([&] { windows.take(update + 1); });
  }
  close(file);
  return {{"itself_ms", figures(itself)}, {"ahead_ms", figures(ahead)}};
}

}  // namespace
}  // namespace samegrad

int main(int argc, char** argv) {
  using namespace samegrad;
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: window_ahead_speed DATA.jsonl INDEX [JSON]\n");
    return 2;
  }
  const auto source = std::make_shared<TextSource>(argv[1], argv[2], TextOptions{.context = 256});  // as in text.yaml
  WindowAhead windows([source](std::int64_t update) { return window_of(*source, update); });
  Json result;
  for (const bool cold : {false, true}) {
    const Json found = measured(argv[1], windows, cold);
    std::printf("window, %s file: %s\n", cold ? "cold" : "warm", found.dump().c_str());
    result[cold ? "cold" : "warm"] = found;
  }
  if (argc == 4) write_json_file(argv[3], result);
  return 0;
}
