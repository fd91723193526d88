// The attention of each set of instructions: what attention.cpp chooses from, and tests compare.
#pragma once

#include "samegrad/kernels/attention.h"

namespace samegrad {

/// As attention.h says; scratch: attention_scratch_elements, aligned to 64 bytes.
template <typename Element>
using AttentionForward = void(const PackedShape& shape, const KeyedMask* dropout, const Element* qkv, Element* mixed,
                              Element* statistics, Element* scratch);
template <typename Element>
using AttentionBackward = void(const PackedShape& shape, const KeyedMask* dropout, const Element* qkv,
                               const Element* mixed, const Element* statistics, const Element* gradient,
                               Element* qkv_gradient, Element* scratch);

namespace portable {
AttentionForward<float> attention_forward;
AttentionForward<double> attention_forward;
AttentionBackward<float> attention_backward;
AttentionBackward<double> attention_backward;
}  // namespace portable
namespace avx2 {
AttentionForward<float> attention_forward;
AttentionForward<double> attention_forward;
AttentionBackward<float> attention_backward;
AttentionBackward<double> attention_backward;
}  // namespace avx2
namespace avx512 {
AttentionForward<float> attention_forward;
AttentionForward<double> attention_forward;
AttentionBackward<float> attention_backward;
AttentionBackward<double> attention_backward;
}  // namespace avx512

}  // namespace samegrad
