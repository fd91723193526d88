// Attention of every set of instructions that the processor has is the formula's, and so they agree with one another.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "samegrad/base/philox.h"
#include "samegrad/kernels/attention_kernels.h"
#include "samegrad/kernels/isa.h"

namespace samegrad {
namespace {

template <typename Element>
struct Kernels {
  Isa isa;
  AttentionForward<Element>* forward;
  AttentionBackward<Element>* backward;
};

template <typename Element>
std::vector<Kernels<Element>> kernels_of_processor() {
  std::vector<Kernels<Element>> all{{Isa::kPortable, portable::attention_forward, portable::attention_backward},
                                    {Isa::kAvx2, avx2::attention_forward, avx2::attention_backward},
                                    {Isa::kAvx512, avx512::attention_forward, avx512::attention_backward}};
  all.resize(static_cast<std::size_t>(best_isa("")) + 1);
  return all;
}

template <typename Element>
std::vector<Element> values(std::int64_t count, std::uint32_t seed) {
  std::vector<Element> made(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < made.size(); ++i) {
    const std::uint32_t bits = philox4x32({static_cast<std::uint32_t>(i), 0, 0, 0}, {seed, 0x15A})[0];
    made[i] = static_cast<Element>(static_cast<double>(bits) * 0x1.0p-30 - 2.0);
  }
  return made;
}

struct Results {
  std::vector<double> mixed;
  std::vector<double> gradient;
};

/// The formula in float64, element by element.
template <typename Element>
Results formula(const PackedShape& shape, const std::vector<Element>& qkv, const std::vector<Element>& upstream,
                const KeyedMask* dropout) {
  const std::int64_t width = shape.heads * shape.head_width;
  Results results{std::vector<double>(upstream.size()), std::vector<double>(qkv.size())};
  const double scale = 1 / std::sqrt(static_cast<double>(shape.head_width));
  std::int64_t weight_number = 0;
  for (std::int64_t s = 0; s < shape.samples; ++s) {
    const std::int64_t first = shape.offsets[s];
    const std::int64_t length = shape.offsets[s + 1] - first;
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const auto of = [&](std::int64_t part, std::int64_t token, std::int64_t e) {
        return static_cast<std::size_t>(((first + token) * 3 + part) * width + head * shape.head_width + e);
      };
      const auto out = [&](std::int64_t token, std::int64_t e) {
        return static_cast<std::size_t>((first + token) * width + head * shape.head_width + e);
      };
      for (std::int64_t i = 0; i < length; ++i, weight_number += length) {
        const std::int64_t seen = shape.causal ? i + 1 : length;
        std::vector<double> mask(static_cast<std::size_t>(length), 1.0);
        if (dropout != nullptr) keyed_mask(*dropout, weight_number, length, mask.data());
        std::vector<double> weights;
        std::vector<double> gradients;
        double product = 0;
        for (std::int64_t j = 0; j < seen; ++j) {
          double score = 0;
          for (std::int64_t e = 0; e < shape.head_width; ++e) {
            score += static_cast<double>(qkv[of(0, i, e)]) * static_cast<double>(qkv[of(1, j, e)]);
          }
          weights.push_back(std::exp(score * scale));
        }
        const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
        for (std::int64_t j = 0; j < seen; ++j) {
          const double factor = mask[static_cast<std::size_t>(j)];
          double& weight = weights[static_cast<std::size_t>(j)];
          weight /= sum;
          double gradient = 0;
          for (std::int64_t e = 0; e < shape.head_width; ++e) {
            results.mixed[out(i, e)] += weight * factor * static_cast<double>(qkv[of(2, j, e)]);
            results.gradient[of(2, j, e)] += weight * factor * static_cast<double>(upstream[out(i, e)]);
            gradient += factor * static_cast<double>(upstream[out(i, e)]) * static_cast<double>(qkv[of(2, j, e)]);
          }
          gradients.push_back(gradient);
          product += weight * gradient;
        }
        for (std::int64_t j = 0; j < seen; ++j) {
          const auto place = static_cast<std::size_t>(j);
          const double of_score = scale * weights[place] * (gradients[place] - product);
          for (std::int64_t e = 0; e < shape.head_width; ++e) {
            results.gradient[of(0, i, e)] += of_score * static_cast<double>(qkv[of(1, j, e)]);
            results.gradient[of(1, j, e)] += of_score * static_cast<double>(qkv[of(0, i, e)]);
          }
        }
      }
    }
  }
  return results;
}

template <typename Element>
Results results_of(const Kernels<Element>& kernels, const PackedShape& shape, const std::vector<Element>& qkv,
                   const std::vector<Element>& upstream, const KeyedMask* dropout) {
  const auto elements =
      static_cast<std::size_t>(attention_scratch_elements(shape.offsets[shape.samples], shape.head_width));
  const auto memory = std::make_unique<Element[]>(elements + 64);
  void* aligned = memory.get();
  std::size_t space = (elements + 64) * sizeof(Element);
  auto* const scratch = static_cast<Element*>(std::align(64, elements * sizeof(Element), aligned, space));
  std::fill_n(scratch, elements, std::numeric_limits<Element>::quiet_NaN());  // what was there before must not matter
  std::vector<Element> mixed(upstream.size());
  std::vector<Element> statistics(upstream.size() / static_cast<std::size_t>(shape.head_width) * 2);
  std::vector<Element> gradient(qkv.size());
  kernels.forward(shape, dropout, qkv.data(), mixed.data(), statistics.data(), scratch);
  kernels.backward(shape, dropout, qkv.data(), mixed.data(), statistics.data(), upstream.data(), gradient.data(),
                   scratch);
  return {{mixed.begin(), mixed.end()}, {gradient.begin(), gradient.end()}};
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(std::fabs(a[i] - b[i]) <= largest)) largest = std::fabs(a[i] - b[i]);
  }
  return largest;
}

template <typename Element>
class AttentionOfEverySet : public testing::Test {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(AttentionOfEverySet, Elements);

TYPED_TEST(AttentionOfEverySet, IsTheFormulas) {
  const std::vector<std::int64_t> offsets{0, 1, 8, 24, 57, 57, 198};
  const KeyedMask dropped{.key = {1, 2}, .operation = 3, .threshold = 1 << 22, .kept = 4.0 / 3};
  const double tolerance = sizeof(TypeParam) == 4 ? 3e-5 : 1e-13;
  for (const std::int64_t head_width : {1, 3, 17, 32, 64}) {
    for (const bool causal : {false, true}) {
      for (const KeyedMask* dropout : {static_cast<const KeyedMask*>(nullptr), &dropped}) {
        const PackedShape shape{offsets.data(), 6, 2, head_width, causal};
        const auto qkv = values<TypeParam>(198 * 6 * head_width, 1);
        const auto upstream = values<TypeParam>(198 * 2 * head_width, 2);
        const Results expected = formula(shape, qkv, upstream, dropout);
        for (const Kernels<TypeParam>& kernels : kernels_of_processor<TypeParam>()) {
          const Results results = results_of(kernels, shape, qkv, upstream, dropout);
          EXPECT_LT(largest_difference(results.mixed, expected.mixed), tolerance) << isa_name(kernels.isa);
          EXPECT_LT(largest_difference(results.gradient, expected.gradient), tolerance) << isa_name(kernels.isa);
        }
      }
    }
  }
}

TYPED_TEST(AttentionOfEverySet, IsNotThatOfAnotherMask) {
  const std::vector<std::int64_t> offsets{0, 40};
  const PackedShape shape{offsets.data(), 1, 2, 8, false};
  const auto qkv = values<TypeParam>(40 * 48, 1);
  const auto upstream = values<TypeParam>(40 * 16, 2);
  const KeyedMask dropped{.key = {1, 2}, .threshold = 1 << 22, .kept = 4.0 / 3};
  const Results whole = formula(shape, qkv, upstream, nullptr);
  for (const Kernels<TypeParam>& kernels : kernels_of_processor<TypeParam>()) {
    const Results results = results_of(kernels, shape, qkv, upstream, &dropped);
    EXPECT_GT(largest_difference(results.mixed, whole.mixed), 0.1) << isa_name(kernels.isa);
    EXPECT_GT(largest_difference(results.gradient, whole.gradient), 0.1) << isa_name(kernels.isa);
  }
}

TEST(KeyedMasks, AreWordsOfPhilox) {
  const KeyedMask mask{.key = {11, 12}, .operation = 13, .atom = 14, .update = 15, .threshold = 5'000'000, .kept = 1.5};
  for (const std::int64_t first : {std::int64_t{0}, std::int64_t{7}, (std::int64_t{1} << 34) - 50}) {
    std::vector<float> values(101);
    keyed_mask(mask, first, 101, values.data());
    for (std::int64_t i = 0; i < 101; ++i) {
      const auto block = static_cast<std::uint32_t>((first + i) / 4);
      const std::uint32_t word = philox4x32({block, 13, 14, 15}, {11, 12})[static_cast<std::size_t>((first + i) % 4)];
      EXPECT_EQ(values[static_cast<std::size_t>(i)], (word >> 8) < 5'000'000 ? 0.0F : 1.5F) << first + i;
    }
  }
}

}  // namespace
}  // namespace samegrad
