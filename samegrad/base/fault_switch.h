// Protections that a test switches off, to see that it would notice. It does nothing in programs; only the test
// programs link samegrad_env_faults.
#pragma once

#include <string_view>

namespace samegrad {

/// Whether `name` is switched off: samegrad_env_faults says so where SAMEGRAD_FAULT_SWITCH=name. Local.
bool fault_switch(std::string_view name);

}  // namespace samegrad
