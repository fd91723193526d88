// Parameters of several dtypes, sparse gradients, shared parameters, several outputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/embedding.h>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/ddp/distributed_data_parallel.h"
#include "tests/unit/comm/counting_communicator.h"
#include "tests/unit/ddp/small_models.h"

namespace samegrad::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

struct MixedImpl : torch::nn::Module {
  MixedImpl() {
    const auto add = [&](const char* name, at::ScalarType dtype) {
      return register_parameter(name, at::arange(1, 6, at::kDouble).div(7).to(dtype));
    };
    half = add("half", at::kHalf);
    single = add("single", at::kFloat);
    brain = add("brain", at::kBFloat16);
    twice = add("twice", at::kDouble);
    complex = add("complex", at::kComplexFloat);
  }
  at::Tensor forward(double factor) {
    at::Tensor sum = at::zeros({}, at::kDouble);
    for (const at::Tensor& part : {half, single, brain, twice}) sum = sum + (part.to(at::kDouble) * factor).sum();
    return sum + at::real(complex * c10::complex<float>(static_cast<float>(factor), 1)).sum();
  }
  at::Tensor half, single, brain, twice, complex;
};
TORCH_MODULE(Mixed);

TEST(Dtypes, EachHasTheMeanInItsOwnDtype) {
  on_ranks(3, [](Communicator& comm) {
    Mixed model;
    DistributedDataParallel ddp(model, world_of(comm));
    ddp.forward(1.0 + comm.rank() * 0.25).backward();  // mean of 1, 1.25, 1.5
    for (const auto& item : model->named_parameters()) {
      const at::Tensor& parameter = item.value();
      EXPECT_EQ(parameter.grad().scalar_type(), parameter.scalar_type()) << item.key();
      EXPECT_TRUE(at::equal(at::real(parameter.grad()).to(at::kDouble), at::full({5}, 1.25, at::kDouble)))
          << item.key();
    }
  });
}

TEST(Dtypes, ABucketHoldsOneDtypeAndTheLayoutIsPrintable) {
  on_ranks(1, [](Communicator& comm) {
    Mixed model;
    DistributedDataParallel ddp(model, world_of(comm));
    const std::string said = ddp.describe();
    for (const char* line : {"bucket 0: ComplexFloat, 64 bytes: complex", "bucket 1: Double, 64 bytes: twice",
                             "bucket 2: BFloat16, 64 bytes: brain", "bucket 3: Float, 64 bytes: single",
                             "bucket 4: Half, 64 bytes: half"}) {
      EXPECT_THAT(said, HasSubstr(line));
    }
    const std::size_t end_of_line = said.find('\n');
    EXPECT_TRUE(said.substr(0, end_of_line).ends_with("bucket layout " + xxh3_128_hex(said.substr(end_of_line + 1))));
  });
}

struct WordsImpl : torch::nn::Module {
  explicit WordsImpl(bool sparse)
      : table(register_module("table", torch::nn::Embedding(torch::nn::EmbeddingOptions(6, 3).sparse(sparse)))) {
    fill(*this);
  }
  // The table is used as input and as output: tied.
  std::tuple<at::Tensor, at::Tensor> forward(const at::Tensor& words) {
    const at::Tensor vectors = table->forward(words);
    return {vectors.matmul(table->weight.t()), vectors};
  }
  torch::nn::Embedding table{nullptr};
};
TORCH_MODULE(Words);

TEST(Dtypes, ASparseGradientArrivesDenseWithTheSameValues) {
  for (const bool only_sparse : {true, false}) {
    std::vector<at::Tensor> gradients;
    for (const bool sparse : {false, true}) {
      on_ranks(2, [&](Communicator& comm) {
        Words model(sparse);
        DistributedDataParallel ddp(model, world_of(comm));
        const auto [logits, vectors] = ddp.forward(at::tensor({1 + comm.rank(), 3, 3}, at::kLong));
        loss_of(only_sparse ? vectors : logits).backward();
        if (comm.rank() == 0) gradients.push_back(model->table->weight.grad().clone());
      });
    }
    EXPECT_EQ(gradients[1].layout(), at::kStrided);
    EXPECT_TRUE(at::allclose(gradients[0], gradients[1]));
  }
}

TEST(Outputs, OfWhichOneIsLeftOutOfTheLossAreExchangedAllTheSame) {
  on_ranks(2, [](Communicator& inner) {
    CountingCommunicator comm(inner);
    Words model(false);
    DistributedDataParallel ddp(model, world_of(comm));
    const auto [logits, vectors] = ddp.forward(at::tensor({1 + comm.rank(), 2}, at::kLong));
    loss_of(vectors).backward();
    EXPECT_EQ(comm.calls().at("end of backward/all_gather"), 1);
  });
}

struct Answer {
  at::Tensor score;
};
void append_tensors(const Answer& answer, std::vector<at::Tensor>& tensors) { tensors.push_back(answer.score); }

TEST(Outputs, AreFoundInContainersAndInTypesOfOnesOwn) {
  const at::Tensor a = at::ones({1});
  const at::Tensor b = at::ones({2});
  const std::map<std::string, std::vector<std::optional<at::Tensor>>> nested{{"x", {a, std::nullopt}}, {"y", {b}}};
  std::vector<at::Tensor> found;
  append_output_tensors(std::make_tuple(nested, std::pair(3, std::string("no tensor")), Answer{b}), found);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_TRUE(found[0].is_same(a));
  EXPECT_TRUE(found[1].is_same(b));
  EXPECT_TRUE(found[2].is_same(b));
}

TEST(SharedParameters, AreOneParameterByTheirFirstName) {
  struct Tied : torch::nn::Module {
    Tied() {
      weight = register_parameter("first", at::ones({2}));
      register_parameter("second", weight);
    }
    at::Tensor forward(double factor) { return (weight * factor).sum() + (weight * weight).sum(); }
    at::Tensor weight;
  };
  on_ranks(2, [](Communicator& comm) {
    DistributedDataParallel ddp(std::make_shared<Tied>(), world_of(comm));
    ddp.forward(1.0 + comm.rank()).backward();
    EXPECT_TRUE(at::equal(ddp.module()->weight.grad(), at::full({2}, 3.5F)));
    EXPECT_THAT(ddp.describe(), AllOf(HasSubstr("first"), ::testing::Not(HasSubstr("second"))));
  });
}

}  // namespace
}  // namespace samegrad::testing
