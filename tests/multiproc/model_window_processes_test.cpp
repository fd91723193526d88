// A window over a user's module in real processes: the same parameters and buffers, whatever their number.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "samegrad/base/error.h"
#include "samegrad/ddp/distributed_data_parallel.h"
#include "samegrad/ddp/tensor_bytes.h"
#include "tests/multiproc/forked_ranks.h"
#include "tests/unit/ddp/deep_model.h"

namespace samegrad::testing {
namespace {

using ::testing::Each;

/// Three updates by the documentation's loop; a hash of all parameters and buffers.
std::string hash_after_training(World world) {
  Deep model;
  DistributedDataParallel ddp(model, world);
  for (int update = 1; update <= 3; ++update) {
    const std::vector<Atom> atoms = atoms_of(world, update);
    std::int64_t n = 0;
    for (const Atom& atom : atoms) n += atom.units;
    auto window = ddp.window({.count = n, .atoms = atoms.size()});
    for (const Atom& atom : atoms) window.backward([&] { return ddp.forward(atom.x).pow(2).sum(); });
    if (!window.reduce()) continue;
    const at::NoGradGuard no_grad;
    for (at::Tensor& parameter : model->parameters()) parameter.sub_(parameter.grad() * 0.1);
  }
  std::string hashes;
  for (const at::Tensor& tensor : model->parameters()) hashes += tensor_hash(tensor);
  for (const at::Tensor& tensor : model->buffers()) hashes += tensor_hash(tensor);
  return hashes;
}

TEST(WindowOfAModule, LeavesOneHashForEveryNumberOfProcesses) {
  const std::string alone = run_processes(1, [](Communicator& comm) { return hash_after_training(World(comm)); }).at(0);
  ASSERT_FALSE(alone.empty());
  for (const int world_size : {2, 3, 5, 6}) {
    const auto hashes = run_processes(world_size, [&](Communicator& comm) {
      if (comm.size() != world_size) throw RunError("test", "world size");
      return hash_after_training(World(comm));
    });
    EXPECT_THAT(hashes, Each(alone)) << world_size << " processes";
  }
}

}  // namespace
}  // namespace samegrad::testing
