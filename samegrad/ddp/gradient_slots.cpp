#include "samegrad/ddp/gradient_slots.h"

#include <algorithm>
#include <utility>

#include "samegrad/kernels/gradient_sum.h"

namespace samegrad {
namespace {

void add_into(AlignedBlock& left, const AlignedBlock& right) {
  if (left.type() == ElementType::kFloat64) {
    const std::span<double> sum = left.span<double>();
    add_doubles(sum.data(), right.span<double>().data(), sum.data(), static_cast<std::int64_t>(sum.size()));
  } else {
    const std::span<float> sum = left.span();
    add_floats(sum.data(), right.span().data(), sum.data(), static_cast<std::int64_t>(sum.size()));
  }
}

// An absent sum is a block of +0 that takes part in the addition: x + 0 turns -0 into +0, wherever it is computed.
void add_zero_into(AlignedBlock& sum) {
  with_element_type(sum.type(), [&](auto zero) {
    for (auto& value : sum.span<decltype(zero)>()) value = value + zero;
  });
}

}  // namespace

GradientBuffer::GradientBuffer(const ParameterSet& parameters, std::shared_ptr<GradientMemory> memory_of_blocks)
    : memory(std::move(memory_of_blocks)), tensors(parameters.parameters().size()) {
  for (const ParameterSet::Group& group : parameters.groups()) {
    blocks.emplace_back(group.layout.type(), group.layout.flat_elements(), memory.get());
    const std::vector<at::Tensor> of_group = tensors_over(group.layout, blocks.back());
    for (std::size_t i = 0; i < of_group.size(); ++i) tensors[group.members[i]] = of_group[i];
  }
}

void GradientBufferPool::place_in(std::shared_ptr<GradientMemory> memory) {
  if (memory == memory_) return;
  memory_ = std::move(memory);
  free_.clear();
}

std::unique_ptr<GradientBuffer> GradientBufferPool::take() {
  if (free_.empty()) {
    ++buffers_made_;
    return std::make_unique<GradientBuffer>(*parameters_, memory_);
  }
  std::unique_ptr<GradientBuffer> buffer = std::move(free_.back());
  free_.pop_back();
  return buffer;
}

std::unique_ptr<GradientBuffer> GradientBufferPool::take_zeroed() {
  std::unique_ptr<GradientBuffer> buffer = take();
  for (AlignedBlock& block : buffer->blocks) std::ranges::fill(block.bytes(), std::byte{0});  // +0
  return buffer;
}

void GradientBufferPool::give_back(std::unique_ptr<GradientBuffer> buffer) {
  if (buffer && buffer->memory == memory_) free_.push_back(std::move(buffer));
}

SubtreeStack::~SubtreeStack() {
  for (Node& node : nodes_) pool_->give_back(std::move(node.sum));
}

void SubtreeStack::push(std::int64_t atom, std::unique_ptr<GradientBuffer> gradient) {
  nodes_.push_back({{atom, atom + 1}, std::move(gradient)});
  while (nodes_.size() >= 2 && is_subtree(atoms_, {nodes_[nodes_.size() - 2].atoms.begin, nodes_.back().atoms.end})) {
    merge_last_two();
  }
}

std::unique_ptr<GradientBuffer> SubtreeStack::take_buffer() {
  const auto holder = std::ranges::find_if(nodes_, [](const Node& node) { return node.sum != nullptr; });
  return holder == nodes_.end() ? nullptr : std::move(holder->sum);
}

void SubtreeStack::merge_last_two() {
  Node right = std::move(nodes_.back());
  nodes_.pop_back();
  Node& left = nodes_.back();
  left.atoms.end = right.atoms.end;
  if (left.sum && right.sum) {
    for (std::size_t g = 0; g < left.sum->blocks.size(); ++g) add_into(left.sum->blocks[g], right.sum->blocks[g]);
    pool_->give_back(std::move(right.sum));
  } else if (left.sum || right.sum) {
    if (!left.sum) left.sum = std::move(right.sum);
    for (AlignedBlock& block : left.sum->blocks) add_zero_into(block);
  }
}

}  // namespace samegrad
