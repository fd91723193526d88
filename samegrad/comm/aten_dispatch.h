// The dispatch that is really in effect in this process, asked of the libraries rather than of the environment.
#pragma once

#include "samegrad/comm/dispatch.h"

namespace samegrad {

/// ATen's capability and threads from ATen; MKL's mode, branch and threads from MKL; the processor from CPUID; MXCSR of
/// the calling thread; the versions from the loaded libraries. oneDNN shows nobody what it decided: its two facts are
/// the variables that it reads, as it reads them. Local.
Dispatch effective_dispatch();

}  // namespace samegrad
