#include "support/array_functions.h"

#include "core/format.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/indexing.h"

namespace weft::test {
namespace {

using nlohmann::json;

TensorLike operand(const ArrayCall& c, std::size_t i) {
  return c.tensors[i].defined() ? TensorLike(c.tensors[i]) : number_of(c.inputs[i]);
}

Number number(const json& n) {
  if (n.is_boolean()) return n.get<bool>() ? 1 : 0;
  if (n.is_number_unsigned()) return n.get<std::uint64_t>();
  if (n.is_number_integer()) return n.get<std::int64_t>();
  return n.get<double>();
}
Number number(const ArrayCall& c, std::size_t i) { return number(c.inputs.at(i).at("number")); }

template <class T>
T argument(const ArrayCall& c, const char* name, T otherwise) {
  return c.arguments.value(name, otherwise);
}
template <class T>
T argument(const ArrayCall& c, const char* name) {
  return c.arguments.at(name).get<T>();
}
Axes axes(const ArrayCall& c, const char* name = "axes") {
  return c.arguments.contains(name) ? Axes(argument<std::vector<int>>(c, name)) : Axes();
}
bool keep_dims(const ArrayCall& c) { return argument(c, "keep_dims", false); }
std::optional<int> axis(const ArrayCall& c) {
  return c.arguments.contains("axis") ? std::optional(argument<int>(c, "axis")) : std::nullopt;
}
Shape shape(const ArrayCall& c) {
  return Shape(std::span<const std::int64_t>(argument<std::vector<std::int64_t>>(c, "shape")));
}
std::optional<DType> dtype(const ArrayCall& c) {
  return c.arguments.contains("dtype") ? dtype_from_name(argument<std::string>(c, "dtype")) : std::nullopt;
}

using Table = std::map<std::string, ArrayFunction>;

void add_elementwise(Table& table) {
  const auto one = [&](const char* name, Tensor (*f)(const Operand&)) {
    table[name] = [f](const ArrayCall& c) { return std::vector<Tensor>{f(c.tensors[0])}; };
  };
  const auto two = [&](const char* name, Tensor (*f)(const TensorLike&, const TensorLike&)) {
    table[name] = [f](const ArrayCall& c) { return std::vector<Tensor>{f(operand(c, 0), operand(c, 1))}; };
  };
  one("abs", weft::abs);
  one("acos", weft::acos);
  one("acosh", weft::acosh);
  one("asin", weft::asin);
  one("asinh", weft::asinh);
  one("atan", weft::atan);
  one("atanh", weft::atanh);
  one("bitwise_invert", bitwise_not);
  one("ceil", weft::ceil);
  one("conj", weft::conj);
  one("cos", weft::cos);
  one("cosh", weft::cosh);
  one("exp", weft::exp);
  one("expm1", weft::expm1);
  one("floor", weft::floor);
  one("imag", weft::imag);
  one("isfinite", is_finite);
  one("isinf", is_inf);
  one("isnan", is_nan);
  one("log", weft::log);
  one("log1p", weft::log1p);
  one("log2", weft::log2);
  one("log10", weft::log10);
  one("logical_not", logical_not);
  one("negative", neg);
  one("positive", positive);
  one("real", weft::real);
  one("reciprocal", reciprocal);
  one("round", weft::round);
  one("sign", sign);
  one("signbit", weft::signbit);
  one("sin", weft::sin);
  one("sinh", weft::sinh);
  one("sqrt", weft::sqrt);
  one("square", square);
  one("tan", weft::tan);
  one("tanh", weft::tanh);
  one("trunc", weft::trunc);
  two("add", [](const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::add, a, b); });
  two("subtract", [](const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::sub, a, b); });
  two("multiply", [](const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::mul, a, b); });
  two("atan2", weft::atan2);
  two("bitwise_and", bitwise_and);
  two("bitwise_left_shift", shift_left);
  two("bitwise_or", bitwise_or);
  two("bitwise_right_shift", shift_right);
  two("bitwise_xor", bitwise_xor);
  two("copysign", weft::copysign);
  two("divide", divide);
  two("equal", equal);
  two("floor_divide", floor_divide);
  two("greater", greater);
  two("greater_equal", greater_equal);
  two("hypot", weft::hypot);
  two("less", less);
  two("less_equal", less_equal);
  two("logaddexp", logaddexp);
  two("logical_and", logical_and);
  two("logical_or", logical_or);
  two("logical_xor", logical_xor);
  two("maximum", maximum);
  two("minimum", minimum);
  two("nextafter", weft::nextafter);
  two("not_equal", not_equal);
  two("pow", weft::pow);
  two("remainder", weft::remainder);
  table["clip"] = [](const ArrayCall& c) { return std::vector{clamp(operand(c, 0), operand(c, 1), operand(c, 2))}; };
  table["where"] = [](const ArrayCall& c) { return std::vector{where(c.tensors[0], operand(c, 1), operand(c, 2))}; };
  table["astype"] = [](const ArrayCall& c) { return std::vector{c.tensors[0].cast(*dtype(c))}; };
}

void add_creation(Table& table) {
  table["arange"] = [](const ArrayCall& c) {
    if (c.inputs.size() == 1) return std::vector{arange(number(c, 0))};
    return std::vector{arange(number(c, 0), number(c, 1), number(c, 2), dtype(c))};
  };
  table["linspace"] = [](const ArrayCall& c) {
    return std::vector{linspace(argument<double>(c, "start"), argument<double>(c, "stop"),
                                argument<std::int64_t>(c, "count"), *dtype(c), argument<bool>(c, "endpoint"))};
  };
  table["eye"] = [](const ArrayCall& c) {
    return std::vector{eye(argument<std::int64_t>(c, "rows"), argument<std::int64_t>(c, "columns"), *dtype(c),
                           argument<std::int64_t>(c, "diagonal"))};
  };
  table["full"] = [](const ArrayCall& c) { return std::vector{full(shape(c), number(c, 0), *dtype(c))}; };
  table["zeros"] = [](const ArrayCall& c) { return std::vector{zeros(shape(c), *dtype(c))}; };
  table["ones"] = [](const ArrayCall& c) { return std::vector{ones(shape(c), *dtype(c))}; };
  table["full_like"] = [](const ArrayCall& c) { return std::vector{full_like(c.tensors[0], number(c, 1), dtype(c))}; };
  table["zeros_like"] = [](const ArrayCall& c) { return std::vector{zeros_like(c.tensors[0], dtype(c))}; };
  table["ones_like"] = [](const ArrayCall& c) { return std::vector{ones_like(c.tensors[0], dtype(c))}; };
  table["tril"] = [](const ArrayCall& c) {
    return std::vector{tril(c.tensors[0], argument<std::int64_t>(c, "diagonal"))};
  };
  table["triu"] = [](const ArrayCall& c) {
    return std::vector{triu(c.tensors[0], argument<std::int64_t>(c, "diagonal"))};
  };
  table["meshgrid"] = [](const ArrayCall& c) {
    return meshgrid(c.tensors, argument<std::string>(c, "order") == "xy" ? GridOrder::xy : GridOrder::ij);
  };
}

void add_statistics(Table& table) {
  const auto reduction = [&](const char* name, Tensor (*f)(const Operand&, const Axes&, bool)) {
    table[name] = [f](const ArrayCall& c) { return std::vector{f(c.tensors[0], axes(c), keep_dims(c))}; };
  };
  reduction("mean", mean);
  reduction("max", weft::max);
  reduction("min", weft::min);
  reduction("any", any);
  reduction("all", [](const Operand& x, const Axes& a, bool keep) { return all(x, a, keep); });
  reduction("count_nonzero", count_nonzero);
  reduction("argmax", argmax);
  reduction("argmin", argmin);
  table["sum"] = [](const ArrayCall& c) { return std::vector{sum(c.tensors[0], axes(c), keep_dims(c), dtype(c))}; };
  table["prod"] = [](const ArrayCall& c) { return std::vector{prod(c.tensors[0], axes(c), keep_dims(c), dtype(c))}; };
  table["var"] = [](const ArrayCall& c) {
    return std::vector{variance(c.tensors[0], axes(c), argument<double>(c, "correction"), keep_dims(c))};
  };
  table["std"] = [](const ArrayCall& c) {
    return std::vector{deviation(c.tensors[0], axes(c), argument<double>(c, "correction"), keep_dims(c))};
  };
  table["cumulative_sum"] = [](const ArrayCall& c) {
    return std::vector{cumulative_sum(c.tensors[0], axis(c), dtype(c), argument(c, "include_initial", false))};
  };
  table["cumulative_prod"] = [](const ArrayCall& c) {
    return std::vector{cumulative_prod(c.tensors[0], axis(c), dtype(c), argument(c, "include_initial", false))};
  };
  table["diff"] = [](const ArrayCall& c) {
    const bool before = argument(c, "prepend", false), after = argument(c, "append", false);
    return std::vector{diff(c.tensors[0], argument(c, "axis", -1), argument(c, "n", 1),
                            before ? c.tensors[1] : Tensor(), after ? c.tensors.back() : Tensor())};
  };
}

void add_manipulation(Table& table) {
  table["expand_dims"] = [](const ArrayCall& c) { return std::vector{expand_dims(c.tensors[0], *axis(c))}; };
  table["squeeze"] = [](const ArrayCall& c) { return std::vector{squeeze(c.tensors[0], *axis(c))}; };
  table["flip"] = [](const ArrayCall& c) { return std::vector{flip(c.tensors[0], axes(c))}; };
  table["moveaxis"] = [](const ArrayCall& c) { return std::vector{moveaxis(c.tensors[0], axes(c), axes(c, "to"))}; };
  table["permute_dims"] = [](const ArrayCall& c) {
    return std::vector{permute(c.tensors[0], argument<std::vector<int>>(c, "axes"))};
  };
  table["matrix_transpose"] = [](const ArrayCall& c) { return std::vector{c.tensors[0].T()}; };
  table["reshape"] = [](const ArrayCall& c) { return std::vector{c.tensors[0].reshape(shape(c))}; };
  table["flatten"] = [](const ArrayCall& c) { return std::vector{flatten(c.tensors[0])}; };
  table["broadcast_to"] = [](const ArrayCall& c) { return std::vector{broadcast_to(c.tensors[0], shape(c))}; };
  table["broadcast_arrays"] = [](const ArrayCall& c) { return broadcast_arrays(c.tensors); };
  table["concat"] = [](const ArrayCall& c) -> std::vector<Tensor> {
    const std::optional<int> along = argument(c, "flat", false) ? std::nullopt : axis(c);
    const auto& t = c.tensors;
    switch (t.size()) {
      case 1:
        return {concat({t[0]}, along)};
      case 2:
        return {concat({t[0], t[1]}, along)};
      case 3:
        return {concat({t[0], t[1], t[2]}, along)};
    }
    throw InternalError("concat of {} tensors", t.size());
  };
  table["stack"] = [](const ArrayCall& c) { return std::vector{stack(c.tensors, *axis(c))}; };
  table["unstack"] = [](const ArrayCall& c) { return unstack(c.tensors[0], *axis(c)); };
  table["roll"] = [](const ArrayCall& c) -> std::vector<Tensor> {
    if (!c.arguments.contains("axes")) return {roll(c.tensors[0], argument<std::int64_t>(c, "shift"))};
    const auto by = argument<std::vector<std::int64_t>>(c, "shifts");
    if (by.size() == 1) return {roll(c.tensors[0], {by[0]}, axes(c))};
    return {roll(c.tensors[0], {by[0], by[1]}, axes(c))};
  };
  table["tile"] = [](const ArrayCall& c) -> std::vector<Tensor> {
    const auto n = argument<std::vector<std::int64_t>>(c, "counts");
    switch (n.size()) {
      case 0:
        return {tile(c.tensors[0], std::initializer_list<std::int64_t>{})};
      case 1:
        return {tile(c.tensors[0], {n[0]})};
      case 2:
        return {tile(c.tensors[0], {n[0], n[1]})};
      case 3:
        return {tile(c.tensors[0], {n[0], n[1], n[2]})};
    }
    throw InternalError("tile by {} numbers", n.size());
  };
  table["repeat"] = [](const ArrayCall& c) -> std::vector<Tensor> {
    if (c.tensors.size() == 2) return {repeat(c.tensors[0], c.tensors[1], *axis(c))};
    const auto n = argument<std::int64_t>(c, "count");
    return {axis(c) ? repeat(c.tensors[0], n, *axis(c)) : repeat(c.tensors[0], n)};
  };
  table["diagonal"] = [](const ArrayCall& c) {
    return std::vector{diagonal(c.tensors[0], argument<std::int64_t>(c, "offset"))};
  };
}

void add_searching(Table& table) {
  table["take"] = [](const ArrayCall& c) { return std::vector{gather(c.tensors[0], c.tensors[1], *axis(c))}; };
  table["take_along_axis"] = [](const ArrayCall& c) {
    return std::vector{gather_elements(c.tensors[0], c.tensors[1], *axis(c))};
  };
  table["sort"] = [](const ArrayCall& c) {
    return std::vector{weft::sort(c.tensors[0], *axis(c), argument(c, "descending", false))};
  };
  table["argsort"] = [](const ArrayCall& c) {
    return std::vector{argsort(c.tensors[0], *axis(c), argument(c, "descending", false))};
  };
  table["searchsorted"] = [](const ArrayCall& c) {
    const Side side = argument<std::string>(c, "side") == "left" ? Side::left : Side::right;
    return std::vector{searchsorted(c.tensors[0], c.tensors[1], side)};
  };
  table["nonzero"] = [](const ArrayCall& c) { return nonzero(c.tensors[0]); };
  table["compress"] = [](const ArrayCall& c) { return std::vector{compress(c.tensors[0], c.tensors[1], axis(c))}; };
  table["unique_all"] = [](const ArrayCall& c) {
    const Unique u = unique(c.tensors[0]);
    return std::vector{u.values, u.indices, u.inverse, u.counts};
  };
  table["unique_values"] = [](const ArrayCall& c) { return std::vector{unique(c.tensors[0]).values}; };
  table["unique_counts"] = [](const ArrayCall& c) {
    const Unique u = unique(c.tensors[0]);
    return std::vector{u.values, u.counts};
  };
  table["unique_inverse"] = [](const ArrayCall& c) {
    const Unique u = unique(c.tensors[0]);
    return std::vector{u.values, u.inverse};
  };
}

void add_products(Table& table) {
  table["matmul"] = [](const ArrayCall& c) { return std::vector{matmul(c.tensors[0], c.tensors[1])}; };
  table["outer"] = [](const ArrayCall& c) { return std::vector{outer(c.tensors[0], c.tensors[1])}; };
  table["vecdot"] = [](const ArrayCall& c) { return std::vector{vecdot(c.tensors[0], c.tensors[1], *axis(c))}; };
  table["tensordot"] = [](const ArrayCall& c) -> std::vector<Tensor> {
    if (c.arguments.contains("axes")) return {tensordot(c.tensors[0], c.tensors[1], argument<int>(c, "axes"))};
    return {tensordot(c.tensors[0], c.tensors[1], axes(c, "a_axes"), axes(c, "b_axes"))};
  };
  table["einsum"] = [](const ArrayCall& c) {
    return std::vector{einsum(argument<std::string>(c, "subscripts"), c.tensors)};
  };
}

}  // namespace

TensorLike number_of(const json& input) {
  const json& n = input.at("number");
  if (n.is_boolean()) return n.get<bool>();
  return number(n);
}

const std::map<std::string, ArrayFunction>& array_functions() {
  static const Table all = [] {
    Table table;
    add_elementwise(table);
    add_creation(table);
    add_statistics(table);
    add_manipulation(table);
    add_searching(table);
    add_products(table);
    return table;
  }();
  return all;
}

}  // namespace weft::test
