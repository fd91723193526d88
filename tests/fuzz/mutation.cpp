#include "tests/fuzz/mutation.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace samegrad::fuzz {
namespace {

using namespace std::string_view_literals;

// What parsers stumble over: ends of ranges, names that lead elsewhere, text that is none.
constexpr std::array kWords = {"\0"sv,
                               "\xff"sv,
                               "\""sv,
                               "{"sv,
                               "}"sv,
                               "["sv,
                               "]"sv,
                               ","sv,
                               ":"sv,
                               "null"sv,
                               "true"sv,
                               "-1"sv,
                               "0"sv,
                               "1e308"sv,
                               "1e999"sv,
                               "NaN"sv,
                               "../"sv,
                               "/etc/passwd"sv,
                               "\n"sv,
                               "\r\n"sv,
                               "\\u0000"sv,
                               "\\ud800"sv,
                               "\xc0\x80"sv,
                               "\xed\xa0\x80"sv,
                               "-"sv,
                               "="sv,
                               "#"sv,
                               "&a"sv,
                               "*a"sv,
                               "9223372036854775807"sv,
                               "  "sv,
                               "\t"sv,
                               "2147483648"sv,
                               "0.5"sv,
                               "\xef\xbb\xbf"sv,
                               "18446744073709551615"sv,
                               "-9223372036854775808"sv,
                               "4294967296"sv};

std::string repeated(std::string_view text, std::size_t times) {
  std::string result;
  result.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

}  // namespace

std::vector<Input> hostile_inputs() {
  std::vector<Input> inputs = {
      {"empty", {}},
      {"deep-arrays", repeated("[", 300'000)},
      {"deep-arrays-closed", repeated("[", 300'000) + repeated("]", 300'000)},
      {"deep-objects", repeated("{\"a\":", 150'000)},
      {"deep-member", "{\"virtual_rank\":" + repeated("[", 300'000) + repeated("]", 300'000) + "}\n"},
      {"deep-flow", "a: " + repeated("[", 20'000)},
      {"deep-indent", repeated("- ", 20'000)},
      {"many-values", "[" + repeated("0,", 500'000) + "0]"},
      {"many-arrays", "[" + repeated("[],", 300'000) + "0]"},
      {"nul-bytes", std::string(1 << 20, '\0')},
      {"no-utf8", std::string(1 << 20, '\xff')},
      {"one-line", std::string(1 << 20, 'a')},
      {"line-ends", std::string(1 << 20, '\n')},
      {"long-number", std::string(1 << 20, '9')},
      {"long-text", "\"" + std::string(1 << 20, 'a')}};
  for (const unsigned shift : {26U, 31U, 32U, 62U, 63U}) {  // of a header: 64 MiB and more, and nothing behind
    std::string length(8, '\0');
    length[shift / 8] = static_cast<char>(1U << shift % 8);
    inputs.push_back({"length-2^" + std::to_string(shift), length + "{}"});
  }
  inputs.push_back({"length-100MB", std::string("\x00\xe1\xf5\x05\0\0\0\0{\"a\":", 13)});
  return inputs;
}

std::string mutated(std::string bytes, const std::string& other, std::mt19937_64& random) {
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  const std::size_t changes = 1 + below(4);
  for (std::size_t i = 0; i < changes; ++i) {
    const std::size_t at = below(bytes.size() + 1);
    const std::size_t length = below(std::min<std::size_t>(bytes.size() - at, 64) + 1);
    const std::size_t kind = below(100);
    if (kind < 30 && at < bytes.size()) {
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
    } else if (kind < 60) {
      bytes.replace(at, kind < 45 ? 0 : length, kWords[below(kWords.size())]);
    } else if (kind < 70) {
      bytes.erase(at, length);
    } else if (kind < 75) {
      bytes.resize(at);
    } else if (kind < 85) {
      bytes.insert(at, bytes.substr(below(bytes.size() + 1), length));
    } else if (kind < 98 && !other.empty()) {
      bytes.insert(at, other.substr(below(other.size()), 1 + below(64)));
    } else if (kind == 98) {
      bytes.insert(at, repeated(bytes.substr(at, 1 + below(4)), 2'000));
    } else {
      bytes.insert(at, repeated("[", 2'000));
    }
    bytes.resize(std::min<std::size_t>(bytes.size(), 1 << 20));
  }
  return bytes;
}

}  // namespace samegrad::fuzz
