#include "samegrad/ddp/atom_gather.h"

#include <algorithm>
#include <cstddef>

namespace samegrad {

GatheredAtoms gather_atoms(Communicator& comm, std::span<const AtomRange> ranges,
                           const std::vector<std::vector<double>>& columns, const std::vector<bool>& flags,
                           const CallLabel& label) {
  std::int64_t longest = 0;
  for (const AtomRange& range : ranges) longest = std::max(longest, range.size());
  // Ranks may have different numbers of atoms; messages have one size.
  std::vector<double> sent;
  for (const std::vector<double>& column : columns) {
    sent.insert(sent.end(), column.begin(), column.end());
    sent.resize(sent.size() + static_cast<std::size_t>(longest) - column.size(), 0.0);
  }
  sent.insert(sent.end(), flags.begin(), flags.end());
  std::vector<double> all(sent.size() * ranges.size());
  comm.all_gather(std::as_bytes(std::span(sent)), std::as_writable_bytes(std::span(all)), label);

  GatheredAtoms gathered{std::vector<std::vector<double>>(columns.size()), std::vector<bool>(flags.size())};
  for (std::size_t rank = 0; rank < ranges.size(); ++rank) {
    auto from = all.begin() + static_cast<std::ptrdiff_t>(rank * sent.size());
    for (std::vector<double>& column : gathered.columns) {
      column.insert(column.end(), from, from + ranges[rank].size());
      from += longest;
    }
    for (std::size_t flag = 0; flag < flags.size(); ++flag, ++from) {
      if (*from != 0.0) gathered.flags[flag] = true;
    }
  }
  return gathered;
}

}  // namespace samegrad
