// The gradient buffers of a window. Each atom's backward runs into a zeroed buffer of its own; buffers of sibling nodes
// of the atom tree are added as soon as both are there, so at most log2(atoms) + 1 are in use.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "samegrad/ddp/flat_parameters.h"
#include "samegrad/plan/atom_tree.h"

namespace samegrad {

/// A flat gradient and the tensors over it that autograd writes into.
struct GradientBuffer {
  explicit GradientBuffer(const FlatLayout& layout)
      : values(layout.type(), layout.flat_elements()), tensors(tensors_over(layout, values)) {}

  AlignedBlock values;
  std::vector<at::Tensor> tensors;
};

/// Buffers that are kept from window to window.
class GradientBufferPool {
 public:
  explicit GradientBufferPool(const FlatLayout& layout) : layout_(&layout) {}

  /// A buffer of +0. Local.
  std::unique_ptr<GradientBuffer> take_zeroed();
  void give_back(std::unique_ptr<GradientBuffer> buffer);
  /// Buffers ever made: the memory that windows needed.
  std::int64_t buffers_made() const { return buffers_made_; }

 private:
  const FlatLayout* layout_;
  std::vector<std::unique_ptr<GradientBuffer>> free_;
  std::int64_t buffers_made_ = 0;
};

/// Partial sums over canonical subtrees, left to right. Atoms are pushed in ascending order.
class SubtreeStack {
 public:
  struct Node {
    AtomRange atoms;
    std::unique_ptr<GradientBuffer> sum;  ///< none: +0, no atom of the node had supervised units
  };

  SubtreeStack(std::int64_t atoms_in_window, GradientBufferPool& pool) : atoms_(atoms_in_window), pool_(&pool) {}
  ~SubtreeStack();
  SubtreeStack(const SubtreeStack&) = delete;
  SubtreeStack& operator=(const SubtreeStack&) = delete;

  /// Adds atom `atom`'s gradient (none: +0) and merges finished siblings. Local.
  void push(std::int64_t atom, std::unique_ptr<GradientBuffer> gradient);
  /// The maximal subtrees of what was pushed. Local.
  std::span<const Node> nodes() const { return nodes_; }
  /// One of the nodes' buffers, for whoever needs no sums any more; nullptr where none has one. Local.
  std::unique_ptr<GradientBuffer> take_buffer();

 private:
  void merge_last_two();

  std::int64_t atoms_;
  GradientBufferPool* pool_;
  std::vector<Node> nodes_;
};

}  // namespace samegrad
