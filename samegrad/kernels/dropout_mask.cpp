#include "samegrad/kernels/dropout_mask.h"

#include "samegrad/base/philox.h"
#include "samegrad/kernels/isa.h"

namespace samegrad {

using MaskBlocks = void(const MaskNumbers& numbers, float probability, float kept, std::uint32_t first_block,
                        std::int64_t blocks, float* mask);
namespace portable {
MaskBlocks mask_blocks;
}
namespace avx2 {
MaskBlocks mask_blocks;
}
namespace avx512 {
MaskBlocks mask_blocks;
}

namespace {

template <typename Element>
Element mask_value(const MaskNumbers& numbers, float probability, Element kept, std::int64_t element) {
  const PhiloxCounter block =
      philox4x32({static_cast<std::uint32_t>(element / 4), numbers.operation, numbers.atom, numbers.update},
                 {numbers.key0, numbers.key1});
  return philox_unit_float(block[static_cast<std::size_t>(element % 4)]) < probability ? Element{0} : kept;
}

}  // namespace

void dropout_mask(const MaskNumbers& numbers, float probability, float kept, std::int64_t first, std::int64_t count,
                  float* mask) {
  static MaskBlocks* const kernel = kernel_for(portable::mask_blocks, avx2::mask_blocks, avx512::mask_blocks);
  std::int64_t i = 0;
  for (; i < count && (first + i) % 4 != 0; ++i) mask[i] = mask_value(numbers, probability, kept, first + i);
  const std::int64_t blocks = (count - i) / 4;
  kernel(numbers, probability, kept, static_cast<std::uint32_t>((first + i) / 4), blocks, mask + i);
  for (i += 4 * blocks; i < count; ++i) mask[i] = mask_value(numbers, probability, kept, first + i);
}

void dropout_mask(const MaskNumbers& numbers, float probability, double kept, std::int64_t first, std::int64_t count,
                  double* mask) {
  for (std::int64_t i = 0; i < count; ++i) mask[i] = mask_value(numbers, probability, kept, first + i);
}

}  // namespace samegrad
