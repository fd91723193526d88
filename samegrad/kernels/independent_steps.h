// A loop whose steps may be done in any order, also where its arrays are the same memory.
#pragma once

#if defined(__clang__)
#define SAMEGRAD_INDEPENDENT_STEPS  // it asks at run time whether arrays overlap, and does not know the pragma
#else
#define SAMEGRAD_INDEPENDENT_STEPS _Pragma("GCC ivdep")
#endif
