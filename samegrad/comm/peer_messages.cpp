#include "samegrad/comm/peer_messages.h"

#include <array>
#include <chrono>
#include <cstdio>

namespace samegrad {
namespace {

std::string who(const MissingPeer& peer) {
  return "rank " + std::to_string(peer.rank) + (peer.pid > 0 ? " (pid " + std::to_string(peer.pid) + ")" : "");
}

std::string call_name(std::string_view name, std::int64_t update) {
  return "'" + std::string(name) + "'" + (update > 0 ? " of update " + std::to_string(update) : "");
}

std::string call_name(const CallLabel& label) { return call_name(label.name, label.update); }

std::string seconds(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g s", value);
  return text.data();
}

std::string last_seen(const MissingPeer& peer) {
  if (peer.last_call.operation == CallOperation::kNone) {
    return peer.pid > 0 ? "it has joined but met nobody yet" : "it has not joined";
  }
  const double ago = static_cast<double>(monotonic_ns() - peer.last_call.entered_ns) * 1e-9;
  return "it was last in " + call_name(peer.last_call.name.data(), peer.last_call.update) + ", entered " +
         seconds(ago) + " ago";
}

std::string described(int rank, const CallRecord& call) {
  return "rank " + std::to_string(rank) + " calls " + std::string(operation_name(call.operation)) + " " +
         call_name(call.name.data(), call.update) + " (" + std::to_string(call.bytes) + " bytes, root " +
         std::to_string(call.root) + ")";
}

}  // namespace

std::string message_died(const MissingPeer& peer, const CallLabel& awaited) {
  return who(peer) + " died before " + call_name(awaited) + ": " + last_seen(peer) +
         "; its own last message, or the system's log (out of memory?), says why";
}

std::string message_left(const MissingPeer& peer, const CallLabel& awaited) {
  return who(peer) + " left before " + call_name(awaited) + ": " + last_seen(peer) +
         "; all ranks must make the same calls";
}

std::string message_failed(const MissingPeer& peer, const CallLabel& awaited, std::string_view reason) {
  return who(peer) + " failed before " + call_name(awaited) + ": " +
         (reason.empty() ? last_seen(peer) : std::string(reason));
}

std::string message_lost(const MissingPeer& peer, std::string_view host, const CallLabel& awaited) {
  return who(peer) + " on " + std::string(host) + " closed its connection before " + call_name(awaited) + ": " +
         last_seen(peer) + "; it died, or the network between the hosts broke: its own messages tell";
}

std::string message_late(std::span<const MissingPeer> peers, const CallLabel& awaited) {
  std::string text;
  for (const MissingPeer& peer : peers) {
    text += (text.empty() ? "" : ", ") + who(peer);
  }
  text += " did not come to " + call_name(awaited) + " within " +
          seconds(std::chrono::duration<double>(awaited.timeout).count()) + ":";
  for (const MissingPeer& peer : peers) {
    const std::string rank = peers.size() > 1 ? "rank " + std::to_string(peer.rank) + ": " : "";
    text += " " + rank + (peer.stopped ? "it is stopped (SIGCONT wakes it), " : "") + last_seen(peer) + ";";
  }
  return text + " a wait may last run.timeout_s";
}

std::string message_has_left(int rank, std::string_view reason) {
  return "rank " + std::to_string(rank) + " has left the run and can exchange nothing any more: " +
         (reason.empty() ? "it gave no reason" : std::string(reason));
}

std::string message_different_calls(const CallRecord& of_rank_0, int rank, const CallRecord& other) {
  return "ranks do not call the same: " + described(0, of_rank_0) + ", " + described(rank, other) +
         "; all ranks must make the same calls in the same order";
}

}  // namespace samegrad
