#include "functions.h"

#include <algorithm>
#include <sstream>

#include "weft/array.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/fft.h"
#include "weft/indexing.h"
#include "weft/linalg.h"
#include "weft/losses.h"
#include "weft/random.h"
#include "weft/statistics.h"

namespace weft::web {

DType dtype_named(std::string_view name) {
  if (const auto type = dtype_from_name(name)) return *type;
  throw InvalidArgument(std::string("there is no data type '").append(name).append("'"));
}

Shape shape_of(const json& sizes) {
  const auto dims = sizes.get<std::vector<std::int64_t>>();
  return Shape(std::span<const std::int64_t>(dims));
}

Number number(const json& value) {
  if (value.is_boolean()) return Number(value.get<bool>() ? 1 : 0);
  if (value.is_number_unsigned()) return Number(value.get<std::uint64_t>());
  if (value.is_number_integer()) return Number(value.get<std::int64_t>());
  if (!value.is_string()) return Number(value.get<double>());
  // JSON has no words for NaN, -0 and infinities, nor for a bigint of 64 bits, "12n".
  const auto text = value.get<std::string>();
  if (!text.ends_with('n')) return Number(std::stod(text));
  return text.starts_with('-') ? Number(std::stoll(text)) : Number(std::stoull(text));
}

AttributeValue attribute(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return number(value);
  for (const json& v : value) {
    if (v.is_number_float()) return value.get<std::vector<double>>();
  }
  return value.get<std::vector<std::int64_t>>();
}

namespace {

const json kNull;

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::optional<std::int64_t> bound(const json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<std::int64_t>());
}

// Of each axis an integer, a list [begin, end, step] of which null is none, or "...", "all" or "new". Tensors stand
// among them as {"tensor": number of the operand}.
Indices indices(const Given& given) {
  std::vector<Index> list;
  for (const json& i : given.need("indices")) {
    if (i.is_number_integer()) {
      list.emplace_back(i.get<std::int64_t>());
    } else if (i.is_array() && !i.empty() && i.size() <= 3) {
      list.emplace_back(Slice{bound(i[0]), i.size() > 1 ? bound(i[1]) : std::nullopt,
                              i.size() > 2 && !i[2].is_null() ? i[2].get<std::int64_t>() : 1});
    } else if (i.is_object() && i.contains("tensor")) {
      list.emplace_back(given[i["tensor"].get<std::size_t>()]);
    } else if (i == "...") {
      list.emplace_back(ellipsis);
    } else if (i == "all" || i.is_null()) {
      list.emplace_back(all);
    } else if (i == "new") {
      list.emplace_back(newaxis);
    } else {
      throw InvalidArgument("at: an index is " + i.dump() +
                            ", expected an integer, [begin, end, step], a tensor, null, \"new\" or \"...\"");
    }
  }
  return list;
}

std::span<const Tensor> all_of(const Given& given) { return given.operands; }

LossReduction reduction(const Given& given) {
  const auto name = given.get<std::string>("reduction", "mean");
  if (name == "mean") return LossReduction::mean;
  if (name == "sum") return LossReduction::sum;
  if (name == "none") return LossReduction::none;
  throw InvalidArgument("reduction is '" + name + "', expected mean, sum or none");
}

#define WEFT_REDUCTION(name) \
  {#name, "x", "axes keep_dims", [](const Given& g) { return weft::name(g[0], g.axes(), g.get("keep_dims", false)); }}
#define WEFT_FFT(name)   \
  {#name, "x", "n axis", \
   [](const Given& g) { return weft::name(g[0], g.optional<std::int64_t>("n"), g.get("axis", -1)); }}

constexpr Function kFunctions[] = {
    // ---- Creation
    {"full", "", "shape value dtype",
     [](const Given& g) { return full(g.shape(), number(g.need("value")), g.dtype()); }},
    {"arange", "", "start stop step dtype",
     [](const Given& g) {
       const json& stop = g.at("stop");
       const Number step = g.at("step").is_null() ? Number(1) : number(g.at("step"));
       return stop.is_null() ? arange(0, number(g.need("start")), step, g.optional_dtype())
                             : arange(number(g.need("start")), number(stop), step, g.optional_dtype());
     }},
    {"linspace", "", "start stop count dtype endpoint",
     [](const Given& g) {
       return linspace(number(g.need("start")).value(), number(g.need("stop")).value(),
                       g.need("count").get<std::int64_t>(), g.dtype(), g.get("endpoint", true));
     }},
    {"eye", "", "rows columns dtype diagonal",
     [](const Given& g) {
       const auto rows = g.need("rows").get<std::int64_t>();
       return eye(rows, g.get("columns", rows), g.dtype(), g.get<std::int64_t>("diagonal", 0));
     }},
    // ---- Random numbers
    {"random.key", "", "seed", [](const Given& g) { return random::key(g.need("seed").get<std::uint64_t>()); }},
    {"random.split", "key", "count",
     [](const Given& g) { return random::split(g[0], g.get<std::int64_t>("count", 2)); }},
    {"random.uniform", "key?", "shape low high dtype",
     [](const Given& g) { return random::uniform(g.shape(), g.get("low", 0.0), g.get("high", 1.0), g.dtype(), g[0]); }},
    {"random.normal", "key?", "shape mean deviation dtype",
     [](const Given& g) {
       return random::normal(g.shape(), g.get("mean", 0.0), g.get("deviation", 1.0), g.dtype(), g[0]);
     }},
    {"random.integers", "key?", "shape low high dtype",
     [](const Given& g) {
       return random::integers(g.shape(), g.need("low").get<std::int64_t>(), g.need("high").get<std::int64_t>(),
                               g.dtype(DType::i32), g[0]);
     }},
    {"random.bernoulli", "key?", "shape probability",
     [](const Given& g) { return random::bernoulli(g.shape(), g.get("probability", 0.5), g[0]); }},
    {"random.permutation", "key?", "n",
     [](const Given& g) { return random::permutation(g.need("n").get<std::int64_t>(), g[0]); }},
    // ---- Elementwise
    {"cast", "x", "dtype", [](const Given& g) { return cast(g[0], dtype_named(g.need("dtype").get<std::string>())); }},
    {"maximum", "a b", "", [](const Given& g) { return maximum(g[0], g[1]); }},
    {"minimum", "a b", "", [](const Given& g) { return minimum(g[0], g[1]); }},
    {"divide", "a b", "", [](const Given& g) { return divide(g[0], g[1]); }},
    {"where", "condition a b", "", [](const Given& g) { return where(g[0], g[1], g[2]); }},
    {"gelu", "x", "form",
     [](const Given& g) {
       const auto form = g.get<std::string>("form", "erf");
       return gelu(g[0], form == "tanh" ? Gelu::tanh : form == "quick" ? Gelu::quick : Gelu::erf);
     }},
    // ---- Statistics
    WEFT_REDUCTION(sum),
    WEFT_REDUCTION(prod),
    WEFT_REDUCTION(mean),
    WEFT_REDUCTION(max),
    WEFT_REDUCTION(min),
    WEFT_REDUCTION(any),
    WEFT_REDUCTION(all),
    WEFT_REDUCTION(count_nonzero),
    WEFT_REDUCTION(argmax),
    WEFT_REDUCTION(argmin),
    WEFT_REDUCTION(median),
    {"variance", "x", "axes correction keep_dims",
     [](const Given& g) { return variance(g[0], g.axes(), g.get("correction", 0.0), g.get("keep_dims", false)); }},
    {"deviation", "x", "axes correction keep_dims",
     [](const Given& g) { return deviation(g[0], g.axes(), g.get("correction", 0.0), g.get("keep_dims", false)); }},
    {"quantile", "x", "q axes", [](const Given& g) { return quantile(g[0], g.need("q").get<double>(), g.axes()); }},
    {"cumulative_sum", "x", "axis", [](const Given& g) { return cumulative_sum(g[0], g.optional<int>("axis")); }},
    {"cumulative_prod", "x", "axis", [](const Given& g) { return cumulative_prod(g[0], g.optional<int>("axis")); }},
    {"sort", "x", "axis descending",
     [](const Given& g) { return sort(g[0], g.get("axis", -1), g.get("descending", false)); }},
    {"argsort", "x", "axis descending",
     [](const Given& g) { return argsort(g[0], g.get("axis", -1), g.get("descending", false)); }},
    {"diff", "x", "axis n", [](const Given& g) { return diff(g[0], g.get("axis", -1), g.get("n", 1)); }},
    // ---- Manipulation
    {"at", "x tensors...", "indices", [](const Given& g) { return g[0][indices(g)]; }},
    {"with_at", "x value tensors...", "indices",
     [](const Given& g) {
       Tensor result = g[0];
       result.set(indices(g), g[1]);
       return result;
     }},
    {"reshape", "x", "shape", [](const Given& g) { return reshape(g[0], g.shape()); }},
    {"flatten", "x", "", [](const Given& g) { return flatten(g[0]); }},
    {"broadcast_to", "x", "shape", [](const Given& g) { return broadcast_to(g[0], g.shape()); }},
    {"expand_dims", "x", "axes", [](const Given& g) { return expand_dims(g[0], g.axes()); }},
    {"squeeze", "x", "axes", [](const Given& g) { return squeeze(g[0], g.axes()); }},
    {"flip", "x", "axes", [](const Given& g) { return flip(g[0], g.axes()); }},
    {"moveaxis", "x", "from to", [](const Given& g) { return moveaxis(g[0], g.axes("from"), g.axes("to")); }},
    {"matrix_transpose", "x", "", [](const Given& g) { return matrix_transpose(g[0]); }},
    {"concat", "parts...", "axis", [](const Given& g) { return concat(all_of(g), g.get("axis", 0)); }},
    {"stack", "parts...", "axis", [](const Given& g) { return stack(all_of(g), g.get("axis", 0)); }},
    {"tril", "x", "diagonal", [](const Given& g) { return tril(g[0], g.get<std::int64_t>("diagonal", 0)); }},
    {"triu", "x", "diagonal", [](const Given& g) { return triu(g[0], g.get<std::int64_t>("diagonal", 0)); }},
    {"diagonal", "x", "offset", [](const Given& g) { return diagonal(g[0], g.get<std::int64_t>("offset", 0)); }},
    // ---- Products and linear algebra
    {"outer", "a b", "", [](const Given& g) { return outer(g[0], g[1]); }},
    {"einsum", "operands...", "subscripts",
     [](const Given& g) { return einsum(g.need("subscripts").get<std::string>(), all_of(g)); }},
    {"tensordot", "a b", "axes", [](const Given& g) { return tensordot(g[0], g[1], g.get("axes", 2)); }},
    {"solve", "a b", "", [](const Given& g) { return solve(g[0], g[1]); }},
    {"inv", "a", "", [](const Given& g) { return inv(g[0]); }},
    {"pinv", "a", "rtol", [](const Given& g) { return pinv(g[0], g.optional<double>("rtol")); }},
    {"det", "a", "", [](const Given& g) { return det(g[0]); }},
    {"trace", "x", "offset", [](const Given& g) { return trace(g[0], g.get<std::int64_t>("offset", 0)); }},
    {"norm", "x", "ord axes keep_dims",
     [](const Given& g) { return vector_norm(g[0], g.get("ord", 2.0), g.axes(), g.get("keep_dims", false)); }},
    // ---- Fourier transforms
    WEFT_FFT(fft),
    WEFT_FFT(ifft),
    WEFT_FFT(rfft),
    WEFT_FFT(irfft),
    // ---- Losses
    {"cross_entropy", "x labels", "label_smoothing reduction",
     [](const Given& g) {
       return cross_entropy(g[0], g[1], {.label_smoothing = g.get("label_smoothing", 0.0), .reduction = reduction(g)});
     }},
    {"mse_loss", "x target", "reduction", [](const Given& g) { return mse_loss(g[0], g[1], reduction(g)); }},
    {"l1_loss", "x target", "reduction", [](const Given& g) { return l1_loss(g[0], g[1], reduction(g)); }},
};
#undef WEFT_REDUCTION
#undef WEFT_FFT

}  // namespace

const Tensor& Given::operator[](std::size_t i) const {
  static const Tensor& none = *new Tensor;
  return i < operands.size() ? operands[i] : none;
}

const json& Given::at(std::string_view name) const {
  const auto found = attributes.find(name);
  return found == attributes.end() ? kNull : *found;
}

const json& Given::need(std::string_view name) const {
  const json& value = at(name);
  if (value.is_null()) throw InvalidArgument(std::string(function->name) + ": " + std::string(name) + " is missing");
  return value;
}

Axes Given::axes(std::string_view name) const {
  const json& value = at(name);
  if (value.is_null()) return {};
  return value.is_array() ? Axes(value.get<std::vector<int>>()) : Axes(value.get<int>());
}

DType Given::dtype(DType otherwise) const { return optional_dtype().value_or(otherwise); }

std::optional<DType> Given::optional_dtype() const {
  const json& value = at("dtype");
  return value.is_null() ? std::nullopt : std::optional(dtype_named(value.get<std::string>()));
}

json Function::inputs() const {
  json list = json::array();
  for (std::string word : words_of(operands)) {
    const bool repeated = word.ends_with("..."), optional = word.ends_with("?");
    word.resize(word.size() - (repeated ? 3 : optional ? 1 : 0));
    list.push_back({word, repeated ? "repeated" : optional ? "optional" : "one"});
  }
  return list;
}

json Function::attributes() const { return words_of(names); }

std::vector<Tensor> Function::call(const Given& given) const {
  const json known = attributes(), wanted = inputs();
  for (const auto& [key, value] : given.attributes.items()) {
    if (std::ranges::find(known, json(key)) == known.end()) {
      throw InvalidArgument(std::string(name) + ": there is no attribute '" + key +
                            "'; there are: " + std::string(names));
    }
  }
  const bool repeated = operands.ends_with("...");
  std::size_t least = 0;
  for (const json& o : wanted) least += o[1] == "one";
  const auto missing = [&](std::size_t i) { return wanted[i][1] == "one" && !given[i].defined(); };
  if (given.operands.size() < least || (!repeated && given.operands.size() > wanted.size())) {
    throw InvalidArgument(std::string(name) + ": " + std::to_string(given.operands.size()) + " operands, expected " +
                          (operands.empty() ? "none" : std::string(operands)));
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (missing(i))
      throw InvalidArgument(std::string(name) + ": the operand " + wanted[i][0].get<std::string>() + " is missing");
  }
  return {function(given)};
}

std::span<const Function> named_functions() { return kFunctions; }

const Function* named_function(std::string_view name) {
  const auto found = std::ranges::find(kFunctions, name, &Function::name);
  return found == std::end(kFunctions) ? nullptr : found;
}

}  // namespace weft::web
