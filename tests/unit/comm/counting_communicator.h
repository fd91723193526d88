// Counts what goes over a communicator, call by call.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "samegrad/comm/communicator.h"

namespace samegrad::testing {

class CountingCommunicator final : public Communicator {
 public:
  explicit CountingCommunicator(Communicator& inner) : inner_(&inner) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  std::string_view backend() const override { return inner_->backend(); }
  void all_to_all(std::span<const std::byte> send, std::span<std::byte> recv, const CallLabel& label) override {
    ++calls_[std::string(label.name) + "/all_to_all"];
    bytes_to_peers_[std::string(label.name)] += static_cast<std::int64_t>(send.size()) / size() * (size() - 1);
    inner_->all_to_all(send, recv, label);
  }
  void all_gather(std::span<const std::byte> send, std::span<std::byte> recv, const CallLabel& label) override {
    ++calls_[std::string(label.name) + "/all_gather"];
    bytes_to_peers_[std::string(label.name)] += static_cast<std::int64_t>(send.size()) * (size() - 1);
    inner_->all_gather(send, recv, label);
  }
  void broadcast(std::span<std::byte> data, int root, const CallLabel& label) override {
    ++calls_[std::string(label.name) + "/broadcast"];
    inner_->broadcast(data, root, label);
  }
  void barrier(const CallLabel& label) override {
    ++calls_[std::string(label.name) + "/barrier"];
    inner_->barrier(label);
  }
  void leave(std::string_view reason) override { inner_->leave(reason); }

  /// By "label/operation".
  const std::map<std::string, int>& calls() const { return calls_; }
  /// Bytes that this rank handed over for other ranks, by label; a broadcast is not counted.
  const std::map<std::string, std::int64_t>& bytes_to_peers() const { return bytes_to_peers_; }

 private:
  Communicator* inner_;
  std::map<std::string, int> calls_;
  std::map<std::string, std::int64_t> bytes_to_peers_;
};

}  // namespace samegrad::testing
