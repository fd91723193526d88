// One short text for all the bits of a model: two models with the same hash have the same values.
#pragma once

#include <torch/nn/module.h>

#include <string>

namespace samegrad {

/// XXH3-128 (32 hexadecimal digits) of the parameters' values, in order of registration and row-major, a tied one once:
/// what outputs/metrics.jsonl calls parameters_xxh3. One changed bit changes it, -0 is not +0, every NaN counts as the
/// same one; names, shapes, strides and frozen or not take no part. Parameters of any dtype and device, dense; throws
/// InputError naming one that is sparse. Local: ranks hold the same model where they get the same text.
std::string model_hash(const torch::nn::Module& module);

/// The same of its buffers: running statistics and counters. Local.
std::string buffers_hash(const torch::nn::Module& module);

}  // namespace samegrad
