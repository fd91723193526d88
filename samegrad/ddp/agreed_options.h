// The options of a DistributedDataParallel that every rank must give alike, and what values are allowed.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "samegrad/ddp/ddp_options.h"
#include "samegrad/ddp/named_tensor.h"

namespace samegrad {

struct AgreedOption {
  std::string_view name;
  std::string (*value)(const DistributedDataParallelOptions&);
};

/// All of them. Others (gradient_as_bucket_view, timeout) are a rank's own affair. Local.
std::span<const AgreedOption> agreed_options();

/// "option reduction: mean", one line each. Local.
std::vector<std::string> option_lines(const DistributedDataParallelOptions& options);

/// Throws InputError for a value that is not allowed, with it and what is. Local.
void check_options(const DistributedDataParallelOptions& options, const std::vector<NamedTensor>& parameters);

}  // namespace samegrad
