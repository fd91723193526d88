// samegrad-worker as the process that keeps the store of torch.distributed for programs that `samegrad launch` started.
#pragma once

#include <string>
#include <string_view>

namespace samegrad {

/// `samegrad-worker --host-store FD`: no command for people.
inline constexpr std::string_view kStoreHostArgument = "--host-store";

/// Keeps the store behind the listening descriptor number `fd` until the process is ended. Throws InputError. Local.
int run_store_host(const std::string& fd);

}  // namespace samegrad
