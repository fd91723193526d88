#include "benchmarks/mpi_sum.h"
#include "samegrad/base/error.h"

namespace samegrad {

MpiSum::MpiSum() {
  throw InputError(
      "benchmark",
      "openmpi: this build has no MPI; install openmpi-bin and libopenmpi-dev and configure again, or leave "
      "openmpi out of the sides");
}

MpiSum::~MpiSum() = default;

void MpiSum::run(std::span<float> /*values*/) {}

}  // namespace samegrad
