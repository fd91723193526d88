// Continues a prompt with a text model.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "samegrad/config/run_config.h"
#include "samegrad/model/model.h"

namespace samegrad {

struct GenerateOptions {
  std::int64_t most_tokens = 256;  ///< stop after so many
  double temperature = 0.0;        ///< 0: the likeliest token each time (the lowest id among equals)
  std::uint64_t seed = 0;          ///< keys the draws (Philox stream kGenerate, counter = number of the token)
  std::int32_t end_token = 255;    ///< stop here; not part of the result
};

/// The tokens that follow `prompt`, drawn from the decoder's distribution one after the other. The model sees the last
/// config.positions tokens. Throws InputError for an empty prompt, a token outside the vocabulary, a temperature that
/// is negative or not finite. Local.
std::vector<std::int32_t> generate(const Model& model, const ModelConfig& config, std::span<const std::int32_t> prompt,
                                   const GenerateOptions& options);

}  // namespace samegrad
