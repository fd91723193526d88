#include "benchmarks/mpi_sum.h"

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

void check(int code, const char* call) {
  if (code != MPI_SUCCESS) throw RunError("benchmark", std::string(call) + " returned " + std::to_string(code));
}

}  // namespace

MpiSum::MpiSum() { check(MPI_Init(nullptr, nullptr), "MPI_Init"); }

MpiSum::~MpiSum() { MPI_Finalize(); }

void MpiSum::run(std::span<float> values) {
  check(MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD),
        "MPI_Allreduce");
}

}  // namespace samegrad
