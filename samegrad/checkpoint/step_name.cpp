#include "samegrad/checkpoint/step_name.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <utility>

namespace samegrad {
namespace {

constexpr std::string_view kStepPrefix = "step-";

constexpr std::string_view aside_prefix(AsideKind kind) {
  switch (kind) {
    case AsideKind::kSaving:
      return ".saving-";
    case AsideKind::kReplaced:
      return ".replaced-";
    case AsideKind::kRemoving:
      return ".removing-";
  }
  return {};
}

template <typename Integer>
std::optional<Integer> parse_number(std::string_view text) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

std::string step_folder_name(std::int64_t update) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "step-%04lld", static_cast<long long>(update));
  return text.data();
}

std::optional<std::int64_t> parse_step_folder_name(std::string_view name) {
  if (!name.starts_with(kStepPrefix)) {
    return std::nullopt;
  }
  const std::optional<std::int64_t> update = parse_number<std::int64_t>(name.substr(kStepPrefix.size()));
  return update && step_folder_name(*update) == name ? update : std::nullopt;
}

std::string AsideName::text() const { return std::string(aside_prefix(kind)) + step_folder + "-" + owner.text(); }

AsideName aside_name(AsideKind kind, std::int64_t update) {
  return {.kind = kind, .step_folder = step_folder_name(update), .update = update, .owner = this_process()};
}

std::optional<AsideName> parse_aside_name(std::string_view name) {
  for (const AsideKind kind : {AsideKind::kSaving, AsideKind::kReplaced, AsideKind::kRemoving}) {
    const std::string_view prefix = aside_prefix(kind);
    const std::size_t dash = name.find('-', prefix.size() + kStepPrefix.size());
    if (!name.starts_with(prefix) || dash == std::string_view::npos) {
      continue;
    }
    const std::string_view step_folder = name.substr(prefix.size(), dash - prefix.size());
    const std::optional<std::int64_t> update = parse_step_folder_name(step_folder);
    std::optional<NameOwner> owner = parse_owner(name.substr(dash + 1));
    if (update && owner) {
      return AsideName{
          .kind = kind, .step_folder = std::string(step_folder), .update = *update, .owner = *std::move(owner)};
    }
  }
  return std::nullopt;
}

}  // namespace samegrad
