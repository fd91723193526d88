// The trainer's parameters under the library's own DistributedDataParallel: the only path from atoms to a gradient.
#pragma once

#include <memory>

#include "samegrad/comm/communicator.h"
#include "samegrad/config/run_config.h"
#include "samegrad/ddp/data_parallel.h"
#include "samegrad/ddp/flat_parameters.h"

namespace samegrad {

/// `parameters` and `comm` must outlive the result. Throws as DataParallel does. Collective.
std::unique_ptr<DataParallel> wrap_parameters(const FlatParameters& parameters, Communicator& comm,
                                              const RunSection& run);

}  // namespace samegrad
