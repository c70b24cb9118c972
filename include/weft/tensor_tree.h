// Tensors inside other values: visits what a container or a struct of them holds, in order.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/number.h"
#include "weft/shape.h"
#include "weft/small_float.h"
#include "weft/tensor.h"

namespace weft::detail {

template <class T, template <class...> class Container>
inline constexpr bool is_a = false;
template <template <class...> class Container, class... Args>
inline constexpr bool is_a<Container<Args...>, Container> = true;
template <class T>
inline constexpr bool is_array = false;
template <class T, std::size_t n>
inline constexpr bool is_array<std::array<T, n>> = true;

// What a function may depend on but never computes.
template <class T>
inline constexpr bool is_static =
    std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string> ||
    std::is_same_v<T, std::string_view> || std::is_same_v<T, const char*> || std::is_same_v<T, char*> ||
    std::is_same_v<T, Dims> || std::is_same_v<T, Number> || std::is_same_v<T, std::complex<float>> ||
    std::is_same_v<T, std::complex<double>> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16> ||
    std::is_same_v<T, float8_e4m3> || std::is_same_v<T, float8_e5m2> || std::is_same_v<T, std::nullopt_t>;

// How many members an aggregate has: as many as {} can initialise. A braced list is never taken apart for the members
// of a nested aggregate, as a list without inner braces would be.
template <class T>
consteval int member_count() {
#define WEFT_MEMBERS(n, ...)                  \
  if constexpr (requires { T{__VA_ARGS__}; }) \
    return n;                                 \
  else
  // NOLINTBEGIN
  WEFT_MEMBERS(17, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {})
  WEFT_MEMBERS(16, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {})
  WEFT_MEMBERS(15, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {})
  WEFT_MEMBERS(14, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {})
  WEFT_MEMBERS(13, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {})
  WEFT_MEMBERS(12, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {})
  WEFT_MEMBERS(11, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {})
  WEFT_MEMBERS(10, {}, {}, {}, {}, {}, {}, {}, {}, {}, {})
  WEFT_MEMBERS(9, {}, {}, {}, {}, {}, {}, {}, {}, {})
  WEFT_MEMBERS(8, {}, {}, {}, {}, {}, {}, {}, {})
  WEFT_MEMBERS(7, {}, {}, {}, {}, {}, {}, {})
  WEFT_MEMBERS(6, {}, {}, {}, {}, {}, {})
  WEFT_MEMBERS(5, {}, {}, {}, {}, {})
  WEFT_MEMBERS(4, {}, {}, {}, {})
  WEFT_MEMBERS(3, {}, {}, {})
  WEFT_MEMBERS(2, {}, {})
  WEFT_MEMBERS(1, {})
  // NOLINTEND
  return 0;
#undef WEFT_MEMBERS
}

template <class T, class F>
void each_member(T& value, F&& f) {
  constexpr int kCount = member_count<std::remove_const_t<T>>();
  static_assert(kCount <= 16,
                "a struct of tensors has at most 16 members; put some of them into a struct of their own");
#define WEFT_MEMBERS(n, ...)                                 \
  if constexpr (kCount == n) {                               \
    auto& [__VA_ARGS__] = value;                             \
    [&](auto&... member) { (f(member), ...); }(__VA_ARGS__); \
  }
  WEFT_MEMBERS(1, a)
  WEFT_MEMBERS(2, a, b)
  WEFT_MEMBERS(3, a, b, c)
  WEFT_MEMBERS(4, a, b, c, d)
  WEFT_MEMBERS(5, a, b, c, d, e)
  WEFT_MEMBERS(6, a, b, c, d, e, g)
  WEFT_MEMBERS(7, a, b, c, d, e, g, h)
  WEFT_MEMBERS(8, a, b, c, d, e, g, h, i)
  WEFT_MEMBERS(9, a, b, c, d, e, g, h, i, j)
  WEFT_MEMBERS(10, a, b, c, d, e, g, h, i, j, k)
  WEFT_MEMBERS(11, a, b, c, d, e, g, h, i, j, k, l)
  WEFT_MEMBERS(12, a, b, c, d, e, g, h, i, j, k, l, m)
  WEFT_MEMBERS(13, a, b, c, d, e, g, h, i, j, k, l, m, n1)
  WEFT_MEMBERS(14, a, b, c, d, e, g, h, i, j, k, l, m, n1, o)
  WEFT_MEMBERS(15, a, b, c, d, e, g, h, i, j, k, l, m, n1, o, p)
  WEFT_MEMBERS(16, a, b, c, d, e, g, h, i, j, k, l, m, n1, o, p, q)
#undef WEFT_MEMBERS
}

// Calls visitor.tensor(t) for each tensor in the value, and visitor.fixed(v) for everything else that it consists of,
// sizes of containers included, in an order that only depends on the type and on these sizes.
template <class T, class Visitor>
void visit_tensors(T& value, Visitor& visitor) {
  using Value = std::remove_const_t<T>;
  [[maybe_unused]] const auto each = [&](auto&... parts) { (visit_tensors(parts, visitor), ...); };
  if constexpr (std::is_same_v<Value, Tensor>) {
    visitor.tensor(value);
  } else if constexpr (is_static<Value>) {
    visitor.fixed(value);
  } else if constexpr (std::is_same_v<Value, std::vector<bool>>) {
    visitor.fixed(value.size());
    for (const bool b : value) visitor.fixed(b);
  } else if constexpr (is_a<Value, std::vector>) {
    visitor.fixed(value.size());
    for (auto& part : value) visit_tensors(part, visitor);
  } else if constexpr (is_array<Value>) {
    for (auto& part : value) visit_tensors(part, visitor);
  } else if constexpr (is_a<Value, std::pair>) {
    each(value.first, value.second);
  } else if constexpr (is_a<Value, std::tuple>) {
    std::apply(each, value);
  } else if constexpr (is_a<Value, std::optional>) {
    visitor.fixed(value.has_value());
    if (value) visit_tensors(*value, visitor);
  } else if constexpr (is_a<Value, std::map>) {
    visitor.fixed(value.size());
    for (auto& [key, part] : value) each(key, part);
  } else {
    static_assert(std::is_aggregate_v<Value> && !std::is_array_v<Value> && !std::is_union_v<Value>,
                  "arguments and results of a compiled function are tensors; numbers, enums, strings and shapes; and "
                  "vectors, arrays, pairs, tuples, maps, optionals and aggregates of these");
    each_member(value, each);
  }
}

// Puts other tensors in the place of those that are visited, in their order.
struct TensorReplacer {
  void tensor(Tensor& t) { t = tensors[next++]; }
  template <class T>
  void fixed(const T&) {}
  std::span<const Tensor> tensors;
  std::size_t next = 0;
};

}  // namespace weft::detail
