#include "samegrad/ddp/model_agreement.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <sstream>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/ddp/tensor_bytes.h"

namespace samegrad {
namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Every rank's text, in rank order.
std::vector<std::string> gather_texts(const World& world, const std::string& mine, std::string_view name) {
  const CallLabel label{name, 0, world.timeout()};
  const auto ranks = static_cast<std::size_t>(world.size());
  const auto length = static_cast<std::uint64_t>(mine.size());
  std::vector<std::uint64_t> lengths(ranks);
  world.communicator().all_gather(std::as_bytes(std::span(&length, 1)), std::as_writable_bytes(std::span(lengths)),
                                  label);
  const std::size_t longest = std::ranges::max(lengths);
  std::string sent = mine;
  sent.resize(longest);
  std::string all(longest * ranks, '\0');
  if (longest > 0) {
    world.communicator().all_gather(std::as_bytes(std::span(sent)), std::as_writable_bytes(std::span(all)), label);
  }
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < ranks; ++rank) texts.push_back(all.substr(rank * longest, lengths[rank]));
  return texts;
}

}  // namespace

void agree_on_form(const World& world, const std::vector<std::string>& options,
                   const std::vector<TensorForm>& parameters, const std::vector<TensorForm>& buffers) {
  std::vector<std::string> lines = options;
  for (const TensorForm& form : parameters) lines.push_back("parameter " + form.name + ": " + form.form);
  for (const TensorForm& form : buffers) lines.push_back("buffer " + form.name + ": " + form.form);
  const std::vector<std::string> all = gather_texts(world, joined(lines), "model form");
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    const std::vector<std::string> first = split(all[0]);
    const std::vector<std::string> other = split(all[rank]);
    const auto differ = std::ranges::mismatch(first, other);
    const auto said = [](auto at, auto end) { return at == end ? std::string("nothing more") : "'" + *at + "'"; };
    throw InputError(
        "ddp", "ranks differ in the model or its options: rank 0 has " + said(differ.in1, first.end()) + ", rank " +
                   std::to_string(rank) + " has " + said(differ.in2, other.end()) +
                   "; build the same model on every rank, its parts in the same order, and wrap it with the same "
                   "options");
  }
}

void broadcast_tensors(const World& world, const std::vector<NamedTensor>& tensors, int root, std::string_view what) {
  if (world.size() == 1 || tensors.empty()) return;
  std::vector<std::byte> bytes = bytes_of_tensors(tensors);
  world.communicator().broadcast(bytes, root, {what, 0, world.timeout()});
  set_bytes_of_tensors(tensors, bytes);
}

void check_same_values(const World& world, const std::vector<NamedTensor>& tensors, const std::string& when) {
  if (world.size() == 1) return;
  std::string hashes;
  for (const NamedTensor& named : tensors) hashes += tensor_hash(named.tensor);
  const std::size_t digits = tensors.empty() ? 0 : hashes.size() / tensors.size();
  const std::vector<std::string> digests = gather_texts(world, xxh3_128_hex(hashes), "check of the model");
  if (std::ranges::adjacent_find(digests, std::not_equal_to<>()) == digests.end()) return;
  const std::vector<std::string> all = gather_texts(world, hashes, "check of the model");
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    if (all[rank].size() != all[0].size()) {
      throw RunError("ddp", when + ": rank 0 and rank " + std::to_string(rank) +
                                " hold unequal numbers of tensors; make the same changes to the model on every rank");
    }
    const auto at = static_cast<std::size_t>(std::ranges::mismatch(all[0], all[rank]).in1 - all[0].begin()) / digits;
    throw RunError("ddp", when + ": " + tensors[at].name + " differs between rank 0 and rank " + std::to_string(rank) +
                              "; every rank must start from the same values, exchange every gradient and take the "
                              "same steps");
  }
}

}  // namespace samegrad
