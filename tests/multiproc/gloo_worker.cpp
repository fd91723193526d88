#include "samegrad/comm/c10d_store.h"
#include "samegrad/comm/gloo_communicator.h"
#include "samegrad/comm/meeting.h"
#include "tests/multiproc/worker_communicator.h"

namespace samegrad {
namespace {

/// Small and odd, so that longer messages go in pieces.
constexpr std::size_t kMostMessageBytes = 100'003;

}  // namespace

std::unique_ptr<Communicator> worker_communicator(const WorkerEnvironment& environment) {
  const auto store = open_store_file(environment.store_fd, environment.world_size);
  Meeting meeting(*store, environment.rank, environment.world_size, std::chrono::minutes(10));
  auto status = std::make_shared<StatusWriter>(environment.rank, environment.world_size);
  RankFacts mine = facts_of_this_process();
  mine.status_fd = status->share();
  std::vector<RankFacts> ranks = meeting.exchange_facts(mine);
  return std::make_unique<GlooCommunicator>(store, environment.rank, std::move(ranks), std::chrono::minutes(10),
                                            std::move(status), kMostMessageBytes);
}

}  // namespace samegrad
