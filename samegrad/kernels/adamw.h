// One AdamW step over flat memory.
#pragma once

#include <cstdint>

namespace samegrad {

/// The scalars of one step, each but the last rounded once from a double (train/optimizer.cpp).
struct AdamwScalars {
  float keep;  ///< 1 - learning rate x weight decay
  float beta1;
  float beta2;
  float fresh1;           ///< 1 - beta1
  float fresh2;           ///< 1 - beta2
  float step_size;        ///< learning rate / (1 - beta1^t)
  float root_correction;  ///< sqrt(1 - beta2^t)
  float epsilon;
  double clip_factor = 1.0;
};

/// For each of `count` elements (Loshchilov and Hutter 2019, as torch.optim.AdamW orders it): g =
/// float(double(gradient) clip_factor); mean = beta1 mean + fresh1 g; square = beta2 square + fresh2 g^2; value = value
/// keep - step_size mean / (sqrt(square) / root_correction + epsilon), each operation rounded to float: the same bits
/// for every set of instructions. The arrays do not overlap. Local.
void adamw_step(const AdamwScalars& scalars, const float* gradient, float* mean, float* square, float* values,
                std::int64_t count);

}  // namespace samegrad
