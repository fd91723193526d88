#include "samegrad/comm/canonical_reduction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <list>
#include <random>

#include "samegrad/comm/gradient_memory.h"
#include "samegrad/comm/keeps_status.h"
#include "samegrad/comm/status_image.h"
#include "tests/unit/comm/rank_threads.h"

namespace samegrad {
namespace {

using Gradient = std::vector<float>;
using testing::nothing_thrown;
using testing::run_ranks;

/// T(begin, end) as the contract says it, without anything of samegrad.
Gradient literal_tree(const std::vector<Gradient>& atoms, std::size_t begin, std::size_t end) {
  if (end - begin == 1) {
    return atoms[begin];
  }
  std::size_t power = 1;
  while (power * 2 < end - begin) {
    power *= 2;
  }
  Gradient left = literal_tree(atoms, begin, begin + power);
  const Gradient right = literal_tree(atoms, begin + power, end);
  for (std::size_t k = 0; k < left.size(); ++k) {
    left[k] = left[k] + right[k];
  }
  return left;
}

Gradient divided(Gradient gradient, double divisor) {
  for (float& value : gradient) {
    value = static_cast<float>(static_cast<double>(value) / divisor);
  }
  return gradient;
}

/// Bits of a gradient; all NaNs are one.
std::vector<std::uint32_t> bits_of(const Gradient& gradient) {
  std::vector<std::uint32_t> bits;
  for (const float value : gradient) {
    bits.push_back(std::isnan(value) ? 0x7FC00000U : std::bit_cast<std::uint32_t>(value));
  }
  return bits;
}

struct Case {
  int world_size = 1;
  std::vector<Gradient> atoms;
  std::vector<bool> absent;  ///< by atom: given as nullptr where a whole subtree is
  double divisor = 1.0;
};

float awkward_value(std::mt19937& random) {
  constexpr std::array<float, 9> kSpecial{-0.0F,
                                          0.0F,
                                          std::numeric_limits<float>::denorm_min(),
                                          -3e-42F,
                                          std::numeric_limits<float>::max(),
                                          -std::numeric_limits<float>::max(),
                                          std::numeric_limits<float>::infinity(),
                                          -std::numeric_limits<float>::infinity(),
                                          std::numeric_limits<float>::quiet_NaN()};
  const auto choice = random();
  if (choice % 4 == 0) {
    return kSpecial[choice / 4 % kSpecial.size()];
  }
  return std::ldexp(static_cast<float>(static_cast<std::int32_t>(random())), static_cast<int>(choice / 4 % 60) - 45);
}

Case random_case(std::mt19937& random, int world_size, std::size_t elements) {
  Case trial;
  trial.world_size = world_size;
  trial.divisor = static_cast<double>(random() % 100'000 + 1);
  const std::size_t atoms = random() % 40 + 1;
  for (std::size_t a = 0; a < atoms; ++a) {
    trial.absent.push_back(random() % 3 == 0);
    trial.atoms.emplace_back(elements, 0.0F);
    if (!trial.absent.back()) {
      std::generate(trial.atoms.back().begin(), trial.atoms.back().end(), [&] { return awkward_value(random); });
    }
  }
  return trial;
}

/// What every rank of the case gets, moved, and called.
struct Outcome {
  std::vector<Gradient> gradients;
  std::vector<ExchangeVolume> volumes;
  std::vector<std::int64_t> calls;
};

/// Where the gradients of a case lie. kInPlace: in the memory that ranks share, and the result in that of a subtree.
enum class Place { kOwn, kInPlace, kInPlaceButForOneRank };

/// A rank's subtrees and its result, in its own memory or in that which ranks share.
class RankMemory {
 public:
  RankMemory(Communicator& comm, Place place)
      : shared_(place == Place::kInPlace || (place == Place::kInPlaceButForOneRank && comm.rank() > 0)
                    ? gradient_memory_of(comm)
                    : nullptr) {}

  float* holding(const Gradient& values) {
    if (!shared_) return own_.emplace_back(values).data();
    blocks_.push_back(shared_->allocate(values.size() * sizeof(float)));
    std::memcpy(blocks_.back().get(), values.data(), values.size() * sizeof(float));
    return reinterpret_cast<float*>(blocks_.back().get());
  }
  bool is_shared() const { return shared_ != nullptr; }

 private:
  std::shared_ptr<GradientMemory> shared_;
  std::list<Gradient> own_;
  std::vector<std::shared_ptr<std::byte>> blocks_;
};

Outcome reduce_on_threads(const Case& trial, std::size_t slot_bytes = 65'536, Place place = Place::kOwn) {
  const auto ranges = rank_ranges(static_cast<std::int64_t>(trial.atoms.size()), trial.world_size);
  Outcome outcome;
  outcome.gradients.resize(static_cast<std::size_t>(trial.world_size));
  outcome.volumes.resize(outcome.gradients.size());
  outcome.calls.resize(outcome.gradients.size());
  std::vector<StatusImage> images(outcome.gradients.size());
  const auto errors = run_ranks(
      trial.world_size,
      [&](Communicator& comm) {
        const auto rank = static_cast<std::size_t>(comm.rank());
        RankMemory memory(comm, place);
        dynamic_cast<KeepsStatus&>(comm).status().place_in_memory(images[rank]);
        std::vector<SubtreeGradient<float>> mine;
        float* taken = nullptr;
        if (ranges[rank].size() > 0) {
          for (const AtomRange& node : maximal_subtrees(static_cast<std::int64_t>(trial.atoms.size()), ranges[rank])) {
            const auto begin = static_cast<std::size_t>(node.begin);
            const auto end = static_cast<std::size_t>(node.end);
            const bool absent = std::all_of(trial.absent.begin() + node.begin, trial.absent.begin() + node.end,
                                            [](bool value) { return value; });
            mine.push_back({node, absent ? nullptr : memory.holding(literal_tree(trial.atoms, begin, end))});
            if (!absent && memory.is_shared()) taken = const_cast<float*>(mine.back().values);
          }
        }
        if (taken == nullptr) taken = memory.holding(Gradient(trial.atoms.front().size(), 7.0F));
        const std::span<float> result(taken, trial.atoms.front().size());
        outcome.volumes[rank] =
            reduce_canonically(comm, ranges, mine, result, trial.divisor, {"gradient", 1, std::chrono::minutes(1)});
        outcome.gradients[rank].assign(result.begin(), result.end());
        outcome.calls[rank] = read_status_image(images[rank], comm.rank()).status.value().collectives;
      },
      slot_bytes);
  EXPECT_EQ(errors, nothing_thrown(trial.world_size));
  return outcome;
}

void expect_literal_tree(const Case& trial, const Outcome& outcome) {
  const auto expected = bits_of(divided(literal_tree(trial.atoms, 0, trial.atoms.size()), trial.divisor));
  for (std::size_t rank = 0; rank < outcome.gradients.size(); ++rank) {
    ASSERT_EQ(bits_of(outcome.gradients[rank]), expected)
        << "rank " << rank << " of " << trial.world_size << ", " << trial.atoms.size() << " atoms, "
        << trial.atoms.front().size() << " elements";
  }
}

TEST(CanonicalReduction, EqualsTheLiteralTreeBitForBitForRandomAtomsSizesAndRanks) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 300; ++trial) {
    const int world_size = static_cast<int>(random() % 9) + 1;
    const std::size_t elements = trial % 5 == 0 ? random() % 4 : random() % 700;
    const Case drawn = random_case(random, world_size, elements);
    expect_literal_tree(drawn, reduce_on_threads(drawn));
  }
}

TEST(CanonicalReduction, EqualsTheLiteralTreeOnUpTo64Ranks) {
  std::mt19937 random(4);
  for (const int world_size : {16, 33, 64}) {
    const Case drawn = random_case(random, world_size, 2'000);
    expect_literal_tree(drawn, reduce_on_threads(drawn));
  }
}

TEST(CanonicalReduction, EqualsTheLiteralTreeWhenAGradientNeedsManyPieces) {
  std::mt19937 random(5);
  for (const int world_size : {1, 2, 3}) {
    const Case drawn = random_case(random, world_size, 200'001);
    expect_literal_tree(drawn, reduce_on_threads(drawn, 4'096));
  }
}

TEST(CanonicalReduction, EqualsTheLiteralTreeInPlaceBitForBitInOneCallForRandomAtomsSizesAndRanks) {
  std::mt19937 random(13);
  for (int trial = 0; trial < 200; ++trial) {
    const int world_size = static_cast<int>(random() % 8) + 2;
    const std::size_t elements = trial % 5 == 0 ? 1 + random() % 4 : 1 + random() % 5'000;
    const Case drawn = random_case(random, world_size, elements);
    const Outcome outcome = reduce_on_threads(drawn, 65'536, Place::kInPlace);
    expect_literal_tree(drawn, outcome);
    ASSERT_EQ(outcome.calls, std::vector<std::int64_t>(static_cast<std::size_t>(world_size), 1));
  }
}

TEST(CanonicalReduction, EqualsTheLiteralTreeWhereOneRankBringsMemoryThatTheOthersCannotReach) {
  std::mt19937 random(14);
  for (const int world_size : {2, 3, 5, 8}) {
    const Case drawn = random_case(random, world_size, 3'001);
    const Outcome outcome = reduce_on_threads(drawn, 65'536, Place::kInPlaceButForOneRank);
    expect_literal_tree(drawn, outcome);
    EXPECT_GT(outcome.calls[0], 1) << "it went in messages";
  }
}

TEST(CanonicalReduction, MovesAsManyBytesInPlaceAsInMessages) {
  std::mt19937 random(15);
  const Case drawn = random_case(random, 3, 200'001);
  const Outcome in_place = reduce_on_threads(drawn, 65'536, Place::kInPlace);
  const Outcome messages = reduce_on_threads(drawn, 65'536, Place::kOwn);
  EXPECT_EQ(in_place.volumes[0].bytes_sent, messages.volumes[0].bytes_sent);
  EXPECT_EQ(in_place.volumes[0].bytes_received, messages.volumes[0].bytes_received);
}

TEST(CanonicalReduction, AddsAnAbsentSubtreeAsPlusZero) {
  for (const int world_size : {1, 2}) {
    const Case trial{world_size, {{-0.0F}, {0.0F}}, {false, true}, 1.0};
    for (const Gradient& gradient : reduce_on_threads(trial).gradients) {
      EXPECT_FALSE(std::signbit(gradient[0])) << world_size << " ranks";
    }
  }
}

// The control: if other orders gave the same bits, the tests above could not tell orders apart.
TEST(CanonicalReduction, DiffersFromPartialSumsInRankOrderAndInArrivalOrderAtThreeRanks) {
  std::mt19937 random(6);
  std::normal_distribution<float> normal;
  Case trial{3, std::vector<Gradient>(8, Gradient(1'000)), std::vector<bool>(8, false), 1.0};
  for (Gradient& atom : trial.atoms) {
    std::generate(atom.begin(), atom.end(), [&] { return normal(random); });
  }
  const auto exact = bits_of(reduce_on_threads(trial).gradients[0]);
  std::vector<Gradient> of_ranks;
  for (const AtomRange& range : rank_ranges(8, 3)) {
    of_ranks.push_back(trial.atoms[static_cast<std::size_t>(range.begin)]);
    for (auto atom = range.begin + 1; atom < range.end; ++atom) {
      std::transform(of_ranks.back().begin(), of_ranks.back().end(),
                     trial.atoms[static_cast<std::size_t>(atom)].begin(), of_ranks.back().begin(), std::plus<>());
    }
  }
  for (const std::array<std::size_t, 3> order : {std::array<std::size_t, 3>{0, 1, 2}, {2, 0, 1}}) {
    Gradient sum = of_ranks[order[0]];
    for (const std::size_t rank : {order[1], order[2]}) {
      std::transform(sum.begin(), sum.end(), of_ranks[rank].begin(), sum.begin(), std::plus<>());
    }
    EXPECT_NE(bits_of(sum), exact);
  }
}

TEST(CanonicalReduction, MovesTheBytesOfARingAllReduceWhenEveryRankHoldsOneSubtree) {
  const std::size_t elements = 16 * 4 * 10;
  const Case trial{4, std::vector<Gradient>(8, Gradient(elements, 1.0F)), std::vector<bool>(8, false), 8.0};
  const std::int64_t ring = 2 * (4 - 1) * static_cast<std::int64_t>(elements * sizeof(float)) / 4;
  for (const ExchangeVolume& volume : reduce_on_threads(trial).volumes) {
    EXPECT_EQ(volume.bytes_sent, ring);
    EXPECT_EQ(volume.bytes_received, ring);
  }
}

TEST(CanonicalReduction, RefusesSubtreesThatAreNotThisRanks) {
  const auto errors = run_ranks(1, [](Communicator& comm) {
    Gradient values(1);
    const std::vector<SubtreeGradient<float>> wrong{{{0, 1}, values.data()}};
    reduce_canonically(comm, std::vector<AtomRange>{{0, 2}}, wrong, values, 1.0, {"gradient", 1});
  });
  EXPECT_NE(errors[0].find("[invariant]"), std::string::npos) << errors[0];
}

}  // namespace
}  // namespace samegrad
