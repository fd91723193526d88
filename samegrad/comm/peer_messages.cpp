#include "samegrad/comm/peer_messages.h"

#include <algorithm>
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

std::string ago(double since_ns) { return seconds(std::max(0.0, since_ns * 1e-9)) + " ago"; }

/// The last call that is known of it, and where its own record says that it went from there.
std::string last_seen(const MissingPeer& peer) {
  if (peer.last_call.operation == CallOperation::kNone) {
    return peer.pid > 0 ? "it has joined but met nobody yet" : "it has not joined";
  }
  std::string text = "it was last in " + call_name(peer.last_call.name.data(), peer.last_call.update) + ", entered " +
                     ago(static_cast<double>(monotonic_ns() - peer.last_call.entered_ns));
  if (peer.status && peer.status->phase != "start") {
    text += ", then in phase " + call_name(peer.status->phase, peer.status->update) + ", where its record last moved " +
            ago(static_cast<double>(monotonic_ns() - peer.status->progress_monotonic_ns));
  }
  return text;
}

std::string_view how_it_lives(char process_state) {
  switch (process_state) {
    case 'R':
      return ", and it computes";
    case 'S':
      return ", and it sleeps";
    case 'D':
      return ", and it waits for a disk or a device";
    default:
      return "";
  }
}

/// What keeps a peer that lives.
std::string what_it_does(const MissingPeer& peer) {
  return is_stopped(peer) ? "it is stopped (SIGCONT wakes it), " + last_seen(peer)
                          : last_seen(peer) + std::string(how_it_lives(peer.process_state));
}

std::string described(int rank, const CallRecord& call) {
  std::string text = "rank " + std::to_string(rank) + " calls " + std::string(operation_name(call.operation)) + " " +
                     call_name(call.name.data(), call.update) + " (" + std::to_string(call.bytes) + " bytes";
  if (call.dtype != CallDtype::kBytes) text += " of " + std::string(dtype_name(call.dtype));
  if (call.operation == CallOperation::kBroadcast) text += ", root " + std::to_string(call.root);
  return text + ", its call " + std::to_string(call.number) + ")";
}

std::string rank_list(std::span<const int> ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text + (ranks.size() == 1 ? " waits" : " wait");
}

}  // namespace

bool is_stopped(const MissingPeer& peer) { return peer.process_state == 'T' || peer.process_state == 't'; }

int likely_culprit(std::span<const MissingPeer> peers) {
  const auto stopped = std::ranges::find_if(peers, is_stopped);
  return stopped == peers.end() ? peers.front().rank : stopped->rank;
}

std::string message_died(const MissingPeer& peer, const CallLabel& awaited) {
  return who(peer) + " ended without leaving the run before " + call_name(awaited) + ": " + last_seen(peer) +
         "; its exit code or signal is not known here: its launcher, its own last message, or the system's log says it";
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
         last_seen(peer) + "; its process ended, or the network between the hosts broke: its own messages tell";
}

std::string message_late(std::span<const MissingPeer> peers, std::span<const int> waiting, const CallLabel& awaited) {
  std::string text;
  for (const MissingPeer& peer : peers) {
    text += (text.empty() ? "" : ", ") + who(peer);
  }
  text += " did not come to " + call_name(awaited) + " within " +
          seconds(std::chrono::duration<double>(awaited.timeout).count()) + ":";
  for (const MissingPeer& peer : peers) {
    text += (peers.size() > 1 ? " rank " + std::to_string(peer.rank) + ": " : " ") + what_it_does(peer) + ";";
  }
  if (!waiting.empty()) text += " " + rank_list(waiting) + ";";
  return text +
         " a wait may last run.timeout_s, in a program of your own InitOptions::timeout, and "
         "DistributedDataParallelOptions::timeout";
}

std::string message_stopped(const MissingPeer& peer, const CallLabel& call) {
  return who(peer) + " is stopped in " + call_name(call) + " (SIGCONT wakes it)";
}

std::string message_awaited(const MissingPeer& peer, const CallLabel& awaited) {
  return who(peer) + " did not come to " + call_name(awaited) + ": " + what_it_does(peer);
}

std::string message_has_left(int rank, std::string_view reason) {
  return "rank " + std::to_string(rank) + " has left the run and can exchange nothing any more: " +
         (reason.empty() ? "it gave no reason" : std::string(reason));
}

std::string message_different_calls(int rank, const CallRecord& call, int other_rank, const CallRecord& other_call) {
  return "ranks do not call the same: " + described(rank, call) + ", " + described(other_rank, other_call) +
         "; all ranks must make the same calls in the same order";
}

}  // namespace samegrad
