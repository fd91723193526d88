#include "samegrad/ddp/window_buffers.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>
#include <string_view>
#include <utility>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/comm/canonical_reduction.h"

namespace samegrad {
namespace {

bool is_counter(const at::Tensor& tensor) { return at::isIntegralType(tensor.scalar_type(), /*includeBool=*/false); }

bool can_be_combined(const at::Tensor& tensor) {
  return is_counter(tensor) || tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble;
}

at::Tensor copy_of(const at::Tensor& tensor) { return tensor.detach().clone(at::MemoryFormat::Contiguous); }

std::string_view bytes_of(const at::Tensor& contiguous) {
  return {static_cast<const char*>(contiguous.const_data_ptr()), contiguous.nbytes()};
}

/// T over `atoms` times the same value, which is not atoms x value in the last bit.
at::Tensor repeated_sum(const at::Tensor& value, std::int64_t atoms) {
  if (atoms == 1) return value;
  const std::int64_t left = tree_split(atoms);
  return repeated_sum(value, left) + repeated_sum(value, atoms - left);
}

template <typename Element>
void reduce_sums(Communicator& comm, std::span<const AtomRange> ranges, const std::vector<AtomRange>& nodes,
                 const std::vector<at::Tensor>& sums, const at::Tensor& mean, std::int64_t atoms,
                 const CallLabel& label) {
  std::vector<SubtreeGradient<Element>> mine;
  for (std::size_t i = 0; i < nodes.size(); ++i) mine.push_back({nodes[i], sums[i].const_data_ptr<Element>()});
  reduce_canonically(comm, ranges, mine,
                     std::span(mean.mutable_data_ptr<Element>(), static_cast<std::size_t>(mean.numel())),
                     static_cast<double>(atoms), label);
}

at::Tensor total_change(Communicator& comm, const std::vector<at::Tensor>& of_nodes, std::int64_t elements,
                        const CallLabel& label) {
  at::Tensor mine = at::zeros({elements}, at::kLong);
  for (const at::Tensor& change : of_nodes) mine = mine + change;
  at::Tensor all = at::empty({comm.size(), elements}, at::kLong);
  comm.all_gather(std::as_bytes(std::span(mine.const_data_ptr<std::int64_t>(), mine.numel())),
                  std::as_writable_bytes(std::span(all.mutable_data_ptr<std::int64_t>(), all.numel())), label);
  return all.sum(0);
}

}  // namespace

WindowBuffers::WindowBuffers(std::vector<NamedTensor> buffers, std::int64_t atoms_in_window)
    : buffers_(std::move(buffers)), atoms_in_window_(atoms_in_window) {
  for (const NamedTensor& buffer : buffers_) start_.push_back(copy_of(buffer.tensor));
}

void WindowBuffers::finish_atom(std::int64_t atom) {
  const at::NoGradGuard no_grad;
  Node node{{atom, atom + 1}, std::vector<at::Tensor>(buffers_.size())};
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    const at::Tensor& now = buffers_[b].tensor;
    if (bytes_of(now.contiguous()) == bytes_of(start_[b])) continue;
    node.sums[b] = is_counter(now) ? now.to(at::kLong) - start_[b].to(at::kLong) : copy_of(now);
    buffers_[b].tensor.copy_(start_[b]);
  }
  nodes_.push_back(std::move(node));
  while (nodes_.size() >= 2 &&
         is_subtree(atoms_in_window_, {nodes_[nodes_.size() - 2].atoms.begin, nodes_.back().atoms.end})) {
    merge_last_two();
  }
}

at::Tensor WindowBuffers::sum_over(const Node& node, std::size_t buffer) const {
  if (node.sums[buffer].defined()) return node.sums[buffer];
  if (is_counter(start_[buffer])) return at::zeros(start_[buffer].sizes(), at::kLong);
  return repeated_sum(start_[buffer], node.atoms.size());
}

void WindowBuffers::merge_last_two() {
  const Node right = std::move(nodes_.back());
  nodes_.pop_back();
  Node& left = nodes_.back();
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    if (left.sums[b].defined() || right.sums[b].defined()) left.sums[b] = sum_over(left, b) + sum_over(right, b);
  }
  left.atoms.end = right.atoms.end;
}

std::vector<bool> WindowBuffers::agree_on_changed(Communicator& comm, const CallLabel& label) const {
  std::ostringstream start;
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    start << buffers_[b].name << '\n' << start_[b].dtype() << start_[b].sizes() << '\n' << bytes_of(start_[b]);
  }
  std::string mine = xxh3_128_hex(start.str());
  const std::size_t digits = mine.size();
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    mine += std::ranges::any_of(nodes_, [&](const Node& node) { return node.sums[b].defined(); }) ? '1' : '0';
  }
  std::string all(mine.size() * static_cast<std::size_t>(comm.size()), '\0');
  comm.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)), label);
  std::vector<bool> changed(buffers_.size());
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(comm.size()); ++rank) {
    const std::string of_rank = all.substr(rank * mine.size(), mine.size());
    if (of_rank.substr(0, digits) != all.substr(0, digits)) {
      throw RunError("window", "update " + std::to_string(label.update) +
                                   ": ranks differ in the buffers at the window's start: rank 0 has XXH3 " +
                                   all.substr(0, digits) + ", rank " + std::to_string(rank) + " has " +
                                   of_rank.substr(0, digits) + "; give all ranks the same names, shapes and values");
    }
    for (std::size_t b = 0; b < changed.size(); ++b) changed[b] = changed[b] || of_rank[digits + b] == '1';
  }
  for (std::size_t b = 0; b < changed.size(); ++b) {
    if (changed[b] && !can_be_combined(start_[b])) {
      throw InputError("window", "update " + std::to_string(label.update) + ": forward changed buffer " +
                                     buffers_[b].name + " of type " + c10::toString(start_[b].scalar_type()) +
                                     "; float32, float64 and integers can be combined over atoms, a buffer of another "
                                     "type must stay as it is");
    }
  }
  return changed;
}

at::Tensor WindowBuffers::combined(Communicator& comm, std::span<const AtomRange> ranges, const Group& group,
                                   const CallLabel& label) const {
  std::int64_t elements = 0;
  for (const std::size_t b : group) elements += start_[b].numel();
  std::vector<at::Tensor> sums;  // by node
  for (const Node& node : nodes_) {
    std::vector<at::Tensor> parts;
    for (const std::size_t b : group) parts.push_back(sum_over(node, b).flatten());
    sums.push_back(at::cat(parts));
  }
  const at::Tensor& first = start_[group.front()];
  if (is_counter(first)) return total_change(comm, sums, elements, label);
  std::vector<AtomRange> nodes;
  for (const Node& node : nodes_) nodes.push_back(node.atoms);
  at::Tensor mean = at::empty({elements}, first.options());
  if (first.scalar_type() == at::kDouble) {
    reduce_sums<double>(comm, ranges, nodes, sums, mean, atoms_in_window_, label);
  } else {
    reduce_sums<float>(comm, ranges, nodes, sums, mean, atoms_in_window_, label);
  }
  return mean;
}

void WindowBuffers::reduce(Communicator& comm, std::span<const AtomRange> ranges, const CallLabel& label) {
  if (buffers_.empty()) return;
  const at::NoGradGuard no_grad;
  const std::vector<bool> changed = agree_on_changed(comm, label);
  std::array<Group, 3> groups;  // exchanged together: float32, float64, counters
  for (std::size_t b = 0; b < changed.size(); ++b) {
    const std::size_t kind = is_counter(start_[b]) ? 2 : start_[b].scalar_type() == at::kDouble ? 1 : 0;
    if (changed[b]) groups[kind].push_back(b);
  }
  std::array<at::Tensor, 3> results;
  for (std::size_t kind = 0; kind < groups.size(); ++kind) {
    if (!groups[kind].empty()) results[kind] = combined(comm, ranges, groups[kind], label);
  }
  for (std::size_t kind = 0; kind < groups.size(); ++kind) {
    std::int64_t offset = 0;
    for (const std::size_t b : groups[kind]) {
      const at::Tensor value = results[kind].narrow(0, offset, start_[b].numel()).view(start_[b].sizes());
      buffers_[b].tensor.copy_(is_counter(start_[b]) ? start_[b].to(at::kLong) + value : value);
      offset += start_[b].numel();
    }
  }
}

}  // namespace samegrad
