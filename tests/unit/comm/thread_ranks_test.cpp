// The shared-memory communicator with threads as ranks: what the thread sanitizer sees, and what a rank finds when
// another one is gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <numeric>
#include <random>

#include "samegrad/base/error.h"
#include "samegrad/comm/awaited_rank.h"
#include "samegrad/comm/dual_exchange.h"
#include "samegrad/comm/shm_communicator.h"
#include "samegrad/comm/single_communicator.h"
#include "samegrad/comm/status_image.h"
#include "tests/unit/comm/rank_threads.h"

namespace samegrad {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::nothing_thrown;
using testing::run_ranks;
using ::testing::StartsWith;

CallLabel label(std::string_view name, std::int64_t update = 7) { return {name, update, minutes(10)}; }

template <typename T>
std::span<const std::byte> bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}
template <typename T>
std::span<std::byte> writable(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

/// A round of every operation, with messages of several chunks; checks what arrives.
void rounds(Communicator& comm, int count) {
  std::mt19937 random(21);  // the same on all ranks
  const int ranks = comm.size();
  const int me = comm.rank();
  for (int round = 0; round < count; ++round) {
    const auto elements = static_cast<std::size_t>(random() % 300);
    std::vector<int> send;
    std::vector<int> to_me;
    std::vector<int> gathered;
    for (int peer = 0; peer < ranks; ++peer) {
      send.insert(send.end(), elements, round * 10'000 + me * 100 + peer);
      to_me.insert(to_me.end(), elements, round * 10'000 + peer * 100 + me);
      gathered.insert(gathered.end(), elements, round * 10'000 + peer);
    }
    std::vector<int> received(send.size());
    comm.all_to_all(bytes(send), writable(received), label("exchange", round));
    ASSERT_EQ(received, to_me);
    const std::vector<int> mine(elements, round * 10'000 + me);
    comm.all_gather(bytes(mine), writable(received), label("gather", round));
    ASSERT_EQ(received, gathered);
    std::vector<int> data(elements, me);
    comm.broadcast(writable(data), round % ranks, label("broadcast", round));
    ASSERT_EQ(data, std::vector<int>(elements, round % ranks));
    comm.barrier(label("barrier", round));
  }
}

TEST(ThreadRanks, EveryRoundOfEveryOperationMovesEveryElement) {
  for (const int world_size : {1, 2, 3, 8}) {
    EXPECT_EQ(run_ranks(
                  world_size, [](Communicator& comm) { rounds(comm, 60); }, 1'024),
              nothing_thrown(world_size));
  }
}

TEST(SingleCommunicator, EveryRoundOfEveryOperationMovesEveryElement) {
  SingleCommunicator comm;
  rounds(comm, 20);
  EXPECT_EQ(comm.size(), 1);
  EXPECT_EQ(comm.backend(), "single");
}

/// Every call of a rank that has left is an error of samegrad's with the first reason.
void expect_left(Communicator& comm, std::string_view reason) {
  std::vector<int> data(static_cast<std::size_t>(comm.size()));
  const std::vector<std::function<void()>> calls{
      [&] { comm.all_to_all(bytes(data), writable(data), label("exchange")); },
      [&] { comm.all_gather(bytes(data).first(4), writable(data), label("gather")); },
      [&] { comm.broadcast(writable(data), 0, label("broadcast")); }, [&] { comm.barrier(label("barrier")); }};
  for (const auto& call : calls) {
    try {
      call();
      ADD_FAILURE() << "a call after leave()";
    } catch (const RunError& error) {
      EXPECT_EQ(error.what(), "[comm] rank " + std::to_string(comm.rank()) +
                                  " has left the run and can exchange nothing any more: " + std::string(reason));
    }
  }
}

TEST(SingleCommunicator, CallsAfterLeavingRepeatTheFirstReason) {
  SingleCommunicator comm;
  comm.leave("[hook] first");
  comm.leave("[hook] second");
  expect_left(comm, "[hook] first");
}

TEST(ThreadRanks, CallsAfterLeavingRepeatTheFirstReason) {
  for (const int world_size : {1, 2}) {
    EXPECT_EQ(run_ranks(world_size,
                        [](Communicator& comm) {
                          comm.leave("[hook] first");
                          comm.leave("");
                          expect_left(comm, "[hook] first");
                        }),
              nothing_thrown(world_size));
  }
}

TEST(ThreadRanks, CallsAfterAFailureAndLeavingRepeatTheFailure) {
  const auto errors = run_ranks(2, [](Communicator& comm) {
    if (comm.rank() == 1) return;
    std::string first;
    try {
      comm.barrier(label("gradient"));
    } catch (const PeerError& error) {
      first = error.what();
    }
    comm.leave("[train] something later");
    try {
      comm.barrier(label("end"));
    } catch (const PeerError& error) {
      EXPECT_EQ(error.what(), first);
      throw;
    }
  });
  EXPECT_THAT(errors[0], HasSubstr("left before 'gradient' of update 7"));
}

TEST(ThreadRanks, AnEmptyCallIsAMeetingToo) {
  const auto errors = run_ranks(2, [](Communicator& comm) {
    if (comm.rank() == 0) {
      comm.all_gather({}, {}, {"nothing", 7, milliseconds(20)});
    } else {
      comm.barrier(label("other"));
    }
  });
  EXPECT_THAT(errors, ::testing::Each(HasSubstr("ranks do not call the same")));
}

TEST(ThreadRanks, CallsOfDifferentSizeOrRootOrTypeOrNameAreRefusedOnAllRanks) {
  const std::vector<void (*)(Communicator&)> calls{
      [](Communicator& comm) {
        std::vector<int> data(comm.rank() == 2 ? 5 : 4);
        comm.broadcast(writable(data), 0, label("weights"));
      },
      [](Communicator& comm) {
        std::vector<int> data(4);
        comm.broadcast(writable(data), comm.rank() == 2 ? 1 : 0, label("weights"));
      },
      [](Communicator& comm) {
        std::vector<int> all(12);
        CallLabel typed = label("weights");
        typed.dtype = comm.rank() == 2 ? CallDtype::kFloat64 : CallDtype::kFloat32;
        comm.all_gather(bytes(std::vector<int>(4)), writable(all), typed);
      },
      [](Communicator& comm) { comm.barrier(label(comm.rank() == 2 ? "end" : "start")); }};
  for (const auto call : calls) {
    const auto errors = run_ranks(3, call);
    EXPECT_THAT(errors, ::testing::Each(StartsWith("[comm] ranks do not call the same: rank ")));
    EXPECT_THAT(errors, ::testing::Each(errors[0]));
    EXPECT_THAT(errors[0], HasSubstr(", rank 2 calls "));
  }
}

TEST(ThreadRanks, ARankThatLeavesEndsTheWaitsOfTheOthersWithItsReason) {
  const auto errors = run_ranks(3, [](Communicator& comm) {
    comm.barrier(label("agreement"));
    if (comm.rank() == 1) {
      comm.leave("[data] b.jsonl:2: not JSON");
      return;
    }
    try {
      comm.barrier(label("gradient"));
      ADD_FAILURE() << "met a rank that had left";
    } catch (const PeerError& error) {
      EXPECT_EQ(error.culprit_rank(), 1);
      throw;
    }
  });
  EXPECT_EQ(errors[1], "");
  for (const std::size_t rank : {0U, 2U}) {
    EXPECT_THAT(errors[rank], AllOf(StartsWith("[comm] rank 1 (pid "),
                                    HasSubstr("failed before 'gradient' of update 7: [data] b.jsonl:2: not JSON")));
  }
}

TEST(ThreadRanks, ARankThatIsDestroyedByAnExceptionCountsAsFailed) {
  const auto errors = run_ranks(2, [](Communicator& comm) {
    comm.barrier(label("agreement"));
    if (comm.rank() == 1) {
      throw RunError("train", "broke");
    }
    comm.barrier(label("gradient"));
  });
  EXPECT_THAT(errors[0], HasSubstr("failed before 'gradient' of update 7: it was last in 'agreement' of update 7"));
}

TEST(ThreadRanks, ARankThatReturnsTooEarlyIsSaidToHaveLeft) {
  const auto errors = run_ranks(2, [](Communicator& comm) {
    if (comm.rank() == 0) {
      comm.barrier(label("gradient"));
    }
  });
  EXPECT_THAT(errors[0], HasSubstr("left before 'gradient' of update 7: it has joined but met nobody yet"));
}

TEST(ThreadRanks, ARankMayEndRightAfterTheLastMeeting) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    ASSERT_EQ(run_ranks(2, [](Communicator& comm) { comm.barrier(label("end")); }), nothing_thrown(2));
  }
}

TEST(ThreadRanks, SeveralLateRanksAreAllNamed) {
  auto ranks = make_thread_communicators(4);
  std::thread second([&] { EXPECT_THROW(ranks[2]->barrier({"gradient", 7, milliseconds(10)}), PeerError); });
  try {
    ranks[0]->barrier({"gradient", 7, milliseconds(10)});
    FAIL() << "met ranks that did not come";
  } catch (const PeerError& error) {
    EXPECT_EQ(error.culprit_rank(), 1);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("rank 1 (pid "), HasSubstr("rank 3 (pid "),
                                    HasSubstr("did not come to 'gradient' of update 7 within 0.01 s"),
                                    HasSubstr("run.timeout_s, in a program of your own InitOptions::timeout")));
  }
  second.join();
}

// Rank 3 has not come at all: the others need not wait for it to see that they differ.
TEST(ThreadRanks, RanksThatCallDifferentThingsAreToldSoBeforeTheOthersHaveCome) {
  auto ranks = make_thread_communicators(4);
  std::vector<std::thread> threads;
  std::array<std::string, 4> errors;
  for (const std::size_t rank : {0U, 1U, 2U}) {
    threads.emplace_back([&, rank] {
      try {
        ranks[rank]->barrier(label(rank == 1 ? "end" : "start"));
      } catch (const RunError& error) {
        errors[rank] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THROW(ranks[3]->barrier(label("start")), RunError);
  for (const std::size_t rank : {0U, 1U, 2U}) {
    EXPECT_EQ(errors[rank], errors[0]);
    EXPECT_THAT(errors[rank], HasSubstr("rank 1 calls barrier 'end' of update 7 (0 bytes, its call 1)"));
  }
}

TEST(ThreadRanks, ALateRankIsSaidToBeWhereItsRecordSaysByAllRanksInTheSameWordsAndByItself) {
  auto ranks = make_thread_communicators(3);
  StatusImage first_ranks{};
  dynamic_cast<KeepsStatus&>(*ranks[0]).status().place_in_memory(first_ranks);
  const auto first_rank_waits = [&] { return read_status_image(first_ranks, 0).status.value().collectives == 2; };
  std::vector<std::thread> threads;
  std::array<std::string, 3> errors;
  std::atomic<int> waited{0};
  for (const std::size_t rank : {0U, 1U, 2U}) {
    threads.emplace_back([&, rank] {
      Communicator& comm = *ranks[rank];
      comm.barrier(label("agreement"));
      note_phase(comm, "backward", 7);
      while ((rank == 1 && waited < 2) || (rank == 2 && !first_rank_waits())) std::this_thread::yield();
      try {
        comm.barrier({"gradient", 7, rank == 2 ? milliseconds(30) : minutes(10)});
      } catch (const RunError& error) {
        errors[rank] = error.what();
        const auto* const peer = dynamic_cast<const PeerError*>(&error);
        EXPECT_EQ(peer == nullptr ? -1 : peer->culprit_rank(), rank == 1 ? -1 : 1);
      }
      ++waited;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(errors, ::testing::Each(errors[0]));
  EXPECT_THAT(errors[0],
              AllOf(HasSubstr("] rank 1 (pid "), HasSubstr("did not come to 'gradient' of update 7 within 0.03 s: "),
                    HasSubstr("it was last in 'agreement' of update 7, entered "),
                    HasSubstr("then in phase 'backward' of update 7, where its record last moved "),
                    HasSubstr("; ranks 0 and 2 wait;")));
}

TEST(ThreadRanks, WhomARankWaitsForCanBeAskedWhileItWaits) {
  auto ranks = make_thread_communicators(3);
  EXPECT_FALSE(awaited_rank(*ranks[0]));
  std::vector<std::thread> threads;
  for (const std::size_t rank : {0U, 2U}) {
    threads.emplace_back([&, rank] { ranks[rank]->barrier(label("gradient")); });
  }
  for (const std::size_t rank : {0U, 2U}) {
    std::optional<AwaitedRank> awaited;
    while (!awaited || awaited->rank != 1) awaited = awaited_rank(*ranks[rank]);  // 0 and 2 until both are there
    EXPECT_THAT(awaited->message,
                HasSubstr("did not come to 'gradient' of update 7: it has joined but met nobody yet"));
  }
  EXPECT_FALSE(awaited_rank(*ranks[1]));
  ranks[1]->barrier(label("gradient"));
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(awaited_rank(*ranks[0]));
}

TEST(ThreadRanks, ACommunicatorThatFailedThrowsTheSameAgainAtOnce) {
  auto ranks = make_thread_communicators(2);
  std::string first;
  try {
    ranks[0]->barrier({"gradient", 7, milliseconds(1)});
  } catch (const PeerError& error) {
    first = error.what();
  }
  EXPECT_NE(first, "");
  try {
    ranks[0]->barrier(label("next"));
    FAIL() << "went on after an error";
  } catch (const PeerError& error) {
    EXPECT_EQ(error.what(), first);
  }
}

TEST(ThreadRanks, ARankCannotJoinTwice) {
  const auto region = std::make_shared<ShmRegion>(ShmRegion::for_threads(2, 128));
  const ShmCommunicator first(region, 1);
  EXPECT_THROW(ShmCommunicator(region, 1), InputError);
}

// The control of `samegrad env --dual`: ranks that are not processes of their own must not pass.
TEST(DualExchangeCheck, RefusesRanksThatShareAProcess) {
  const auto errors = run_ranks(2, [](Communicator& comm) { dual_exchange_check(comm, label("dual")); });
  EXPECT_THAT(errors, ::testing::Each(HasSubstr("[env] ranks share a process")));
}

/// Flips one bit of what rank 0 receives.
class FlippingCommunicator final : public Communicator {
 public:
  explicit FlippingCommunicator(Communicator& inner) : inner_(inner) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  std::string_view backend() const override { return "flipping"; }
  void all_to_all(std::span<const std::byte> send, std::span<std::byte> recv, const CallLabel& call) override {
    inner_.all_to_all(send, recv, call);
    recv[recv.size() / 2] ^= std::byte{rank() == 0 ? std::uint8_t{1} : std::uint8_t{0}};
  }
  void all_gather(std::span<const std::byte> send, std::span<std::byte> recv, const CallLabel& call) override {
    inner_.all_gather(send, recv, call);
  }
  void broadcast(std::span<std::byte> data, int root, const CallLabel& call) override {
    inner_.broadcast(data, root, call);
  }
  void barrier(const CallLabel& call) override { inner_.barrier(call); }
  void leave(std::string_view reason) override { inner_.leave(reason); }

 private:
  Communicator& inner_;
};

TEST(DualExchangeCheck, RefusesASingleWrongBitOnAllRanks) {
  const auto errors = run_ranks(2, [](Communicator& comm) {
    FlippingCommunicator flipping(comm);
    dual_exchange_check(flipping, label("dual"));
  });
  EXPECT_THAT(errors, ::testing::Each(HasSubstr("[env] exchange of a tensor: element ")));
}

}  // namespace
}  // namespace samegrad
