// One number of a float tensor, as double precision.
#pragma once

#include <cstddef>
#include <cstring>

#include "samegrad/checkpoint/safetensors.h"

namespace samegrad {

/// Bytes of a component of a float tensor; 0 for the other types.
inline std::size_t component_width(TensorType type) {
  if (type == TensorType::kFloat32) return sizeof(float);
  return type == TensorType::kFloat64 ? sizeof(double) : 0;
}

/// Component `index`, row-major, of a float32 or float64 tensor. Local.
inline double tensor_component(const TensorView& tensor, std::size_t index) {
  // memcpy, because a view into a file may be aligned to nothing.
  if (tensor.type == TensorType::kFloat64) {
    double value = 0.0;
    std::memcpy(&value, tensor.bytes.data() + index * sizeof value, sizeof value);
    return value;
  }
  float value = 0.0F;
  std::memcpy(&value, tensor.bytes.data() + index * sizeof value, sizeof value);
  return static_cast<double>(value);
}

}  // namespace samegrad
