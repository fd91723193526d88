// The status record of another rank of this host, read from the memory in which that rank keeps it.
#pragma once

#include <optional>

#include "samegrad/comm/rank_facts.h"
#include "samegrad/comm/status_record.h"

namespace samegrad {

struct StatusImage;

class PeerRecord {
 public:
  /// The record of `rank`, which runs on this host and says of itself `facts`; none where it cannot be reached. Local.
  PeerRecord(const RankFacts& facts, int rank);
  ~PeerRecord();
  PeerRecord(PeerRecord&& other) noexcept;
  PeerRecord(const PeerRecord&) = delete;
  PeerRecord& operator=(const PeerRecord&) = delete;
  PeerRecord& operator=(PeerRecord&&) = delete;

  /// Also when the rank has ended. Local.
  std::optional<RankStatus> read() const;

 private:
  int rank_;
  const StatusImage* image_ = nullptr;
};

}  // namespace samegrad
