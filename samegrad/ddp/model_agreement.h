// Whether all ranks hold the same model: its form when it is wrapped, its values while it trains.
#pragma once

#include <string>
#include <vector>

#include "samegrad/comm/world.h"
#include "samegrad/ddp/model_form.h"
#include "samegrad/ddp/named_tensor.h"

namespace samegrad {

/// Throws the same InputError on every rank where ranks differ in `options` (option_lines() of agreed_options.h), or in
/// number, name, shape, dtype, order or requires_grad of parameters or buffers: it names the first that differs, and
/// what both ranks have. Collective.
void agree_on_form(const World& world, const std::vector<std::string>& options,
                   const std::vector<TensorForm>& parameters, const std::vector<TensorForm>& buffers);

/// Rank `root`'s values replace everyone's. Collective.
void broadcast_tensors(const World& world, const std::vector<NamedTensor>& tensors, int root, std::string_view what);

/// Throws the same RunError on every rank where the bits of `tensors` differ between ranks: it names the first tensor
/// that differs, a rank, and `when`. Costs a hash of all values. Collective.
void check_same_values(const World& world, const std::vector<NamedTensor>& tensors, const std::string& when);

}  // namespace samegrad
