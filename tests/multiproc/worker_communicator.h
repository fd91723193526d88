// The communicator under test of comm_worker, which is built once for each backend.
#pragma once

#include <memory>

#include "samegrad/comm/communicator.h"
#include "samegrad/comm/environment.h"

namespace samegrad {

/// Joins the other workers; they have ten minutes to come. Collective.
std::unique_ptr<Communicator> worker_communicator(const WorkerEnvironment& environment);

}  // namespace samegrad
