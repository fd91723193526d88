// A module's buffers (running statistics, counters) over one window: every atom starts from them as they were at the
// window's start, and what the atoms made of them is combined over all atoms, whoever ran them (docs/exactness.md).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "samegrad/comm/communicator.h"
#include "samegrad/ddp/named_tensor.h"
#include "samegrad/plan/atom_tree.h"

namespace samegrad {

/// Between two calls, and after an error, the buffers hold the values of the window's start.
class WindowBuffers {
 public:
  /// Keeps the values of now as the window's start. On the CPU; names, shapes, dtypes and values are the same on every
  /// rank. Local.
  WindowBuffers(std::vector<NamedTensor> buffers, std::int64_t atoms_in_window);

  /// Before the first atom, where their number was not known. Local.
  void set_atoms(std::int64_t atoms_in_window) { atoms_in_window_ = atoms_in_window; }

  /// Takes what atom `atom` made of the buffers and sets them back to the start. Every atom of this rank once, in
  /// ascending order; one that ran nothing takes part with the start's values. Local.
  void finish_atom(std::int64_t atom);

  /// Sets each buffer that some atom of some rank changed: float32 and float64 to T(0, atoms) / atoms, added in their
  /// own type and divided once; an integer to its start plus the sum of all atoms' changes (modulo 2^bits). Others keep
  /// their bits. They move with the window: a step that is left out afterwards, as for a gradient that is not finite,
  /// does not set them back. `ranges` is rank_ranges(atoms, comm.size()). Throws the same error on every rank, with
  /// nothing changed: RunError where ranks started from different buffers, InputError for a changed buffer of another
  /// dtype. Collective.
  void reduce(Communicator& comm, std::span<const AtomRange> ranges, const CallLabel& label);

 private:
  /// By buffer, the sum over the atoms of a subtree: of the values, or of a counter's changes (int64). Undefined: no
  /// atom of it changed the buffer.
  struct Node {
    AtomRange atoms;
    std::vector<at::Tensor> sums;
  };

  using Group = std::vector<std::size_t>;  // buffers, by index

  void merge_last_two();
  at::Tensor sum_over(const Node& node, std::size_t buffer) const;
  std::vector<bool> agree_on_changed(Communicator& comm, const CallLabel& label) const;
  at::Tensor combined(Communicator& comm, std::span<const AtomRange> ranges, const Group& group,
                      const CallLabel& label) const;

  std::vector<NamedTensor> buffers_;
  std::vector<at::Tensor> start_;
  std::int64_t atoms_in_window_;
  std::vector<Node> nodes_;
};

}  // namespace samegrad
