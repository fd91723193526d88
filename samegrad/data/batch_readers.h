// The samples that a scan finds, read by several threads, and handed on in the order of the file: whatever the number
// of threads, the same comes out.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <future>

#include "samegrad/data/sample_batch.h"

namespace samegrad {

class BatchReaders : public ScanVisitor {
 public:
  /// `next` is given batch after batch, on the thread that scans; what it throws ends the scan. `options` must outlive
  /// this. `threads` >= 1: how many batches are read at a time.
  BatchReaders(const TextOptions& options, std::function<void(const ReadBatch&)> next, std::size_t threads);

  void on_sample(const FoundSample& sample) override;
  void on_blank_line() override { ++blank_lines_; }
  void on_bad_line(std::int64_t line, std::string_view reason) override;

  /// Waits for all that was found. Local.
  void finish();
  std::int64_t blank_lines() const { return blank_lines_; }

 private:
  void start_full_batch();
  void hand_on_first();

  const TextOptions& options_;
  std::function<void(const ReadBatch&)> next_;
  std::size_t threads_;
  SampleBatch batch_;
  std::deque<std::future<ReadBatch>> in_work_;
  std::int64_t blank_lines_ = 0;
};

}  // namespace samegrad
