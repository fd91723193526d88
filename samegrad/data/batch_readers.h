// The samples that a scan finds, read by as many threads as there are cores, and handed on in the order of the file:
// whatever the number of threads, the same comes out.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <vector>

#include "samegrad/data/sample_batch.h"

namespace samegrad {

class BatchReaders : public ScanVisitor {
 public:
  /// `next` is told each sample and bad line, on the thread that scans; what it throws ends the scan. Both arguments
  /// must outlive this. `threads` >= 1: how many batches are read at a time.
  BatchReaders(const TextOptions& options, std::function<void(const ReadSample&)> next, std::size_t threads);

  void on_sample(const FoundSample& sample) override;
  void on_blank_line() override { ++blank_lines_; }
  void on_bad_line(std::int64_t line, std::string_view reason) override;

  /// Waits for all that was found. Local.
  void finish();
  std::int64_t blank_lines() const { return blank_lines_; }

 private:
  void start_full_batch();
  void hand_on(SampleBatch& batch);
  void hand_on_first();

  const TextOptions& options_;
  std::function<void(const ReadSample&)> next_;
  std::size_t threads_;
  SampleBatch batch_;
  std::deque<std::future<SampleBatch>> in_work_;
  std::vector<SampleBatch> spare_;  // for the memory that they have
  std::int64_t blank_lines_ = 0;
};

}  // namespace samegrad
