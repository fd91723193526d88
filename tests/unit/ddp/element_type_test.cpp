// A window in float32 and in float64: sums in the element type, one division in double, for any number of ranks.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

#include "samegrad/ddp/flat_parameters.h"
#include "samegrad/ddp/window.h"
#include "tests/unit/comm/rank_threads.h"

namespace samegrad {
namespace {

constexpr std::int64_t kElements = 301;  // two parameters with a gap between them
constexpr std::int64_t kFirst = 13;

std::int64_t units_of(std::int64_t atom) { return atom % 4 == 2 ? 0 : 1 + 5 * atom; }

/// Gradient of atom `atom`, of very different sizes; -0 among them.
template <typename Element>
std::vector<Element> atom_gradient(std::int64_t atom) {
  std::mt19937_64 random(static_cast<std::uint64_t>(atom) + 1);
  std::vector<Element> values;
  for (std::int64_t i = 0; i < kElements; ++i) {
    const double unit = std::ldexp(static_cast<double>(random() >> 11), -53) - 0.5;
    values.push_back(random() % 16 == 0 ? Element{-0.0}
                                        : static_cast<Element>(std::ldexp(unit, static_cast<int>(random() % 30))));
  }
  return values;
}

/// T(begin, end) as the contract says it; an atom's gradient is added to +0, and +0 without units.
template <typename Element>
std::vector<Element> literal_tree(std::int64_t begin, std::int64_t end) {
  if (end - begin == 1) {
    std::vector<Element> leaf(static_cast<std::size_t>(kElements), Element{0});
    const std::vector<Element> gradient = atom_gradient<Element>(begin);
    for (std::size_t i = 0; i < leaf.size() && units_of(begin) > 0; ++i) leaf[i] = leaf[i] + gradient[i];
    return leaf;
  }
  std::int64_t power = 1;
  while (power * 2 < end - begin) power *= 2;
  std::vector<Element> sum = literal_tree<Element>(begin, begin + power);
  const std::vector<Element> right = literal_tree<Element>(begin + power, end);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = sum[i] + right[i];
  return sum;
}

template <typename Element>
std::vector<Element> literal_window(std::int64_t atoms) {
  double units = 0.0;
  for (std::int64_t atom = 0; atom < atoms; ++atom) units += static_cast<double>(units_of(atom));
  std::vector<Element> gradient = literal_tree<Element>(0, atoms);
  for (Element& value : gradient) value = static_cast<Element>(static_cast<double>(value) / units);
  return gradient;
}

/// A loss whose gradient is atom_gradient().
template <typename Element>
at::Tensor loss_sum(const FlatParameters& parameters, std::int64_t atom) {
  const at::Tensor gradient = at::tensor(atom_gradient<Element>(atom));
  return at::dot(parameters.tensors()[0], gradient.narrow(0, 0, kFirst)) +
         at::dot(parameters.tensors()[1], gradient.narrow(0, kFirst, kElements - kFirst));
}

/// The window's gradient on each rank, the layout's gap left out.
template <typename Element>
std::vector<std::vector<Element>> run_windows(int world_size, std::int64_t atoms) {
  std::vector<std::vector<Element>> gradients(static_cast<std::size_t>(world_size));
  const auto errors = testing::run_ranks(world_size, [&](Communicator& comm) {
    FlatParameters parameters({{"first", {kFirst}}, {"second", {kElements - kFirst}}}, kElementTypeOf<Element>);
    GradientBufferPool pool(parameters.set());
    const AtomRange range = rank_ranges(atoms, comm.size())[static_cast<std::size_t>(comm.rank())];
    std::int64_t units = 0;
    for (std::int64_t atom = range.begin; atom < range.end; ++atom) units += units_of(atom);
    Window window(parameters.set(), pool, comm, {.count = units, .atoms = range.size()});
    for (std::int64_t atom = range.begin; atom < range.end; ++atom) {
      window.backward(units_of(atom), [&] { return loss_sum<Element>(parameters, atom); });
    }
    window.reduce();
    std::vector<Element>& mine = gradients[static_cast<std::size_t>(comm.rank())];
    for (const ParameterPlace& place : parameters.layout().places()) {
      const auto values = window.gradient<Element>().subspan(static_cast<std::size_t>(place.offset),
                                                             static_cast<std::size_t>(place.elements));
      mine.insert(mine.end(), values.begin(), values.end());
    }
  });
  EXPECT_EQ(errors, testing::nothing_thrown(world_size));
  return gradients;
}

template <typename Element>
std::vector<std::uint64_t> bits_of(const std::vector<Element>& values) {
  std::vector<std::uint64_t> bits;
  for (const Element value : values) bits.push_back(std::bit_cast<std::uint64_t>(static_cast<double>(value)));
  return bits;
}

template <typename Element>
class WindowOf : public ::testing::Test {};
using Elements = ::testing::Types<float, double>;
TYPED_TEST_SUITE(WindowOf, Elements);

TYPED_TEST(WindowOf, GradientIsTheLiteralTreeDividedOnceBitForBitOnAnyNumberOfRanks) {
  for (const std::int64_t atoms : {1, 2, 6, 7, 16}) {
    const auto expected = bits_of(literal_window<TypeParam>(atoms));
    for (const int world_size : {1, 2, 3, 5, 8, 17}) {
      for (const auto& gradient : run_windows<TypeParam>(world_size, atoms)) {
        ASSERT_EQ(bits_of(gradient), expected) << atoms << " atoms, " << world_size << " ranks";
      }
    }
  }
}

// The control: if float64 went through float32 anywhere, the test above could not see it in the values it expects.
TEST(WindowOfDoubles, KeepsWhatFloatsCannotHold) {
  std::int64_t finer = 0;
  const std::vector<double> gradient = run_windows<double>(3, 7).front();
  for (const double value : gradient) {
    if (static_cast<double>(static_cast<float>(value)) != value) ++finer;
  }
  EXPECT_GT(finer, kElements * 9 / 10);
}

TEST(WindowOfDoubles, RefusesToBeReadAsFloats) {
  const FlatParameters parameters({{"only", {3}}}, ElementType::kFloat64);
  EXPECT_THROW(parameters.values<float>(), InvariantError);
  EXPECT_EQ(parameters.values<double>().size(), parameters.layout().flat_elements());
}

TEST(WindowOfDoubles, HasTensorsAt64ByteBoundaries) {
  const FlatParameters parameters({{"first", {3}}, {"second", {17}}, {"third", {5}}}, ElementType::kFloat64);
  for (const at::Tensor& tensor : parameters.tensors()) {
    EXPECT_EQ(tensor.scalar_type(), at::kDouble);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % 64, 0);
  }
}

}  // namespace
}  // namespace samegrad
