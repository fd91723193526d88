// A window as a user asks for it: any number of atoms a rank, leaf tensors of two dtypes, and every misuse an error
// that all ranks get.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <type_traits>

#include "samegrad/base/error.h"
#include "tests/unit/ddp/user_model.h"

namespace samegrad {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using testing::first_atom;
using ::testing::HasSubstr;
using testing::on_ranks;
using testing::Split;
using testing::units_of;
using testing::UserModel;

constexpr std::int64_t kAtoms = 7;

WindowRequest request_of(const Split& split, int rank) {
  return {.count = units_of(split, rank), .atoms = split[static_cast<std::size_t>(rank)], .update = 3};
}

void run_atoms(Window& window, const UserModel& model) {
  for (std::int64_t atom = window.atoms().begin; atom < window.atoms().end; ++atom) {
    window.backward(UserModel::units(atom), [&] { return model.loss_sum(window.atom()); });
  }
}

/// The hashes of a window's gradients on each rank, joined.
std::vector<std::string> hashes_of(const Split& split) {
  return on_ranks(split, [&](Communicator& comm, UserModel& model) {
    Window window(model.set, model.pool, comm, request_of(split, comm.rank()));
    EXPECT_EQ(window.atoms().begin, first_atom(split, comm.rank()));
    run_atoms(window, model);
    EXPECT_TRUE(window.reduce());
    std::string joined;
    for (const std::string& hash : model.gradient_hashes()) joined += hash + " ";
    return joined + std::to_string(window.loss().sum);
  });
}

TEST(WindowCalls, HaveOneHashHoweverTheAtomsLieOnTheRanks) {
  const std::string alone = hashes_of({kAtoms}).front();
  for (const Split& split : {Split{3, 4}, {0, 7}, {7, 0}, {4, 0, 3}, {1, 5, 1}, {0, 0, 7}, {2, 2, 2, 1}}) {
    EXPECT_THAT(hashes_of(split), Each(alone)) << ::testing::PrintToString(split);
  }
}

/// Of the mean over all units, in double, without a window; with `local` counts each rank's own mean instead.
std::vector<at::Tensor> reference(const Split& split, bool local_counts) {
  const UserModel model;
  std::vector<at::Tensor> leaves;
  for (const at::Tensor& tensor : {model.weight, model.scale, model.bias}) {
    leaves.push_back(tensor.detach().to(at::kDouble).requires_grad_(true));
  }
  at::Tensor objective = at::zeros({}, at::kDouble);
  std::int64_t all_units = 0;
  for (std::size_t rank = 0; rank < split.size(); ++rank) all_units += units_of(split, static_cast<int>(rank));
  for (std::size_t rank = 0; rank < split.size(); ++rank) {
    const std::int64_t mine = units_of(split, static_cast<int>(rank));
    const std::int64_t first = first_atom(split, static_cast<int>(rank));
    for (std::int64_t atom = first; atom < first + split[rank]; ++atom) {
      if (UserModel::units(atom) == 0) continue;
      const at::Tensor sum = UserModel::loss_sum(UserModel::rows(atom), leaves[0], leaves[1], leaves[2]);
      objective = objective +
                  sum / static_cast<double>(local_counts ? mine * static_cast<std::int64_t>(split.size()) : all_units);
    }
  }
  objective.backward();
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& leaf : leaves) gradients.push_back(leaf.grad());
  return gradients;
}

bool agrees(const UserModel& model, const std::vector<at::Tensor>& expected) {
  bool within = true;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const at::Tensor error = (model.set.parameters()[i].tensor.grad().to(at::kDouble) - expected[i]).abs();
    within = within && (error <= 1e-6 + 1e-4 * expected[i].abs()).all().item<bool>();
  }
  return within;
}

TEST(WindowCalls, GiveTheGradientOfTheMeanOverAllUnitsAndNotOfRanksMeans) {
  for (const Split& split : {Split{7}, {3, 4}, {4, 1, 2}}) {
    const std::vector<std::string> results = on_ranks(split, [&](Communicator& comm, UserModel& model) {
      Window window(model.set, model.pool, comm, request_of(split, comm.rank()));
      run_atoms(window, model);
      window.reduce();
      EXPECT_TRUE(agrees(model, reference(split, false)));
      EXPECT_EQ(agrees(model, reference(split, true)), split.size() == 1) << "the control: local counts";
      return "";
    });
    EXPECT_THAT(results, Each(""));
  }
}

/// What each rank gets when rank 1 of 2 runs its 3 atoms' window by `body`.
std::vector<std::string> errors_where_rank_1(const std::function<void(Window&, const UserModel&)>& body) {
  const Split split{2, 3};
  return on_ranks(split, [&](Communicator& comm, UserModel& model) {
    Window window(model.set, model.pool, comm, request_of(split, comm.rank()));
    if (comm.rank() == 1) {
      body(window, model);
    } else {
      run_atoms(window, model);
    }
    window.reduce();
    return "no error";
  });
}

TEST(WindowCalls, TooFewOrTooManyAreAnErrorOnAllRanksNamingTheRankAndBothNumbers) {
  EXPECT_THAT(errors_where_rank_1(
                  [](Window& window, const UserModel& model) { window.backward([&] { return model.loss_sum(3); }); }),
              Each(HasSubstr("rank 1, update 3: backward() was called 1 time for 3 atoms")));
  EXPECT_THAT(errors_where_rank_1([](Window& window, const UserModel& model) {
                for (int i = 0; i < 5; ++i) window.backward([&] { return model.loss_sum(3); });
              }),
              Each(HasSubstr("rank 1, update 3: backward() was called 5 times for 3 atoms")));
}

TEST(WindowCalls, WithUnitsThatDoNotAddUpToTheCountAreAnErrorOnAllRanksNamingBoth) {
  EXPECT_THAT(errors_where_rank_1([](Window& window, const UserModel& model) {
                for (int i = 0; i < 3; ++i) window.backward(4, [&] { return model.loss_sum(3); });
              }),
              Each(AllOf(HasSubstr("rank 1, update 3: the atoms have 12 units"), HasSubstr("a count of 23"))));
  EXPECT_THAT(errors_where_rank_1([](Window& window, const UserModel& model) {
                window.backward([&] { return model.loss_sum(2); });
                for (int i = 0; i < 2; ++i) window.backward(4, [&] { return model.loss_sum(3); });
              }),
              Each("no error"))
      << "not all atoms were given units";
}

TEST(WindowCalls, ThatThrowOnOneRankAreItsErrorOnAllRanksAndLeaveNoGradients) {
  const Split split{2, 3};
  const std::vector<std::string> results = on_ranks(split, [&](Communicator& comm, UserModel& model) {
    std::string line;
    try {
      Window window(model.set, model.pool, comm, request_of(split, comm.rank()));
      for (std::int64_t atom = window.atoms().begin; atom < window.atoms().end; ++atom) {
        window.backward([&]() -> at::Tensor {
          if (atom == 3) throw std::runtime_error("out of ideas");
          return model.loss_sum(3);
        });
      }
      window.reduce();
    } catch (const RunError& error) {
      line = error.what();
    }
    EXPECT_THAT(model.gradient_hashes(), Each(""));
    return line;
  });
  EXPECT_THAT(results, Each("[window] rank 1, update 3, atom 3: out of ideas"));
}

TEST(WindowCalls, ThatFailInLibtorchAreOneLine) {
  EXPECT_THAT(errors_where_rank_1([](Window& window, const UserModel& model) {
                window.backward([&] { return at::matmul(model.weight, model.weight); });
              }),
              Each(AllOf(HasSubstr("rank 1, update 3, atom 2: mat1 and mat2"), ::testing::Not(HasSubstr("\n")))));
}

TEST(WindowCalls, AfterReduceAreRefused) {
  const std::vector<std::string> results = on_ranks({7}, [&](Communicator& comm, UserModel& model) {
    Window window(model.set, model.pool, comm, request_of({7}, 0));
    run_atoms(window, model);
    window.reduce();
    EXPECT_THROW(window.reduce(), InputError);
    EXPECT_THROW(window.backward([&] { return model.loss_sum(1); }), InputError);
    return "";
  });
  EXPECT_THAT(results, Each(""));
}

static_assert(std::is_convertible_v<std::size_t, Count> && std::is_convertible_v<int, Count>);
static_assert(!std::is_convertible_v<double, Count> && !std::is_convertible_v<bool, Count>);

TEST(WindowRequests, TakeAnyIntegerAsItIs) {
  const std::vector<int> atoms(3);
  const WindowRequest request{.count = std::uint8_t{200}, .atoms = atoms.size()};
  EXPECT_EQ(request.count.value(), 200);
  EXPECT_EQ(request.atoms.value(), 3);
}

TEST(WindowRequests, OfNumbersThatAreNoCountsAreRefusedOnAllRanksAsInput) {
  const auto refusals = [](const WindowRequest& bad) {
    return on_ranks({1, 1}, [&](Communicator& comm, UserModel& model) -> std::string {
      try {
        const Window window(model.set, model.pool, comm,
                            comm.rank() == 1 ? bad : WindowRequest{.count = 4, .atoms = 1});
      } catch (const InputError& error) {
        return error.what();
      }
      return "no error";
    });
  };
  EXPECT_THAT(refusals({.count = -3, .atoms = 1}), Each(HasSubstr("rank 1, update 0: .count is -3, allowed is 0 to")));
  EXPECT_THAT(refusals({.count = 4, .atoms = -1}), Each(HasSubstr(".atoms is -1,")));
  EXPECT_THAT(refusals({.count = std::numeric_limits<std::uint64_t>::max(), .atoms = 1}),
              Each(HasSubstr(".count is 18446744073709551615,")));
}

TEST(WindowRequests, ThatStopOrSkipRunNothingAndTouchNoGradient) {
  for (const bool stop : {true, false}) {
    const std::vector<std::string> results = on_ranks({1, 2}, [&](Communicator& comm, UserModel& model) {
      model.weight.mutable_grad() = at::ones({3, 4});
      Window window(model.set, model.pool, comm,
                    {.count = stop ? 5 : 0,
                     .atoms = 1 + comm.rank(),
                     .empty_window = EmptyWindowPolicy::kSkip,
                     .stop_asked = stop && comm.rank() == 1});
      EXPECT_EQ(window.decision().action, stop ? WindowAction::kStop : WindowAction::kSkip);
      for (int i = 0; i <= comm.rank(); ++i) {
        window.backward([&]() -> at::Tensor { throw std::runtime_error("must not run"); });
      }
      EXPECT_FALSE(window.reduce());
      EXPECT_EQ(model.weight.grad().sum().item<float>(), 12.0F);
      EXPECT_FALSE(model.bias.grad().defined());
      return "";
    });
    EXPECT_THAT(results, Each(""));
  }
}

TEST(WindowRequests, WithABufferThatCannotBeKeptOnOneRankAreRefusedOnAllRanks) {
  const std::vector<std::string> results = on_ranks({1, 1, 1}, [&](Communicator& comm, UserModel& model) {
    const at::Tensor buffer = comm.rank() == 1 ? at::Tensor() : at::zeros({2});
    const Window window(model.set, model.pool, comm, {.count = 1, .atoms = 1}, {{"mean", buffer}});
    return "no error";
  });
  EXPECT_THAT(results, Each(AllOf(HasSubstr("rank 1, update 0: a buffer cannot be kept for the window"))));
}

TEST(WindowRequests, OverParametersThatDifferBetweenRanksAreRefusedByAll) {
  const std::vector<std::string> results = on_ranks({1, 1}, [&](Communicator& comm, UserModel& model) {
    const ParameterSet fewer({{"weight", model.weight}, {"scale", model.scale}});
    GradientBufferPool pool(fewer);
    const Window window(comm.rank() == 1 ? fewer : model.set, comm.rank() == 1 ? pool : model.pool, comm,
                        {.count = 4, .atoms = 1});
    return "no error";
  });
  EXPECT_THAT(results, Each(HasSubstr("ranks differ in the parameters")));
}

}  // namespace
}  // namespace samegrad
