// samegrad-worker with a well-known mistake built in: SAMEGRAD_BROKEN names it. The linker puts these functions in the
// place of the product's (--wrap), so the product itself has no switch for them.
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "samegrad/comm/agreement.h"
#include "samegrad/model/model.h"
#include "samegrad/objective/scale.h"
#include "samegrad/train/window_batches.h"
#include "tests/controls/broken.h"

namespace {

using samegrad::AgreementRecord;
using samegrad::AtomRange;
using samegrad::Communicator;
using samegrad::DropoutKey;
using samegrad::GradientReduction;
using samegrad::Model;
using samegrad::Objective;
using samegrad::PackedBatch;
using samegrad::PlanWindow;
using samegrad::SampleSource;
using samegrad::WindowBatches;

constexpr double kRanks = 2.0;
constexpr double kAccumulation = 2.0;

// Of this rank, by update: a window is built while the one before it computes.
std::mutex mutex;
std::map<std::int64_t, std::int64_t> samples_of;
double units_of_window = 0.0;  // of the one that computes

}  // namespace

// The linker's names of the functions, as __real_ (the product's) and __wrap_ (what the product calls instead).
double real_gradient_divisor(GradientReduction reduction,
                             double count) asm("__real__ZN8samegrad16gradient_divisorENS_17GradientReductionEd");
double wrap_gradient_divisor(GradientReduction reduction,
                             double count) asm("__wrap__ZN8samegrad16gradient_divisorENS_17GradientReductionEd");
double wrap_gradient_divisor(GradientReduction reduction, double count) {
  const double right = real_gradient_divisor(reduction, count);
  if (broken("mean-of-means")) return kRanks * kAccumulation;
  if (broken("extra-accumulation-division")) return right * kAccumulation;
  if (broken("missing-world-size")) return right * kRanks;
  if (broken("local-count")) return kRanks;
  return right;
}

at::Tensor real_loss_sum(const Model* model, const PackedBatch& batch, const std::optional<DropoutKey>& dropout) asm(
    "__real__ZNK8samegrad5Model8loss_sumERKNS_11PackedBatchERKSt8optionalINS_10DropoutKeyEE");
at::Tensor wrap_loss_sum(const Model* model, const PackedBatch& batch, const std::optional<DropoutKey>& dropout) asm(
    "__wrap__ZNK8samegrad5Model8loss_sumERKNS_11PackedBatchERKSt8optionalINS_10DropoutKeyEE");
at::Tensor wrap_loss_sum(const Model* model, const PackedBatch& batch, const std::optional<DropoutKey>& dropout) {
  std::optional<DropoutKey> key = dropout;
  if (broken("randomness-restarted") && key) {
    static const std::int64_t kFirstUpdate = key->update;
    key->update -= kFirstUpdate;
  }
  if (broken("generator-carried") && key) {
    static std::int64_t drawn = 0;
    *key = DropoutKey{key->seed, /*update=*/0, drawn++};
  }
  const at::Tensor sum = real_loss_sum(model, batch, key);
  if (broken("mean-of-means")) return sum / static_cast<double>(batch.supervised_tokens());
  if (broken("local-count")) return sum / units_of_window;
  return sum;
}

WindowBatches
real_window_batches(const PlanWindow& window, AtomRange range, const SampleSource& source, const Objective& objective) asm(
    "__real__ZN8samegrad14window_batchesERKNS_10PlanWindowENS_9AtomRangeERKNS_12SampleSourceERKNS_9ObjectiveE");
WindowBatches
wrap_window_batches(const PlanWindow& window, AtomRange range, const SampleSource& source, const Objective& objective) asm(
    "__wrap__ZN8samegrad14window_batchesERKNS_10PlanWindowENS_9AtomRangeERKNS_12SampleSourceERKNS_9ObjectiveE");
WindowBatches wrap_window_batches(const PlanWindow& window, AtomRange range, const SampleSource& source,
                                  const Objective& objective) {
  WindowBatches batches = real_window_batches(window, range, source, objective);
  const std::lock_guard lock(mutex);
  std::int64_t& samples = samples_of[window.update] = 0;
  for (const PackedBatch& atom : batches.atoms) samples += atom.samples();
  return batches;
}

std::vector<AgreementRecord>
real_exchange_records(Communicator& comm, const AgreementRecord& mine, std::chrono::milliseconds timeout) asm(
    "__real__ZN8samegrad16exchange_recordsERNS_12CommunicatorERKNS_"
    "15AgreementRecordENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE");
std::vector<AgreementRecord>
wrap_exchange_records(Communicator& comm, const AgreementRecord& mine, std::chrono::milliseconds timeout) asm(
    "__wrap__ZN8samegrad16exchange_recordsERNS_12CommunicatorERKNS_"
    "15AgreementRecordENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE");
std::vector<AgreementRecord> wrap_exchange_records(Communicator& comm, const AgreementRecord& mine,
                                                   std::chrono::milliseconds timeout) {
  AgreementRecord record = mine;
  units_of_window = static_cast<double>(mine.supervised_units);
  const std::lock_guard lock(mutex);
  if (broken("count-before-shift")) record.supervised_units += samples_of[mine.update];
  return real_exchange_records(comm, record, timeout);
}

void real_divide(float* gradient, std::int64_t count, double by) asm("__real__ZN8samegrad15divide_gradientEPfld");
void wrap_divide(float* gradient, std::int64_t count, double by) asm("__wrap__ZN8samegrad15divide_gradientEPfld");
void wrap_divide(float* gradient, std::int64_t count, double by) {
  real_divide(gradient, count, by);
  if (broken("billionth-in-a-component")) gradient[0] += 1e-9F;
}

void real_divide(double* gradient, std::int64_t count, double by) asm("__real__ZN8samegrad15divide_gradientEPdld");
void wrap_divide(double* gradient, std::int64_t count, double by) asm("__wrap__ZN8samegrad15divide_gradientEPdld");
void wrap_divide(double* gradient, std::int64_t count, double by) {
  real_divide(gradient, count, by);
  if (broken("billionth-in-a-component")) gradient[0] += 1e-9;
}
