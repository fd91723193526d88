#include "samegrad/ddp/model_hash.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "samegrad/base/digest.h"
#include "samegrad/base/error.h"
#include "samegrad/ddp/flat_parameters.h"
#include "samegrad/train/whole_gradient.h"

namespace samegrad {
namespace {

struct Holder : torch::nn::Module {
  using torch::nn::Module::register_buffer;
  using torch::nn::Module::register_module;
  using torch::nn::Module::register_parameter;
};

/// A module that holds the tensors as parameters, in their order.
Holder holding(const std::vector<at::Tensor>& tensors) {
  Holder module;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::string name = "p";
    name += std::to_string(i);
    module.register_parameter(name, tensors[i], tensors[i].is_floating_point());
  }
  return module;
}

std::string hash_of_bytes(const std::vector<at::Tensor>& tensors) {
  std::vector<char> bytes;
  for (const at::Tensor& tensor : tensors) {
    const auto* const begin = static_cast<const char*>(tensor.const_data_ptr());
    bytes.insert(bytes.end(), begin, begin + tensor.nbytes());
  }
  return xxh3_128_hex({bytes.data(), bytes.size()});
}

at::Tensor numbers() { return (at::arange(15'000, at::kFloat) * 0.1).sin().reshape({3, 5000}); }

TEST(ModelHash, IsThatOfAllParametersBytesInOrder) {
  const at::Tensor a = numbers();
  const at::Tensor b = at::arange(7, at::kDouble);
  const at::Tensor c = at::arange(5, at::kLong);
  EXPECT_EQ(model_hash(holding({a, b, c})), hash_of_bytes({a, b, c}));
  EXPECT_NE(model_hash(holding({b, a, c})), model_hash(holding({a, b, c})));
  EXPECT_EQ(model_hash(Holder()), xxh3_128_hex(""));
}

TEST(ModelHash, OneBitAndTheSignOfAZeroChangeIt) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    const at::Tensor values = numbers().to(type);
    values.view({-1})[0] = 0.0;
    const std::string hash = model_hash(holding({values}));
    EXPECT_EQ(model_hash(holding({values.clone()})), hash);
    const at::Tensor negative = values.clone();
    negative.view({-1})[0] = -0.0;
    EXPECT_NE(model_hash(holding({negative})), hash) << type;
    const at::Tensor bit = values.clone();
    static_cast<unsigned char*>(bit.mutable_data_ptr())[bit.nbytes() - bit.itemsize()] ^= 1U;
    EXPECT_NE(model_hash(holding({bit})), hash) << type;
  }
}

TEST(ModelHash, EveryNanCountsAsTheSameOne) {
  const at::Tensor one = numbers();
  const at::Tensor other = numbers();
  one.mutable_data_ptr<float>()[9] = std::bit_cast<float>(0x7FC00000U);
  other.mutable_data_ptr<float>()[9] = std::bit_cast<float>(0xFFC12345U);
  EXPECT_EQ(model_hash(holding({one})), model_hash(holding({other})));
  EXPECT_EQ(model_hash(holding({one.to(at::kHalf)})), model_hash(holding({other.to(at::kHalf)})));
  EXPECT_EQ(model_hash(holding({one.to(at::kComplexFloat)})), model_hash(holding({other.to(at::kComplexFloat)})));
  EXPECT_NE(model_hash(holding({one})), model_hash(holding({numbers()})));
}

TEST(ModelHash, SeesValuesAndNotHowTheyLieOrWhetherTheyTrain) {
  const at::Tensor values = numbers();
  const at::Tensor turned = values.t().contiguous().t();
  ASSERT_FALSE(turned.is_contiguous());
  EXPECT_EQ(model_hash(holding({turned})), model_hash(holding({values})));
  Holder tied = holding({values});
  tied.register_parameter("again", values);
  EXPECT_EQ(model_hash(tied), model_hash(holding({values}))) << "a tied parameter counts once";
  Holder frozen;
  frozen.register_parameter("p0", values.clone(), /*requires_grad=*/false);
  EXPECT_EQ(model_hash(frozen), model_hash(holding({values})));
}

TEST(ModelHash, BuffersHaveTheirOwn) {
  torch::nn::BatchNorm1d norm(4);
  const std::string parameters = model_hash(*norm);
  const std::string buffers = buffers_hash(*norm);
  norm->running_mean[2] = 0.5;
  EXPECT_EQ(model_hash(*norm), parameters);
  EXPECT_NE(buffers_hash(*norm), buffers);
  EXPECT_EQ(buffers_hash(*torch::nn::Linear(2, 2)), xxh3_128_hex(""));
}

TEST(ModelHash, IsTheTrainersHashOfTheSameParameters) {
  FlatParameters flat({{"a.weight", {3, 7}}, {"a.bias", {5}}, {"b.weight", {4100}}});
  for (std::size_t i = 0; i < flat.tensors().size(); ++i) {
    flat.tensors()[i].detach().copy_(at::arange(flat.tensors()[i].numel(), at::kFloat)
                                         .mul(0.3 + static_cast<double>(i))
                                         .sin()
                                         .reshape(flat.tensors()[i].sizes()));
  }
  const std::vector<at::Tensor> tensors = flat.tensors();
  EXPECT_EQ(model_hash(holding(tensors)), elements_hash(flat.layout(), std::as_const(flat).values()));
  const at::Tensor last = tensors.back().detach();
  last[4099] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(model_hash(holding(tensors)), elements_hash(flat.layout(), std::as_const(flat).values()));
}

TEST(ModelHash, ASparseTensorIsRefusedByName) {
  try {
    model_hash(holding({at::eye(3).to_sparse()}));
    FAIL() << "nothing was refused";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "[hash] p0: a sparse tensor; only dense ones have a hash");
  }
}

}  // namespace
}  // namespace samegrad
