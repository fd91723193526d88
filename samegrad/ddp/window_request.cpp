#include "samegrad/ddp/window_request.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "samegrad/base/error.h"

namespace samegrad {
namespace {

template <std::size_t kSize>
void fill(std::array<char, kSize>& field, std::string_view text, std::size_t most = kSize) {
  std::copy_n(text.begin(), std::min(text.size(), most), field.begin());
}

/// "" or why this rank's numbers cannot be a window's.
std::string request_failure(const WindowRequest& request, int rank) {
  std::ostringstream line;
  line << "[train] rank " << rank << ", update " << request.update << ": ";
  for (const auto& [name, count] : {std::pair{".count", request.count}, std::pair{".atoms", request.atoms}}) {
    if (count.fits()) continue;
    line << name << " is " << count.text() << ", allowed is 0 to 2^63 - 1; give the number that this rank has";
    return line.str();
  }
  if (!request.atom_weights) return "";
  const std::vector<double>& weights = *request.atom_weights;
  if (static_cast<std::int64_t>(weights.size()) != request.atoms.value()) {
    line << weights.size() << " weights for " << request.atoms.value()
         << " atoms; give one weight for each atom of the rank";
    return line.str();
  }
  const auto bad = std::ranges::find_if_not(weights, [](double w) { return std::isfinite(w) && w >= 0.0; });
  if (bad == weights.end()) return "";
  line << "the weight of this rank's atom " << bad - weights.begin() << " (from 0) is " << *bad
       << "; weights must be finite and at least 0";
  return line.str();
}

}  // namespace

AgreementRecord record_of(const WindowRequest& request, std::string_view parameters, int rank) {
  std::string failure = request.failure;
  int exit_code = request.failure_exit_code;
  if (failure.empty()) {
    failure = request_failure(request, rank);
    exit_code = static_cast<int>(ExitCode::kBadInput);
  }
  AgreementRecord record;
  record.update = request.update;
  record.atoms = request.atoms.value();
  record.supervised_units = request.count.value();
  record.weighted = request.atom_weights ? 1 : 0;
  record.has_data = request.count.value() > 0 ? 1 : 0;
  if (request.atom_weights) {
    record.has_data = std::ranges::any_of(*request.atom_weights, [](double weight) { return weight > 0.0; }) ? 1 : 0;
  }
  record.stop_asked = request.stop_asked ? 1 : 0;
  record.failed = failure.empty() ? 0 : static_cast<std::uint8_t>(exit_code);
  fill(record.digest, request.digest);
  fill(record.parameters, parameters);
  fill(record.message, failure, record.message.size() - 1);
  return record;
}

}  // namespace samegrad
