// The gradient buffers of a window. Each atom's backward fills a buffer of its own; buffers of sibling nodes
// of the atom tree are added as soon as both are there, so at most log2(atoms) + 1 are in use.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "samegrad/base/check.h"
#include "samegrad/comm/gradient_memory.h"
#include "samegrad/ddp/flat_layout.h"
#include "samegrad/ddp/parameter_set.h"
#include "samegrad/plan/atom_tree.h"

namespace samegrad {

/// A gradient of all parameters, flat by dtype, and the tensors over it that autograd writes into; +0 at first.
struct GradientBuffer {
  /// In `memory` where it is given and has room.
  explicit GradientBuffer(const ParameterSet& parameters, std::shared_ptr<GradientMemory> memory = nullptr);

  /// Requires parameters of one dtype, Element.
  template <typename Element = float>
  std::span<Element> values() {
    SAMEGRAD_CHECK_OP(blocks.size(), ==, 1U);
    return blocks.front().span<Element>();
  }

  std::shared_ptr<GradientMemory> memory;  ///< in which it was to be
  std::vector<AlignedBlock> blocks;        ///< by group of the parameters
  std::vector<at::Tensor> tensors;         ///< by parameter
};

/// Buffers that are kept from window to window.
class GradientBufferPool {
 public:
  /// `parameters` must outlive the pool.
  explicit GradientBufferPool(const ParameterSet& parameters) : parameters_(&parameters) {}

  /// Buffers are from now on in `memory`, where an exchange finds them (comm/gradient_memory.h); nullptr: in this
  /// process's own. Local.
  void place_in(std::shared_ptr<GradientMemory> memory);
  /// A buffer with whatever it held last. Local.
  std::unique_ptr<GradientBuffer> take();
  /// A buffer of +0. Local.
  std::unique_ptr<GradientBuffer> take_zeroed();
  void give_back(std::unique_ptr<GradientBuffer> buffer);
  /// Buffers ever made: the memory that windows needed.
  std::int64_t buffers_made() const { return buffers_made_; }

 private:
  const ParameterSet* parameters_;
  std::shared_ptr<GradientMemory> memory_;
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
