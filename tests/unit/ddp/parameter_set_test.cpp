// Which tensors a window takes as parameters, and where their gradients lie.
#include "samegrad/ddp/parameter_set.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "samegrad/base/error.h"
#include "samegrad/ddp/gradient_slots.h"

namespace samegrad {
namespace {

at::Tensor leaf(at::IntArrayRef sizes, at::ScalarType type = at::kFloat) {
  return at::ones(sizes, type).requires_grad_(true);
}

std::string refusal_of(std::vector<NamedTensor> parameters) {
  try {
    const ParameterSet set(std::move(parameters));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

void expect_refused(const at::Tensor& tensor, const std::string& why) {
  const std::string line = refusal_of({{"good", leaf({2})}, {"bad.weight", tensor}});
  EXPECT_NE(line.find("parameter bad.weight " + why), std::string::npos) << line;
}

TEST(ParameterSet, KeepsTheOrderGivenAndGroupsByType) {
  const ParameterSet set({{"a", leaf({3})}, {"b", leaf({2, 2}, at::kDouble)}, {"c", leaf({})}});
  ASSERT_EQ(set.parameters().size(), 3);
  EXPECT_EQ(set.parameters()[1].name, "b");
  ASSERT_EQ(set.groups().size(), 2);
  EXPECT_EQ(set.groups()[0].layout.type(), ElementType::kFloat32);
  EXPECT_EQ(set.groups()[0].members, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(set.groups()[0].layout.parameter_elements(), 4);
  EXPECT_EQ(set.groups()[1].layout.type(), ElementType::kFloat64);
  EXPECT_EQ(set.groups()[1].members, std::vector<std::size_t>{1});
}

TEST(ParameterSet, HasGradientsOfTheParametersShapesAndTypesAt64ByteBoundaries) {
  const ParameterSet set({{"a", leaf({3}, at::kDouble)}, {"b", leaf({2, 5})}, {"c", leaf({17}, at::kDouble)}});
  const GradientBuffer buffer(set);
  ASSERT_EQ(buffer.tensors.size(), 3);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(buffer.tensors[i].sizes(), set.parameters()[i].tensor.sizes());
    EXPECT_EQ(buffer.tensors[i].scalar_type(), set.parameters()[i].tensor.scalar_type());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.tensors[i].const_data_ptr()) % 64, 0);
    EXPECT_EQ(buffer.tensors[i].abs().sum().item<double>(), 0.0);
  }
}

TEST(ParameterSet, HasGradientsWithTheStridesOfDenseParameters) {
  const at::Tensor last = at::ones({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_(true);
  const at::Tensor holes = at::ones({4, 6}).slice(1, 0, 6, 2).detach().requires_grad_(true);
  const ParameterSet set({{"a", last}, {"b", leaf({3})}, {"c", holes}});
  const GradientBuffer buffer(set);
  EXPECT_EQ(buffer.tensors[0].strides(), last.strides());
  EXPECT_TRUE(buffer.tensors[2].is_contiguous());
  buffer.tensors[0].fill_(1.0);
  EXPECT_EQ(buffer.tensors[1].sum().item<float>(), 0.0F);
  EXPECT_NE(set.digest(), ParameterSet({{"a", leaf({2, 3, 4, 5})}, {"b", leaf({3})}, {"c", holes}}).digest());
}

TEST(ParameterSet, TakesATiedTensorOnceByItsFirstName) {
  const at::Tensor tied = leaf({4, 2});
  const ParameterSet set({{"embedding.weight", tied}, {"bias", leaf({4})}, {"head.weight", tied}});
  ASSERT_EQ(set.parameters().size(), 2);
  EXPECT_EQ(set.parameters()[0].name, "embedding.weight");
  EXPECT_EQ(set.parameters()[1].name, "bias");
}

TEST(ParameterSet, RefusesByNameWhatAWindowCannotTrain) {
  expect_refused(leaf({2}, at::kHalf), "is of type Half; windows take float32 and float64");
  expect_refused(leaf({2}, at::kComplexFloat), "is of type ComplexFloat; windows take float32 and float64");
  expect_refused(at::ones({2}, at::kLong), "is of type Long");
  expect_refused(at::ones({2}), "does not require a gradient");
  expect_refused(leaf({2}) * 2, "is no leaf of the graph");
  expect_refused(at::ones({2}).to_sparse().requires_grad_(true), "is sparse");
  expect_refused(at::Tensor(), "is undefined");
  EXPECT_NE(refusal_of({}).find("no parameters"), std::string::npos);
  EXPECT_EQ(refusal_of({{"good", leaf({2})}}), "");
}

TEST(ParameterSet, HasADigestThatTellsNamesShapesTypesAndOrderApart) {
  const auto digest_of = [](std::vector<NamedTensor> parameters) {
    return ParameterSet(std::move(parameters)).digest();
  };
  const std::string digest = digest_of({{"a", leaf({2, 3})}, {"b", leaf({2})}});
  EXPECT_EQ(digest_of({{"a", at::zeros({2, 3}).requires_grad_(true)}, {"b", leaf({2})}}), digest) << "not of values";
  EXPECT_NE(digest_of({{"a", leaf({2, 3})}, {"c", leaf({2})}}), digest);
  EXPECT_NE(digest_of({{"a", leaf({3, 2})}, {"b", leaf({2})}}), digest);
  EXPECT_NE(digest_of({{"a", leaf({2, 3})}, {"b", leaf({2}, at::kDouble)}}), digest);
  EXPECT_NE(digest_of({{"b", leaf({2})}, {"a", leaf({2, 3})}}), digest);
}

TEST(GradientBuffers, LiveAsLongAsATensorOverThem) {
  const ParameterSet set({{"a", leaf({1000})}});
  std::optional<GradientBuffer> buffer(set);
  at::Tensor gradient = buffer->tensors[0];
  gradient.fill_(3.0);
  buffer.reset();
  EXPECT_EQ(gradient.sum().item<double>(), 3000.0);
}

}  // namespace
}  // namespace samegrad
