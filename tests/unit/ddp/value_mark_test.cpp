// What tells that a parameter was changed.
#include "samegrad/ddp/value_mark.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace samegrad {
namespace {

std::vector<NamedTensor> tensors() {
  return {{"empty", at::zeros({0, 3})},
          {"vector", at::arange(10, at::kDouble)},
          {"rows", at::ones({4, 4}).narrow(1, 0, 2)},
          {"channels last", at::ones({2, 3, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast)},
          {"complex", at::ones({3}, at::kComplexDouble)},
          {"one", at::full({1}, std::nan(""), at::kBFloat16)}};
}

TEST(ValueMarks, AreTheSameWhereNothingChanged) {
  const auto all = tensors();
  EXPECT_EQ(first_changed(all, marks_of(all)), std::nullopt);
}

TEST(ValueMarks, SeeChangesInPlaceOfEachTensor) {
  for (std::size_t i = 1; i < tensors().size(); ++i) {
    const auto all = tensors();
    const auto before = marks_of(all);
    all[i].tensor.narrow(0, 0, 1).add_(1);
    EXPECT_EQ(first_changed(all, before), i) << all[i].name;
  }
}

TEST(ValueMarks, SeeStepsThatAutogradDoesNotCountInDenseTensors) {
  for (std::size_t i = 1; i < tensors().size(); ++i) {
    const auto all = tensors();
    const auto before = marks_of(all);
    all[i].tensor.variable_data().fill_(7);
    EXPECT_EQ(first_changed(all, before).has_value(), all[i].name != "rows") << all[i].name;
  }
}

}  // namespace
}  // namespace samegrad
