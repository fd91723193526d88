#include "samegrad/checkpoint/strict_json.h"

#include "samegrad/base/error.h"
#include "samegrad/base/untrusted_json.h"

namespace samegrad {

Json parse_strict_json(std::string_view bytes, const std::string& file) {
  try {
    return parse_untrusted_json(bytes);
  } catch (const JsonRefused& error) {
    throw CheckError("checkpoint", file + ": " + error.what());
  }
}

}  // namespace samegrad
