// NVIDIA-NeMo/Automodel#2468, lyuwenyu/RT-DETR#684: a rank with nothing to learn from skipped its backward; others
// hung.
#include <gtest/gtest.h>

#include "samegrad/ddp/distributed_data_parallel.h"
#include "samegrad/ddp/tensor_bytes.h"
#include "tests/unit/ddp/small_models.h"

namespace samegrad::testing {
namespace {

/// Rank 1 has 12 units whose losses sum to 36 at p = 3; rank 0 has an atom without units, or one with and one without.
void train_beside_an_empty_atom(bool rank_0_has_another) {
  std::vector<std::string> hashes(2);
  on_ranks(2, [&](Communicator& comm) {
    Branches model;
    {
      const at::NoGradGuard no_grad;
      model->p.fill_(3.0);
    }
    DistributedDataParallel ddp(model, world_of(comm), {.find_unused_parameters = true});
    std::vector<std::int64_t> units{12};
    if (comm.rank() == 0) units = rank_0_has_another ? std::vector<std::int64_t>{4, 0} : std::vector<std::int64_t>{0};
    auto window = ddp.window({.count = units[0], .atoms = units.size()});
    for (const std::int64_t n : units) {
      window.backward(n, [&] {
        EXPECT_GT(n, 0) << "an atom without units runs nothing";
        return ddp.forward(static_cast<double>(n), 0.0).sum();
      });
    }
    ASSERT_TRUE(window.reduce());
    EXPECT_EQ(window.loss().count, rank_0_has_another ? 16 : 12);
    EXPECT_EQ(window.loss().mean(), 3.0);
    EXPECT_EQ(model->p.grad().item<float>(), 1.0F);
    const at::NoGradGuard no_grad;
    model->p.sub_(model->p.grad());
    hashes[static_cast<std::size_t>(comm.rank())] = tensor_hash(model->p);
  });
  EXPECT_EQ(hashes[0], hashes[1]);
}

TEST(RankWithoutTargets, TakesPartWithZerosAndEntersNoCount) { train_beside_an_empty_atom(false); }

TEST(RankWithoutTargets, InItsLastMicrobatchOnlyTakesPartToo) { train_beside_an_empty_atom(true); }

}  // namespace
}  // namespace samegrad::testing
