#include "samegrad/checkpoint/module_ranks.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <span>

#include "samegrad/base/error.h"
#include "samegrad/comm/agreement.h"

namespace samegrad::checkpoint {
namespace {

CallLabel label(const World& world, std::int64_t update) { return {"checkpoint", update, world.timeout()}; }

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

}  // namespace

void together(const World& world, std::int64_t update, const std::function<void()>& action) {
  std::string failure;
  ExitCode code = ExitCode::kRunFailed;
  const auto of_rank = [&](const std::string& what) {
    return "[checkpoint] rank " + std::to_string(world.rank()) + ": " + one_line(what);
  };
  try {
    action();
  } catch (const Error& error) {
    failure = error.what();
    code = error.exit_code();
  } catch (const c10::Error& error) {
    failure = of_rank(error.what_without_backtrace());
  } catch (const std::exception& error) {
    failure = of_rank(error.what());
  }
  agree_no_failure(world.communicator(), failure, static_cast<int>(code), label(world, update));
}

std::string text_of_rank_0(const World& world, std::int64_t update, const std::string& mine) {
  auto size = static_cast<std::int64_t>(mine.size());
  world.communicator().broadcast(std::as_writable_bytes(std::span(&size, 1)), 0, label(world, update));
  std::string text = mine;
  text.resize(static_cast<std::size_t>(size));
  world.communicator().broadcast(std::as_writable_bytes(std::span(text)), 0, label(world, update));
  return text;
}

std::vector<std::string> texts_of_all(const World& world, std::int64_t update, const std::string& mine) {
  const auto ranks = static_cast<std::size_t>(world.size());
  const auto size = static_cast<std::int64_t>(mine.size());
  std::vector<std::int64_t> sizes(ranks);
  world.communicator().all_gather(std::as_bytes(std::span(&size, 1)), std::as_writable_bytes(std::span(sizes)),
                                  label(world, update));
  const auto longest = static_cast<std::size_t>(*std::ranges::max_element(sizes));
  std::string padded = mine;
  padded.resize(longest);
  std::string all(longest * ranks, '\0');
  world.communicator().all_gather(std::as_bytes(std::span(padded)), std::as_writable_bytes(std::span(all)),
                                  label(world, update));
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < ranks; ++i) {
    texts.push_back(all.substr(i * longest, static_cast<std::size_t>(sizes[i])));
  }
  return texts;
}

}  // namespace samegrad::checkpoint
