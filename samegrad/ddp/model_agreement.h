// Whether all ranks hold the same model: its form when it is wrapped, its values while it trains.
#pragma once

#include <string>
#include <vector>

#include "samegrad/comm/world.h"
#include "samegrad/ddp/named_tensor.h"

namespace samegrad {

/// Throws the same InputError on every rank where ranks differ in number, name, shape, dtype, order or requires_grad of
/// `parameters`, or in the same of `buffers`: it names the first that differs, and both ranks' forms. Collective.
void agree_on_form(const World& world, const std::vector<NamedTensor>& parameters,
                   const std::vector<NamedTensor>& buffers);

/// Rank `root`'s values replace everyone's. Collective.
void broadcast_tensors(const World& world, const std::vector<NamedTensor>& tensors, int root, std::string_view what);

/// Throws the same RunError on every rank where the bits of `tensors` differ between ranks: it names the first tensor
/// that differs, a rank, and `when`. Costs a hash of all values. Collective.
void check_same_values(const World& world, const std::vector<NamedTensor>& tensors, const std::string& when);

}  // namespace samegrad
