// Open MPI's all-reduce, as a peer to compare with. A build without MPI has a file that refuses by name.
#pragma once

#include <span>

namespace samegrad {

/// MPI_Init and MPI_Finalize of this process, which mpirun has started.
class MpiSum {
 public:
  /// Throws InputError where this build has no MPI. Collective.
  MpiSum();
  ~MpiSum();
  MpiSum(const MpiSum&) = delete;
  MpiSum& operator=(const MpiSum&) = delete;

  /// `values` becomes the sum over ranks. Collective.
  void run(std::span<float> values);
};

}  // namespace samegrad
