#include "samegrad/kernels/attention.h"

#include <algorithm>
#include <memory>
#include <new>

#include "samegrad/kernels/attention_kernels.h"
#include "samegrad/kernels/isa.h"

namespace samegrad {
namespace {

constexpr std::int64_t kWidest = 16;  // elements of the widest register

std::int64_t longest_of(const PackedShape& shape) {
  std::int64_t longest = 0;
  for (std::int64_t s = 0; s < shape.samples; ++s) {
    longest = std::max(longest, shape.offsets[s + 1] - shape.offsets[s]);
  }
  return longest;
}

/// This thread's memory for kernels: it grows to the most that was asked for.
template <typename Element>
Element* scratch_for(const PackedShape& shape) {
  constexpr auto kAlignment = std::align_val_t{64};
  struct Free {
    void operator()(Element* memory) const { ::operator delete(memory, kAlignment); }
  };
  thread_local std::unique_ptr<Element, Free> memory;
  thread_local std::int64_t held = 0;
  const std::int64_t needed = attention_scratch_elements(longest_of(shape), shape.head_width);
  if (needed > held) {
    memory.reset();
    held = 0;
    memory.reset(static_cast<Element*>(::operator new(static_cast<std::size_t>(needed) * sizeof(Element), kAlignment)));
    held = needed;
  }
  return memory.get();
}

template <typename Element>
void forward(const PackedShape& shape, const KeyedMask* dropout, const Element* qkv, Element* mixed,
             Element* statistics) {
  using Kernel = AttentionForward<Element>;
  static auto* const kKernel =
      kernel_for<Kernel>(portable::attention_forward, avx2::attention_forward, avx512::attention_forward);
  kKernel(shape, dropout, qkv, mixed, statistics, scratch_for<Element>(shape));
}

template <typename Element>
void backward(const PackedShape& shape, const KeyedMask* dropout, const Element* qkv, const Element* mixed,
              const Element* statistics, const Element* gradient, Element* qkv_gradient) {
  using Kernel = AttentionBackward<Element>;
  static auto* const kKernel =
      kernel_for<Kernel>(portable::attention_backward, avx2::attention_backward, avx512::attention_backward);
  kKernel(shape, dropout, qkv, mixed, statistics, gradient, qkv_gradient, scratch_for<Element>(shape));
}

}  // namespace

std::int64_t attention_scratch_elements(std::int64_t longest, std::int64_t head_width) {
  const std::int64_t rows = (longest + kWidest - 1) / kWidest * kWidest;
  const std::int64_t width = (head_width + kWidest - 1) / kWidest * kWidest;
  // The backward's, which needs more: queries, the result's gradient and the queries' gradient, three numbers a row; of
  // a block of keys: keys and values transposed, keys, gradients of both; weights and their gradient; a row of the
  // mask.
  return 3 * rows * (width + 1) + 5 * kAttentionBlockKeys * width + 2 * kAttentionBlockRows * kAttentionBlockKeys +
         kAttentionBlockKeys + kWidest;
}

void attention_forward(const PackedShape& shape, const KeyedMask* dropout, const float* qkv, float* mixed,
                       float* statistics) {
  forward(shape, dropout, qkv, mixed, statistics);
}

void attention_forward(const PackedShape& shape, const KeyedMask* dropout, const double* qkv, double* mixed,
                       double* statistics) {
  forward(shape, dropout, qkv, mixed, statistics);
}

void attention_backward(const PackedShape& shape, const KeyedMask* dropout, const float* qkv, const float* mixed,
                        const float* statistics, const float* gradient, float* qkv_gradient) {
  backward(shape, dropout, qkv, mixed, statistics, gradient, qkv_gradient);
}

void attention_backward(const PackedShape& shape, const KeyedMask* dropout, const double* qkv, const double* mixed,
                        const double* statistics, const double* gradient, double* qkv_gradient) {
  backward(shape, dropout, qkv, mixed, statistics, gradient, qkv_gradient);
}

}  // namespace samegrad
