// A run of one process: nothing to wait for.
#pragma once

#include <exception>

#include "samegrad/comm/communicator.h"

namespace samegrad {

class SingleCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string_view backend() const override { return "single"; }
  void all_to_all(std::span<const std::byte> send, std::span<std::byte> recv, const CallLabel& label) override;
  void all_gather(std::span<const std::byte> send, std::span<std::byte> recv, const CallLabel& label) override;
  void broadcast(std::span<std::byte> data, int root, const CallLabel& label) override;
  void barrier(const CallLabel& label) override;
  void leave(std::string_view reason) override;

 private:
  void throw_if_left() const;

  std::exception_ptr left_;
};

}  // namespace samegrad
