#include "apps/samegrad/library_versions.h"

#include <openssl/crypto.h>

#include <CLI/Version.hpp>
#include <nlohmann/json.hpp>

namespace samegrad {
namespace {

std::string dotted(int major, int minor, int patch) {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> library_versions() {
  // The SAMEGRAD_..._VERSION are set by the build (CMakeLists.txt): what it found.
  return {
      {"samegrad", SAMEGRAD_VERSION},
      {"libtorch", SAMEGRAD_LIBTORCH_VERSION},
      {"compiler", SAMEGRAD_COMPILER_VERSION},
      {"openssl", OpenSSL_version(OPENSSL_VERSION_STRING)},
      {"yaml-cpp", SAMEGRAD_YAML_CPP_VERSION},
      {"nlohmann-json", dotted(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)},
      {"simdjson", SAMEGRAD_SIMDJSON_VERSION},
      {"CLI11", CLI11_VERSION}};
}

}  // namespace samegrad
