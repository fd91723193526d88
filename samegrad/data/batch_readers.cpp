#include "samegrad/data/batch_readers.h"

#include <memory>
#include <utility>

#include "samegrad/base/blocked_signals.h"

namespace samegrad {
namespace {

/// Some milliseconds of work, and few enough samples that what is said of them is not much larger.
constexpr std::size_t kBatchBytes = std::size_t{256} << 10;
constexpr std::size_t kBatchSamples = 4096;

/// A sample takes some fifteen times its size while it is read: one so large is read while no other is.
constexpr std::size_t kReadAlone = std::size_t{1} << 20;

}  // namespace

BatchReaders::BatchReaders(const TextOptions& options, std::function<void(const ReadBatch&)> next, std::size_t threads)
    : options_(options), next_(std::move(next)), threads_(threads) {}

void BatchReaders::on_sample(const FoundSample& sample) {
  batch_.add_sample(sample);
  start_full_batch();
}

void BatchReaders::on_bad_line(std::int64_t line, std::string_view reason) {
  batch_.add_bad_line(line, reason);
  start_full_batch();
}

void BatchReaders::finish() {
  while (!in_work_.empty()) hand_on_first();
  next_(std::exchange(batch_, {}).read(options_));
}

void BatchReaders::start_full_batch() {
  if (batch_.bytes() < kBatchBytes && batch_.size() < kBatchSamples) return;
  if (threads_ == 1 || batch_.bytes() >= kReadAlone) {
    finish();
    return;
  }
  if (in_work_.size() == threads_) hand_on_first();
  const BlockedSignals blocked;
  // Where no thread can be had, it is read when it is handed on. Then std::async takes its argument twice: it must be
  // copied, not moved from.
  constexpr auto kIfPossible = std::launch::async | std::launch::deferred;
  const auto work = [this, batch = std::make_shared<const SampleBatch>(std::exchange(batch_, {}))] {
    return batch->read(options_);
  };
  in_work_.push_back(std::async(kIfPossible, work));
}

void BatchReaders::hand_on_first() {
  const ReadBatch read = in_work_.front().get();
  in_work_.pop_front();
  next_(read);
}

}  // namespace samegrad
