// Which keys a resume may have otherwise than the run it goes on from.
#pragma once

#include <span>
#include <string_view>

namespace samegrad {

/// Configuration keys, and sections as a whole, that a resume may change; docs/exactness.md lists the same ones with
/// what follows. The number of processes is no key: it may always change. Local.
std::span<const std::string_view> keys_a_resume_may_change();

/// Whether `key` ("plan.updates") or its section is one of them. Local.
bool a_resume_may_change(std::string_view key);

}  // namespace samegrad
