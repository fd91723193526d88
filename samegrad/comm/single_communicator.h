// A run of one process: nothing to wait for.
#pragma once

#include <exception>
#include <memory>

#include "samegrad/comm/communicator.h"
#include "samegrad/comm/keeps_status.h"

namespace samegrad {

class SingleCommunicator final : public Communicator, public KeepsStatus {
 public:
  /// `status`: the rank's record, where it has one already. Local.
  explicit SingleCommunicator(std::shared_ptr<StatusWriter> status = std::make_shared<StatusWriter>(0, 1));
  /// Ends the record: done, or failed where it is destroyed by an exception.
  ~SingleCommunicator() override;
  SingleCommunicator(const SingleCommunicator&) = delete;
  SingleCommunicator& operator=(const SingleCommunicator&) = delete;

  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string_view backend() const override { return "single"; }
  void all_to_all(std::span<const std::byte> send, std::span<std::byte> recv, const CallLabel& label) override;
  void all_gather(std::span<const std::byte> send, std::span<std::byte> recv, const CallLabel& label) override;
  void broadcast(std::span<std::byte> data, int root, const CallLabel& label) override;
  void barrier(const CallLabel& label) override;
  void leave(std::string_view reason) override;
  StatusWriter& status() override { return *status_; }
  std::optional<RankStatus> status_of(int /*rank*/) const override { return std::nullopt; }

 private:
  void throw_if_left() const;
  void note(CallOperation operation, std::size_t bytes, const CallLabel& label);

  std::shared_ptr<StatusWriter> status_;
  int exceptions_at_start_;
  std::exception_ptr left_;
};

}  // namespace samegrad
