// The tensors in what a module's forward returns.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace samegrad {

/// Puts every tensor of a forward's result into `tensors`: of a tensor, and of optional, pair, tuple, array, vector,
/// map and unordered_map of such. For a type of one's own, a function `append_tensors(const Type&,
/// std::vector<at::Tensor>&)` in its namespace. Numbers, texts and the like hold none. Local.
template <typename Result>
void append_output_tensors(const Result& result, std::vector<at::Tensor>& tensors);

namespace output_tensors {

template <typename Result>
concept HasOwn = requires(const Result& result, std::vector<at::Tensor>& tensors) {
  append_tensors(result, tensors);
};

template <typename Result>
concept Iterable = requires(const Result& result) {
  result.begin();
  result.end();
};

template <typename Result>
inline constexpr bool kIsTuple = false;
template <typename... Parts>
inline constexpr bool kIsTuple<std::tuple<Parts...>> = true;
template <typename A, typename B>
inline constexpr bool kIsTuple<std::pair<A, B>> = true;

template <typename Result>
inline constexpr bool kIsOptional = false;
template <typename Value>
inline constexpr bool kIsOptional<std::optional<Value>> = true;

template <typename Result>
inline constexpr bool kHoldsNone =
    std::is_arithmetic_v<Result> || std::is_enum_v<Result> || std::is_convertible_v<Result, std::string>;

}  // namespace output_tensors

template <typename Result>
void append_output_tensors(const Result& result, std::vector<at::Tensor>& tensors) {
  if constexpr (std::is_convertible_v<const Result&, const at::Tensor&>) {
    tensors.push_back(result);
  } else if constexpr (output_tensors::HasOwn<Result>) {
    append_tensors(result, tensors);
  } else if constexpr (output_tensors::kHoldsNone<Result>) {
  } else if constexpr (output_tensors::kIsOptional<Result>) {
    if (result) append_output_tensors(*result, tensors);
  } else if constexpr (output_tensors::kIsTuple<Result>) {
    std::apply([&](const auto&... parts) { (append_output_tensors(parts, tensors), ...); }, result);
  } else {
    static_assert(output_tensors::Iterable<Result>,
                  "samegrad cannot find the tensors in what forward returns: give its type a function "
                  "append_tensors(const Type&, std::vector<at::Tensor>&) in its namespace");
    for (const auto& part : result) append_output_tensors(part, tensors);
  }
}

}  // namespace samegrad
