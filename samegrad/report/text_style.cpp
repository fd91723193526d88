#include "samegrad/report/text_style.h"

namespace samegrad {
namespace {

// SGR codes of ECMA-48: bold, bold green, bold red.
std::string_view code_of(Tone tone) {
  switch (tone) {
    case Tone::kStrong:
      return "\x1b[1m";
    case Tone::kGood:
      return "\x1b[1;32m";
    case Tone::kBad:
      return "\x1b[1;31m";
  }
  return "";
}

}  // namespace

std::string toned(std::string_view text, Tone tone, const TextStyle& style) {
  if (!style.colour) return std::string(text);
  return std::string(code_of(tone)) + std::string(text) + "\x1b[0m";
}

}  // namespace samegrad
