// What one core of this machine can do at most.
#pragma once

namespace samegrad {

/// Float32 operations a second of independent fused multiply-adds (2 operations each) in the widest registers that the
/// processor has: the best of several short runs. 0 on a processor without FMA. Local.
double fma_flops_per_second();

/// Bytes a second of memcpy between blocks far larger than the caches; a byte that is read and written counts once: the
/// best of several runs. Local.
double copy_bytes_per_second();

}  // namespace samegrad
