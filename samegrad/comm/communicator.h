// What samegrad needs from a transport between ranks. Torch-free: bytes only. All messages have fixed sizes on which
// all ranks agree. Unless said otherwise every call is Collective: every rank calls it, in the same order, with the
// same sizes and label. After a call has thrown, the communicator is broken: later calls throw the same error at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace samegrad {

/// What the bytes of a call are, where that is known: ranks that disagree are told so.
enum class CallDtype : std::uint32_t { kBytes = 0, kFloat32, kFloat64 };

/// Names a call in errors, and bounds its wait.
struct CallLabel {
  std::string_view name;    ///< what is exchanged, e.g. "agreement", "gradient"
  std::int64_t update = 0;  ///< the update being made; 0 outside training
  std::chrono::milliseconds timeout{1'800'000};
  CallDtype dtype = CallDtype::kBytes;
};

class SharesGradientMemory;

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// "shm", "gloo", "single", ...
  virtual std::string_view backend() const = 0;
  /// nullptr where ranks share no memory (comm/gradient_memory.h). Local.
  virtual SharesGradientMemory* shares_gradient_memory() { return nullptr; }
  /// Bytes of the pieces in which a long exchange goes best. 256 KiB stay in a core's cache: over shared memory they
  /// took a third of the time of 1 MiB (2 ranks, the lesson's gradient). The same on all ranks. Local.
  virtual std::int64_t piece_bytes() const { return std::int64_t{1} << 18; }

  /// `send` and `recv` hold size() blocks of equal size; block p of `send` goes to rank p, block p of `recv` comes from
  /// rank p; they do not overlap. Throws PeerError naming rank, update and name when a peer is dead, stopped or late;
  /// RunError when ranks called different things.
  virtual void all_to_all(std::span<const std::byte> send, std::span<std::byte> recv, const CallLabel& label) = 0;

  /// `recv` = every rank's `send`, in rank order (size() x send.size() bytes). Errors as all_to_all.
  virtual void all_gather(std::span<const std::byte> send, std::span<std::byte> recv, const CallLabel& label) = 0;

  /// `data` of rank `root` replaces everyone's. Errors as all_to_all.
  virtual void broadcast(std::span<std::byte> data, int root, const CallLabel& label) = 0;

  /// Returns when every rank has called it. Errors as all_to_all.
  virtual void barrier(const CallLabel& label) = 0;

  /// This rank takes part no more, because of `reason` (its failure line): peers that wait for it, now or later, throw
  /// a PeerError with it. Without it, a destroyed communicator counts as having left for an unknown reason. Local.
  virtual void leave(std::string_view reason) = 0;
};

}  // namespace samegrad
