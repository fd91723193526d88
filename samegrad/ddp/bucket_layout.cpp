#include "samegrad/ddp/bucket_layout.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

namespace samegrad {
namespace {

constexpr std::int64_t kAlignmentBytes = 64;

std::int64_t bytes_of(at::ScalarType dtype) { return static_cast<std::int64_t>(c10::elementSize(dtype)); }

std::int64_t aligned_elements(const BucketParameter& parameter) {
  const std::int64_t block = kAlignmentBytes / bytes_of(parameter.dtype);
  return (parameter.elements + block - 1) / block * block;
}

}  // namespace

std::vector<BucketLayout> lay_out_buckets(std::span<const BucketParameter> parameters, const BucketLimits& limits) {
  struct Open {
    BucketLayout bucket;
    std::int64_t limit = 0;
  };
  std::map<std::pair<bool, at::ScalarType>, Open> open;
  std::vector<BucketLayout> done;
  for (std::size_t i = parameters.size(); i-- > 0;) {
    const BucketParameter& parameter = parameters[i];
    const auto [at, fresh] = open.try_emplace({parameter.delayed, parameter.dtype});
    auto& [bucket, limit] = at->second;
    if (fresh) limit = limits.first_bytes;
    const std::int64_t elements = aligned_elements(parameter);
    if (!bucket.places.empty() && (bucket.elements + elements) * bytes_of(parameter.dtype) > limit) {
      done.push_back(std::exchange(bucket, {}));
      limit = limits.bytes;
    }
    bucket.dtype = parameter.dtype;
    bucket.delayed = parameter.delayed;
    bucket.places.push_back({i, bucket.elements});
    bucket.elements += elements;
  }
  for (auto& [key, last] : open) done.push_back(std::move(last.bucket));
  std::ranges::stable_sort(done, [](const BucketLayout& a, const BucketLayout& b) {
    if (a.delayed != b.delayed) return b.delayed;
    return a.places.back().parameter > b.places.back().parameter;
  });
  return done;
}

std::string describe_buckets(std::span<const BucketParameter> parameters, std::span<const BucketLayout> buckets) {
  std::ostringstream out;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    const BucketLayout& bucket = buckets[b];
    out << "bucket " << b << ": " << c10::toString(bucket.dtype) << ", " << bucket.elements * bytes_of(bucket.dtype)
        << " bytes" << (bucket.delayed ? ", delayed" : "") << ":";
    for (const BucketPlace& place : bucket.places) out << ' ' << parameters[place.parameter].name;
    out << '\n';
  }
  return out.str();
}

}  // namespace samegrad
