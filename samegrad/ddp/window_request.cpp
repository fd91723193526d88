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

const char* const kGiveCount = ", allowed is 0 to 2^63 - 1; give the number that this rank has";

/// "" or why `weights` cannot be those of as many atoms.
std::string weights_failure(const std::optional<std::vector<double>>& weights, std::int64_t atoms) {
  if (!weights) return "";
  std::ostringstream line;
  if (static_cast<std::int64_t>(weights->size()) != atoms) {
    line << weights->size() << " weights for " << atoms << " atoms; give one weight for each atom of the rank";
    return line.str();
  }
  const auto bad = std::ranges::find_if_not(*weights, [](double w) { return std::isfinite(w) && w >= 0.0; });
  if (bad == weights->end()) return "";
  line << "the weight of this rank's atom " << bad - weights->begin() << " (from 0) is " << *bad
       << "; weights must be finite and at least 0";
  return line.str();
}

std::string term_failure(const LossTerm& term, std::int64_t atoms) {
  if (!term.count.fits()) return ".count is " + term.count.text() + kGiveCount;
  const bool has_count = term.count.value() > 0;
  if (term.kind == TermKind::kRegularizer && (has_count || term.weights || term.constant)) {
    return "a regularizer is not divided; leave its count, weights and constant away";
  }
  if (term.constant && (has_count || term.weights)) return "a constant and a count or weights; give one of them";
  if (term.constant && !(std::isfinite(*term.constant) && *term.constant > 0.0)) {
    std::ostringstream line;
    line << "the constant is " << *term.constant << "; give a finite number above 0";
    return line.str();
  }
  return weights_failure(term.weights, atoms);
}

std::string terms_failure(const WindowRequest& request) {
  if (request.terms.empty()) return "";
  if (request.count.value() != 0 || request.atom_weights) {
    return "terms and a count or weights of the whole window; give counts and weights by term";
  }
  if (request.terms.size() > kMostTerms) {
    return std::to_string(request.terms.size()) + " loss terms, allowed are " + std::to_string(kMostTerms) +
           "; add up those that have the same denominator";
  }
  for (std::size_t k = 0; k < request.terms.size(); ++k) {
    const LossTerm& term = request.terms[k];
    if (term.name.empty() || term.name.size() >= TermRecord{}.name.size()) {
      return "loss term " + std::to_string(k) + " has the name '" + term.name + "'; give it one of 1 to 31 characters";
    }
    if (std::ranges::count(request.terms, term.name, &LossTerm::name) > 1) {
      return "two loss terms have the name " + term.name + "; give each its own";
    }
    if (std::string failure = term_failure(term, request.atoms.value()); !failure.empty()) {
      return "loss term " + term.name + ": " + failure;
    }
  }
  return "";
}

/// "" or why this rank's numbers cannot be a window's.
std::string request_failure(const WindowRequest& request) {
  if (!request.count.fits()) return ".count is " + request.count.text() + kGiveCount;
  if (!request.atoms.fits()) return ".atoms is " + request.atoms.text() + kGiveCount;
  if (std::string failure = terms_failure(request); !failure.empty()) return failure;
  return weights_failure(request.atom_weights, request.atoms.value());
}

std::int64_t above_zero(const std::vector<double>& weights) {
  return std::ranges::count_if(weights, [](double weight) { return weight > 0.0; });
}

TermRecord record_of(const LossTerm& term) {
  TermRecord record;
  fill(record.name, term.name);
  record.empty = term.empty;
  if (term.kind == TermKind::kRegularizer) {
    record.divisor = TermDivisor::kNothing;
  } else if (term.constant) {
    record.divisor = TermDivisor::kConstant;
    record.constant = *term.constant;
  } else if (term.weights) {
    record.divisor = TermDivisor::kWeight;
    record.count = above_zero(*term.weights);
  } else {
    record.divisor = TermDivisor::kUnits;
    record.count = term.count.value();
  }
  return record;
}

}  // namespace

AgreementRecord record_of(const WindowRequest& request, std::string_view parameters, int rank) {
  std::string failure = request.failure;
  int exit_code = request.failure_exit_code;
  if (std::string wrong = request_failure(request); failure.empty() && !wrong.empty()) {
    failure = "[window] rank " + std::to_string(rank) + ", update " + std::to_string(request.update) + ": " + wrong;
    exit_code = static_cast<int>(ExitCode::kBadInput);
  }
  AgreementRecord record;
  record.update = request.update;
  record.atoms = request.atoms.value();
  record.supervised_units = request.count.value();
  record.empty_window = request.empty_window;
  record.weighted = request.atom_weights ? 1 : 0;
  record.has_data =
      request.atom_weights ? (above_zero(*request.atom_weights) > 0 ? 1 : 0) : (request.count.value() > 0 ? 1 : 0);
  record.stop_asked = request.stop_asked ? 1 : 0;
  record.save_asked = request.save_asked ? 1 : 0;
  record.failed = failure.empty() ? 0 : static_cast<std::uint8_t>(exit_code);
  for (std::size_t k = 0; k < request.terms.size() && k < kMostTerms; ++k)
    record.terms[k] = record_of(request.terms[k]);
  fill(record.digest, request.digest);
  fill(record.parameters, parameters);
  record.has_generator_seed = request.generator_seed ? 1 : 0;
  record.generator_seed = request.generator_seed.value_or(0);
  fill(record.message, failure.empty() ? request.model_change : failure, record.message.size() - 1);
  return record;
}

}  // namespace samegrad
