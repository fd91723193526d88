// A fuzz target without libFuzzer: replay CORPUS MUTATIONS runs it over the files of a folder, over inputs that are
// hostile to any reader, and over MUTATIONS changes of these, always the same ones. A crash names its input and leaves
// it in a file; an input that takes more memory than kMostMemory is one.
#include <malloc.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <new>
#include <random>
#include <vector>

#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/mutation.h"

namespace {

/// Of all that an input makes a reader hold at one time. The largest input has 1 MiB.
constexpr std::size_t kMostMemory = std::size_t{192} << 20;

std::atomic<std::size_t> memory_held{0};
std::atomic<std::size_t> memory_limit{~std::size_t{0}};

/// The input that is being run, for the signal handler.
const std::string* running_input = nullptr;
char running_name[256] = "none";
char fault_file[256] = "";

void tell_fault(const char* what) {
  const auto say = [](const char* text) {
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0) _exit(1);
  };
  say("replay: ");
  say(what);
  say(" on input ");
  say(running_name);
  say("\n");
  if (running_input != nullptr && fault_file[0] != '\0') {
    FILE* const file = std::fopen(fault_file, "wb");
    if (file != nullptr) {
      std::fwrite(running_input->data(), 1, running_input->size(), file);
      std::fclose(file);
    }
  }
  _exit(1);
}

void on_signal(int number) { tell_fault(strsignal(number)); }

/// On a stack of their own: a reader may have used up the other.
void catch_signals() {
  static std::array<char, 1 << 16> stack;
  const stack_t other{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK;
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM}) sigaction(number, &action, nullptr);
}

void* counted_new(std::size_t bytes, std::size_t alignment) {
  void* const place = alignment == 0 ? std::malloc(bytes)
                                     : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (place == nullptr) tell_fault("memory refused");
  memory_held += malloc_usable_size(place);
  if (memory_held > memory_limit) tell_fault("too much memory");
  return place;
}

void counted_delete(void* place) {
  if (place != nullptr) memory_held -= malloc_usable_size(place);
  std::free(place);
}

void run(const std::string& name, const std::string& input) {
  std::snprintf(running_name, sizeof(running_name), "%s", name.c_str());
  running_input = &input;
  memory_limit = memory_held + kMostMemory;
  alarm(20);
  try {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "left the reader: %s\n", error.what());
    tell_fault("an exception");
  }
  alarm(0);
  memory_limit = ~std::size_t{0};
}

std::vector<samegrad::fuzz::Input> read_corpus(const std::filesystem::path& folder) {
  std::vector<samegrad::fuzz::Input> corpus;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    corpus.push_back({entry.path().filename().string(), {std::istreambuf_iterator<char>(file), {}}});
  }
  std::ranges::sort(corpus, {}, &samegrad::fuzz::Input::name);
  return corpus;
}

}  // namespace

void* operator new(std::size_t bytes) { return counted_new(bytes, 0); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted_new(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted_new(bytes, 0); }
void operator delete(void* place) noexcept { counted_delete(place); }
void operator delete(void* place, std::size_t) noexcept { counted_delete(place); }
void operator delete(void* place, std::align_val_t) noexcept { counted_delete(place); }
void operator delete(void* place, std::size_t, std::align_val_t) noexcept { counted_delete(place); }

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: %s CORPUS MUTATIONS [FILE FOR THE INPUT OF A FAULT]\n", argv[0]);
    return 2;
  }
  if (argc == 4) std::snprintf(fault_file, sizeof(fault_file), "%s", argv[3]);
  catch_signals();
  std::vector<samegrad::fuzz::Input> corpus = read_corpus(argv[1]);
  const std::size_t seeds = corpus.size();
  for (const samegrad::fuzz::Input& input : corpus) {
    samegrad::fuzz::was_accepted = false;
    run(input.name, input.bytes);
    if (input.name.starts_with("good") && !samegrad::fuzz::was_accepted) tell_fault("a good input refused");
  }
  const std::vector<samegrad::fuzz::Input> hostile = samegrad::fuzz::hostile_inputs();
  for (const samegrad::fuzz::Input& input : hostile) run(input.name, input.bytes);
  corpus.push_back({"empty", {}});
  std::mt19937_64 random(20'260'730);
  const int mutations = std::atoi(argv[2]);
  for (int i = 0; i < mutations; ++i) {
    const samegrad::fuzz::Input& from = corpus[random() % corpus.size()];
    const samegrad::fuzz::Input& other = corpus[random() % corpus.size()];
    run(from.name + " mutation " + std::to_string(i), samegrad::fuzz::mutated(from.bytes, other.bytes, random));
  }
  std::printf("seeds %zu, hostile %zu, mutations %d: no fault\n", seeds, hostile.size(), mutations);
  return 0;
}
