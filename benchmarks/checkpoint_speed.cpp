// How fast a checkpoint is saved, beside writing the same bytes and fsyncing them, and how long an asynchronous save
// holds up the training, beside a copy of the same bytes in memory.
//
//   checkpoint_speed FOLDER [--mib N] [--rounds N] [--json FILE]
//
// FOLDER lies on the disk that is meant. The tensors are one block of N MiB (1024): a third of it the parameters, the
// rest the optimizer's state. Sides alternate, what they wrote is removed and the disk settles (sync) before each.
// Figures are medians (of 5 rounds). Bounds: a save at no less than 70 % of the plain write's speed, digests included;
// a pause of no more than 1.5 copies. Exit code 3 where one does not hold.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "samegrad/base/check.h"
#include "samegrad/checkpoint/async_save.h"

namespace samegrad {
namespace {

struct Block {
  std::size_t size;
  std::unique_ptr<std::byte[]> bytes;
  explicit Block(std::size_t size_of_it) : size(size_of_it), bytes(new std::byte[size_of_it]) {
    std::uint64_t state = 1;
    for (std::size_t i = 0; i + sizeof state <= size; i += sizeof state) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      std::memcpy(bytes.get() + i, &state, sizeof state);
    }
  }
};

double seconds(const std::function<void()>& action) {
  const auto start = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

CheckpointContent content_of(const Block& block) {
  const std::span<const std::byte> all(block.bytes.get(), block.size);
  const auto view = [](std::string name, std::span<const std::byte> bytes) {
    return TensorView{.name = std::move(name),
                      .type = TensorType::kFloat32,
                      .shape = {static_cast<std::int64_t>(bytes.size() / 4)},
                      .bytes = bytes};
  };
  const std::size_t third = block.size / 3 / 4096 * 4096;
  CheckpointContent content;
  content.model = {view("weight", all.first(third))};
  content.optimizer = {view("weight.exp_avg", all.subspan(third, third)),
                       view("weight.exp_avg_sq", all.subspan(2 * third))};
  content.optimizer_options = Json::object();
  content.state = {{"run_id", "speed"}};
  content.manifest_facts = Json::object();
  return content;
}

void write_plainly(const std::filesystem::path& path, const Block& block) {
  int descriptor = -1;
  FileOperations& files = real_files();
  SAMEGRAD_CHECK_OP(files.open_new(path, descriptor), ==, 0);
  for (std::size_t done = 0; done < block.size;) {
    const ssize_t written = write(descriptor, block.bytes.get() + done, block.size - done);
    SAMEGRAD_CHECK_OP(written, >, 0);
    done += static_cast<std::size_t>(written);
  }
  SAMEGRAD_CHECK_OP(files.fsync(descriptor), ==, 0);
  SAMEGRAD_CHECK_OP(files.close(descriptor), ==, 0);
}

Json spread(const std::vector<double>& values) {
  return {{"median", median(values)},
          {"min", *std::ranges::min_element(values)},
          {"max", *std::ranges::max_element(values)}};
}

/// by / of, round by round.
std::vector<double> ratios(const std::vector<double>& by, const std::vector<double>& of) {
  std::vector<double> result;
  for (std::size_t i = 0; i < by.size(); ++i) result.push_back(by[i] / of[i]);
  return result;
}

int run(const std::filesystem::path& given, std::size_t mib, int rounds, const std::string& file) {
  const std::filesystem::path folder = given / ("checkpoint-speed-" + std::to_string(getpid()));
  const Block block(mib << 20);
  const CheckpointContent content = content_of(block);
  const auto settle = [&] {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    sync();
  };
  std::vector<double> plain;
  std::vector<double> saved;
  std::vector<double> copied;
  std::vector<double> paused;
  const std::unique_ptr<std::byte[]> copy(new std::byte[block.size]);
  AsyncSave async;
  for (int round = 0; round <= rounds; ++round) {
    settle();
    const double write_s = seconds([&] { write_plainly(folder / "plain", block); });
    settle();
    const double save_s = seconds([&] { save_checkpoint(folder, 1, content); });
    settle();
    const double copy_s = seconds([&] { std::memcpy(copy.get(), block.bytes.get(), block.size); });
    const double pause_s = seconds([&] { async.start(folder, 1, content, [](const std::filesystem::path&) {}); });
    async.wait();
    if (round == 0) continue;  // both copies' memory is touched for the first time
    plain.push_back(write_s);
    saved.push_back(save_s);
    copied.push_back(copy_s);
    paused.push_back(pause_s);
  }
  std::filesystem::remove_all(folder);
  const double speed = median(ratios(plain, saved));
  const double pause = median(ratios(paused, copied));
  std::printf("%zu MiB, %d rounds, medians\n", mib, rounds);
  std::printf("write and fsync          %8.3f s\n", median(plain));
  std::printf("checkpoint               %8.3f s   %.0f %% of that speed (at least 70)\n", median(saved), 100 * speed);
  std::printf("copy in memory           %8.4f s\n", median(copied));
  std::printf("pause of an async. save  %8.4f s   %.2f copies (at most 1.5)\n", median(paused), pause);
  if (!file.empty()) {
    std::ofstream(file) << Json{{"mib", mib},
                                {"rounds", rounds},
                                {"seconds",
                                 {{"plain", spread(plain)},
                                  {"checkpoint", spread(saved)},
                                  {"copy", spread(copied)},
                                  {"pause", spread(paused)}}},
                                {"share_of_plain_speed", spread(ratios(plain, saved))},
                                {"copies_of_a_pause", spread(ratios(paused, copied))}}
                               .dump(2)
                        << "\n";
  }
  return speed >= 0.7 && pause <= 1.5 ? 0 : 3;
}

}  // namespace
}  // namespace samegrad

int main(int argc, char** argv) {
  std::map<std::string, std::string> options{{"--mib", "1024"}, {"--rounds", "5"}, {"--json", ""}};
  bool known = argc % 2 == 0 && argv[1][0] != '-';
  for (int i = 2; known && i < argc; i += 2) {
    known = options.contains(argv[i]);
    if (known) options[argv[i]] = argv[i + 1];
  }
  if (!known) {
    std::fprintf(stderr, "checkpoint_speed FOLDER [--mib N] [--rounds N] [--json FILE]\n");
    return 2;
  }
  return samegrad::run(argv[1], std::stoull(options["--mib"]), std::stoi(options["--rounds"]), options["--json"]);
}
