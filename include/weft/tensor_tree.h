// Trees of tensors: tensors, and what holds them, such as the parameters of a model or the state of an optimiser.
//
//   struct Linear { Tensor weight, bias; static constexpr std::string_view member_names[] = {"weight", "bias"}; };
//   struct Mlp { std::vector<Linear> layers; double slope = 0.1; };  // without names members have their indices
//
//   const auto [loss, g] = value_and_grad(loss_of)(net, x, y);
//   net = map_tensors(net, [](Tensor p, Tensor d) { return p - 0.01 * d; }, g);
//   Mlp moments = map_tensors(net, [](const Tensor& p) { return zeros_like(p); });
//   for_each_tensor(net, [](Tensor& p) { p = cast(p, DType::f16); });
//   net = unflatten_like(net, flatten_tensors(net));                       // the tensors in order, and back
//   for (const auto& [path, tensor] : named_tensors(net)) std::cout << path;  // 0.0.weight, 0.0.bias, 0.1.weight, …
//
// A tree is a Tensor; a std::vector, array, pair, tuple, map or optional of trees; or an aggregate of up to 16 trees.
// Numbers, enums, strings and shapes may be among them, and stay as they are. It is what compile(), grad() and their
// kin take and give. The order is that of elements, of members, and of a map's keys. These are templates: they record
// nothing themselves, and calls by name do not have them.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
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
// sizes of containers included, in an order that only depends on the type and on these sizes. A visitor that has
// enter(name) and leave() is told the index, key or name of each part in front of it and behind it.
template <class T, class Visitor>
void visit_tensors(T& value, Visitor& visitor) {
  using Value = std::remove_const_t<T>;
  [[maybe_unused]] const auto visit_part = [&](const auto& name, auto& part) {
    if constexpr (requires { visitor.enter(name); }) {
      visitor.enter(name);
      visit_tensors(part, visitor);
      visitor.leave();
    } else {
      visit_tensors(part, visitor);
    }
  };
  [[maybe_unused]] std::size_t index = 0;
  [[maybe_unused]] const auto each = [&](auto&... parts) { (visit_part(index++, parts), ...); };
  if constexpr (std::is_same_v<Value, Tensor>) {
    visitor.tensor(value);
  } else if constexpr (is_static<Value>) {
    visitor.fixed(value);
  } else if constexpr (std::is_same_v<Value, std::vector<bool>>) {
    visitor.fixed(value.size());
    for (const bool b : value) visitor.fixed(b);
  } else if constexpr (is_a<Value, std::vector>) {
    visitor.fixed(value.size());
    for (auto& part : value) visit_part(index++, part);
  } else if constexpr (is_array<Value>) {
    for (auto& part : value) visit_part(index++, part);
  } else if constexpr (is_a<Value, std::pair>) {
    each(value.first, value.second);
  } else if constexpr (is_a<Value, std::tuple>) {
    std::apply(each, value);
  } else if constexpr (is_a<Value, std::optional>) {
    visitor.fixed(value.has_value());
    if (value) visit_tensors(*value, visitor);
  } else if constexpr (is_a<Value, std::map>) {
    visitor.fixed(value.size());
    for (auto& [key, part] : value) {
      visit_tensors(key, visitor);
      visit_part(key, part);
    }
  } else {
    static_assert(std::is_aggregate_v<Value> && !std::is_array_v<Value> && !std::is_union_v<Value>,
                  "arguments and results of a compiled function are tensors; numbers, enums, strings and shapes; and "
                  "vectors, arrays, pairs, tuples, maps, optionals and aggregates of these");
    if constexpr (requires { Value::member_names[0]; }) {
      static_assert(std::size(Value::member_names) == member_count<Value>(), "member_names has a name for each member");
      each_member(value, [&](auto& member) { visit_part(Value::member_names[index++], member); });
    } else {
      each_member(value, each);
    }
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

struct TensorCollector {
  void tensor(const Tensor& t) { tensors.push_back(t); }
  template <class T>
  void fixed(const T&) {}
  std::vector<Tensor> tensors;
};
template <class T>
std::vector<Tensor> tensors_in(const T& value) {
  TensorCollector collector;
  visit_tensors(value, collector);
  return std::move(collector.tensors);
}
// The value with other tensors in it.
template <class T>
T with_tensors(T value, std::span<const Tensor> tensors) {
  TensorReplacer replacer{tensors};
  visit_tensors(value, replacer);
  return value;
}

// The value without its tensors, for what is kept with a derivative and must not hold them.
template <class T>
T without_tensors(const T& value) {
  return with_tensors(value, std::vector<Tensor>(tensors_in(value).size()));
}

template <class F>
struct TensorCaller {
  template <class T>
  void tensor(T& t) {
    if (t.defined()) f(t);
  }
  template <class T>
  void fixed(const T&) {}
  F& f;
};

// Names joined by points.
struct TensorNamer {
  void enter(std::size_t index) { enter(std::string_view(std::to_string(index))); }
  void enter(std::string_view name) {
    starts.push_back(path.size());
    if (!path.empty()) path += '.';
    path += name;
  }
  template <class T>
    requires(std::is_arithmetic_v<T> && !std::is_same_v<T, std::size_t>)
  void enter(T number) {
    enter(std::string_view(std::to_string(number)));
  }
  template <class T>
    requires std::is_enum_v<T>
  void enter(T value) {
    enter(static_cast<std::underlying_type_t<T>>(value));
  }
  void leave() {
    path.resize(starts.back());
    starts.pop_back();
  }
  void tensor(const Tensor& t) { named.emplace_back(path, t); }
  template <class T>
  void fixed(const T&) {}

  std::string path;
  std::vector<std::size_t> starts;
  std::vector<std::pair<std::string, Tensor>> named;
};

// Throws InvalidArgument, in the function's name, unless as many tensors are given as the tree has.
void require_tensors(std::string_view function, std::size_t given, std::size_t expected);

}  // namespace weft::detail

namespace weft {

// Calls f for each tensor of the tree in order; of a tree that is not const f may take a Tensor& and put another one in
// its place. Undefined ones, such as those of derivatives for integers, are left out.
template <class T, class F>
void for_each_tensor(T& tree, F&& f) {
  detail::TensorCaller<std::remove_reference_t<F>> caller{f};
  detail::visit_tensors(tree, caller);
}

// A tree of the same type and form with f(t, others…) in place of each tensor t, others being the tensors at the same
// places of further trees, which hold as many (else InvalidArgument) and may be of other types. An undefined t stays
// undefined, and f is not called; others may be undefined where t is not.
template <class T, class F, class... Others>
T map_tensors(T tree, F&& f, const Others&... others) {
  std::vector<Tensor> all = detail::tensors_in(tree);
  const std::array<std::vector<Tensor>, sizeof...(Others)> further{detail::tensors_in(others)...};
  for (const std::vector<Tensor>& own : further) detail::require_tensors("map_tensors", own.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].defined()) continue;
    [&]<std::size_t... k>(std::index_sequence<k...>) {
      all[i] = f(std::as_const(all[i]), further[k][i]...);
    }(std::index_sequence_for<Others...>());
  }
  return detail::with_tensors(std::move(tree), all);
}

// The tensors of the tree in order, undefined ones too.
template <class T>
std::vector<Tensor> flatten_tensors(const T& tree) {
  return detail::tensors_in(tree);
}

// The tree with these tensors in place of its own, in the order of flatten_tensors(). Throws InvalidArgument unless
// they are as many.
template <class T>
T unflatten_like(T tree, std::span<const Tensor> tensors) {
  detail::require_tensors("unflatten_like", tensors.size(), detail::tensors_in(tree).size());
  return detail::with_tensors(std::move(tree), tensors);
}

// The tensors of the tree in order, each with the path to it: the indices of elements, the keys of maps, and the names
// or, without them, the indices of members, joined by points. Members have names where the struct lists them, as
// `static constexpr std::string_view member_names[]`: "layers.0.weight", else "0.0.0". A tensor alone has the path "".
template <class T>
std::vector<std::pair<std::string, Tensor>> named_tensors(const T& tree) {
  detail::TensorNamer namer;
  detail::visit_tensors(tree, namer);
  return std::move(namer.named);
}

}  // namespace weft
