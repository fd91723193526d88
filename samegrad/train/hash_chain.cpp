#include "samegrad/train/hash_chain.h"

#include "samegrad/base/digest.h"

namespace samegrad {

std::string next_link(std::string_view previous, std::span<const SamplerHistory> histories,
                      std::string_view gradient_hash, std::string_view parameters_hash) {
  std::string text(previous);
  text += '\n';
  for (const SamplerHistory& history : histories) text += history.digest + '\n';
  text.append(gradient_hash).append("\n").append(parameters_hash).append("\n");
  return xxh3_128_hex(text);
}

}  // namespace samegrad
