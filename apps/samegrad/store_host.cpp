#include "apps/samegrad/store_host.h"

#include <unistd.h>

#include <charconv>

#include "samegrad/base/error.h"
#include "samegrad/comm/c10d_store.h"

namespace samegrad {

int run_store_host(const std::string& fd) {
  int number = -1;
  const auto [end, error] = std::from_chars(fd.data(), fd.data() + fd.size(), number);
  if (error != std::errc{} || end != fd.data() + fd.size() || number < 0) {
    throw InputError("usage", std::string(kStoreHostArgument) + ": '" + fd + "'; `samegrad launch` starts this");
  }
  const std::shared_ptr<void> store = host_store(number);
  for (;;) {
    pause();
  }
}

}  // namespace samegrad
