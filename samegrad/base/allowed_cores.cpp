#include "samegrad/base/allowed_cores.h"

#include <sched.h>

#include <algorithm>

namespace samegrad {

int allowed_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = sched_getaffinity(0, sizeof(allowed), &allowed) == 0;
  return known ? std::max(CPU_COUNT(&allowed), 1) : 1;
}

}  // namespace samegrad
