// Numbers of a rank's atoms, known to all ranks afterwards: in the order of the window's atoms, so that they can be
// summed by the tree.
#pragma once

#include <span>
#include <vector>

#include "samegrad/comm/communicator.h"
#include "samegrad/plan/atom_tree.h"

namespace samegrad {

struct GatheredAtoms {
  std::vector<std::vector<double>> columns;  ///< [column][atom of the window]
  std::vector<bool> flags;                   ///< whether any rank has it
};

/// `columns` [column][atom of this rank] and `flags` of all ranks, in one call. `ranges` are the ranks' atoms; all
/// ranks bring as many columns and flags. Collective.
GatheredAtoms gather_atoms(Communicator& comm, std::span<const AtomRange> ranges,
                           const std::vector<std::vector<double>>& columns, const std::vector<bool>& flags,
                           const CallLabel& label);

}  // namespace samegrad
