#include "samegrad/kernels/gradient_sum.h"

#include "samegrad/kernels/isa.h"

namespace samegrad {

using AddFloats = decltype(add_floats);
using AddDoubles = decltype(add_doubles);
using MultiplyFloats = decltype(multiply_floats);
using DivideFloats = decltype(divide_floats);
using DivideDoubles = decltype(divide_doubles);
using DivideFloatsInDouble = decltype(divide_floats_in_double);
namespace portable {
AddFloats add_floats;
AddDoubles add_doubles;
MultiplyFloats multiply_floats;
DivideFloats divide_floats;
DivideDoubles divide_doubles;
DivideFloatsInDouble divide_floats_in_double;
}  // namespace portable
namespace avx2 {
AddFloats add_floats;
AddDoubles add_doubles;
MultiplyFloats multiply_floats;
DivideFloats divide_floats;
DivideDoubles divide_doubles;
DivideFloatsInDouble divide_floats_in_double;
}  // namespace avx2
namespace avx512 {
AddFloats add_floats;
AddDoubles add_doubles;
MultiplyFloats multiply_floats;
DivideFloats divide_floats;
DivideDoubles divide_doubles;
DivideFloatsInDouble divide_floats_in_double;
}  // namespace avx512

void add_floats(const float* left, const float* right, float* sum, std::int64_t count) {
  static AddFloats* const kAdd = kernel_for(portable::add_floats, avx2::add_floats, avx512::add_floats);
  kAdd(left, right, sum, count);
}

void add_doubles(const double* left, const double* right, double* sum, std::int64_t count) {
  static AddDoubles* const kAdd = kernel_for(portable::add_doubles, avx2::add_doubles, avx512::add_doubles);
  kAdd(left, right, sum, count);
}

void multiply_floats(float* values, float factor, std::int64_t count) {
  static MultiplyFloats* const kMultiply =
      kernel_for(portable::multiply_floats, avx2::multiply_floats, avx512::multiply_floats);
  kMultiply(values, factor, count);
}

void divide_floats(float* values, float divisor, std::int64_t count) {
  static DivideFloats* const kDivide = kernel_for(portable::divide_floats, avx2::divide_floats, avx512::divide_floats);
  kDivide(values, divisor, count);
}

void divide_doubles(double* values, double divisor, std::int64_t count) {
  static DivideDoubles* const kDivide =
      kernel_for(portable::divide_doubles, avx2::divide_doubles, avx512::divide_doubles);
  kDivide(values, divisor, count);
}

void divide_floats_in_double(float* values, double divisor, std::int64_t count) {
  static DivideFloatsInDouble* const kDivide =
      kernel_for(portable::divide_floats_in_double, avx2::divide_floats_in_double, avx512::divide_floats_in_double);
  kDivide(values, divisor, count);
}

}  // namespace samegrad
