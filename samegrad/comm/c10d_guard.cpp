#include "samegrad/comm/c10d_guard.h"

#include <c10/util/Logging.h>

#include <cstdlib>

namespace samegrad {
namespace {

constexpr int kFatalOnly = 3;

}  // namespace

C10dGuard::C10dGuard() : log_level_before_(FLAGS_caffe2_log_level) {
  if (std::getenv("TORCH_CPP_LOG_LEVEL") == nullptr) {
    FLAGS_caffe2_log_level = kFatalOnly;
  }
}

C10dGuard::~C10dGuard() { FLAGS_caffe2_log_level = log_level_before_; }

}  // namespace samegrad
