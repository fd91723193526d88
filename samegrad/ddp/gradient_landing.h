// Where the gradients of an atom's backward go: each parameter's first gradient is copied into the atom's buffer as
// g + 0, the rest is added there by autograd. The bits are those of a backward into a buffer of +0, without a pass that
// fills it and one that reads it back.
#pragma once

#include <cstddef>
#include <vector>

#include "samegrad/ddp/gradient_slots.h"
#include "samegrad/ddp/parameter_set.h"

namespace samegrad {

/// While it lives, the parameters' gradients land in `buffer`, whatever it held before. A hook that a parameter has for
/// its accumulated gradient is kept and called after each landing. One at a time for a parameter.
class GradientLanding {
 public:
  /// Requires undefined gradients. `parameters` and `buffer` must outlive it. Local.
  GradientLanding(const ParameterSet& parameters, GradientBuffer& buffer);
  /// The parameters have their hooks back; their gradients stay.
  ~GradientLanding();
  GradientLanding(const GradientLanding&) = delete;
  GradientLanding& operator=(const GradientLanding&) = delete;

  /// Whether a gradient of `parameter` came. Local.
  bool landed(std::size_t parameter) const { return landed_[parameter]; }
  /// Whether `parameter` has the .grad that landing left: its place in the buffer, or none. Local.
  bool is_untouched(std::size_t parameter) const;
  /// The place of each parameter without a gradient becomes +0. Local.
  void fill_others() const;

 private:
  struct Hook;

  const ParameterSet* parameters_;
  GradientBuffer* buffer_;
  std::vector<char> landed_;  // by parameter; not bits: what hooks write
};

}  // namespace samegrad
