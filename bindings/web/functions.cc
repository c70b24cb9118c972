#include "functions.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "weft/array.h"
#include "weft/convolution.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/fft.h"
#include "weft/indexing.h"
#include "weft/linalg.h"
#include "weft/losses.h"
#include "weft/numeric.h"
#include "weft/random.h"
#include "weft/signal.h"
#include "weft/statistics.h"

namespace weft::web {
namespace {

// The attributes of functions by their kinds. An attribute's name says its kind, whatever the function.
struct Attributes {
  std::string_view kind;
  std::string_view names;
};
constexpr Attributes kAttributes[] = {
    {"boolean", "causal channels_last complete descending endpoint full_matrices keep_dims largest periodic upper"},
    {"dtype", "dtype"},
    {"indices", "indices"},
    {"integer", "axis channel_axis classes columns count diagonal groups k n n_fft offset rows seed"},
    {"integers", "axes dilations from padding padding_after shape sizes strides to"},
    {"number",
     "correction delta deviation distance epsilon high label_smoothing low mean ord probability q rcond rtol scale start "
     "step stop value"},
    {"text", "form reduction subscripts"},
};
struct Choices {
  std::string_view name;
  std::span<const std::string_view> choices;
};
constexpr std::string_view kForms[] = {"erf", "tanh", "quick"}, kReductions[] = {"mean", "sum", "none"};
constexpr Choices kChoices[] = {{"form", kForms}, {"reduction", kReductions}};

std::span<const std::string_view> choices_of(std::string_view attribute) {
  const auto found = std::ranges::find(kChoices, attribute, &Choices::name);
  return found == std::end(kChoices) ? std::span<const std::string_view>() : found->choices;
}

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

[[noreturn]] void refuse(std::string_view what, const json& value, std::string_view expected) {
  const bool numeric = value.is_object() && value.contains("number");
  const std::string shown = numeric ? value["number"].get<std::string>() : value.dump();
  throw InvalidArgument(std::string(what) + " is " + shown + ", expected " + std::string(expected));
}

}  // namespace

DType dtype_named(std::string_view name) {
  if (const auto type = dtype_from_name(name)) return *type;
  throw InvalidArgument("there is no data type '" + std::string(name) + "'");
}

Number number(const json& value, std::string_view what) {
  if (value.is_boolean()) return Number(value.get<bool>() ? 1 : 0);
  if (value.is_number_unsigned()) return Number(value.get<std::uint64_t>());
  if (value.is_number_integer()) return Number(value.get<std::int64_t>());
  if (value.is_number()) return Number(value.get<double>());
  if (!value.is_object() || !value.contains("number")) refuse(what, value, "a number");
  const std::string text = value["number"].get<std::string>();
  const bool whole = text.find_first_not_of("0123456789", text.starts_with('-')) == text.npos && text != "-0";
  if (!whole) return Number(std::stod(text));
  try {
    return text[0] == '-' ? Number(static_cast<std::int64_t>(std::stoll(text)))
                          : Number(static_cast<std::uint64_t>(std::stoull(text)));
  } catch (const std::out_of_range&) {
    return Number(std::stod(text));
  }
}

std::int64_t integer(const json& value, std::string_view what) {
  const bool numeric = value.is_number() || (value.is_object() && value.contains("number"));
  if (!numeric) refuse(what, value, "an integer");
  const auto i = number(value).as_int64();
  if (!i) refuse(what, value, "an integer below 2^63");
  return *i;
}

std::uint64_t seed(const json& value, std::string_view what) {
  const Number n = number(value, what);
  const auto i = n.integer();
  if (!i || !n.integral() || n.value() < 0) refuse(what, value, "an integer from 0 to 2^64 - 1");
  return *i;
}

std::vector<std::int64_t> integers(const json& value, std::string_view what) {
  if (!value.is_array()) refuse(what, value, "a list of integers");
  std::vector<std::int64_t> list;
  for (const json& v : value) list.push_back(integer(v, what));
  return list;
}

Shape shape_of(const json& sizes) {
  const auto dims = integers(sizes, "shape");
  return Shape(std::span<const std::int64_t>(dims));
}

AttributeValue attribute(const json& value, std::string_view what) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return number(value, what);
  std::vector<double> list;
  bool whole = true;
  for (const json& v : value) {
    const Number n = number(v, what);
    whole &= n.integral();
    list.push_back(n.value());
  }
  if (whole) return integers(value, what);
  return list;
}

TensorLike number_operand(const json& value) {
  const json& given = value.at("number");
  if (given.is_boolean()) return TensorLike(given.get<bool>());
  return TensorLike(number(given.is_string() ? value : given));
}

json described(std::string_view name, std::string_view kind, std::span<const std::string_view> choices) {
  json result = {{"name", name}, {"kind", kind}};
  if (!choices.empty()) result["choices"] = std::vector<std::string>(choices.begin(), choices.end());
  return result;
}
json described(const AttributeSchema& attribute) {
  const std::vector<std::string_view> choices(attribute.choices.begin(), attribute.choices.end());
  return described(attribute.name, name(attribute.kind), choices);
}

namespace {

const json kNull;

std::optional<std::int64_t> bound(const json& value) {
  return value.is_null() ? std::nullopt : std::optional(integer(value, "at: the bound of a slice"));
}

// Of each axis an integer, a list [begin, end, step] of which null is none, or "...", "new" or null for all. Tensors
// stand among them as {"tensor": number of the operand}.
Indices indices(const Given& given) {
  std::vector<Index> list;
  for (const json& i : given.need("indices")) {
    if (i.is_array() && !i.empty() && i.size() <= 3) {
      list.emplace_back(Slice{bound(i[0]), i.size() > 1 ? bound(i[1]) : std::nullopt,
                              i.size() > 2 && !i[2].is_null() ? integer(i[2], "at: the step of a slice") : 1});
    } else if (i.is_object() && i.contains("tensor")) {
      list.emplace_back(given[i["tensor"].get<std::size_t>()]);
    } else if (i == "...") {
      list.emplace_back(ellipsis);
    } else if (i.is_null()) {
      list.emplace_back(all);
    } else if (i == "new") {
      list.emplace_back(newaxis);
    } else if (i.is_number_integer()) {
      list.emplace_back(i.get<std::int64_t>());
    } else {
      refuse("at: an index", i, "an integer, [begin, end, step], a tensor, null, \"new\" or \"...\"");
    }
  }
  return list;
}

LossReduction reduction(const Given& given) {
  constexpr LossReduction kByChoice[] = {LossReduction::mean, LossReduction::sum, LossReduction::none};
  return kByChoice[given.choice("reduction")];
}

Dims dims(const Given& given, std::string_view name) {
  if (!given.has(name)) return {};
  const auto list = given.integers(name);
  return Dims(std::span<const std::int64_t>(list));
}

#define WEFT_REDUCTION(name) \
  {#name, "x", "axes keep_dims", [](const Given& g) { return weft::name(g[0], g.axes(), g.flag("keep_dims")); }}
#define WEFT_FFT(name) \
  {#name, "x", "n axis", [](const Given& g) { return weft::name(g[0], g.optional_integer("n"), g.axis()); }}
#define WEFT_LOSS(name) \
  {#name, "x target", "reduction", [](const Given& g) { return weft::name(g[0], g[1], reduction(g)); }}
#define WEFT_SEVERAL [](const Given& g)->std::vector<Tensor>

// clang-format off: it takes the macros for blocks
constexpr Function kFunctions[] = {
    // ---- Creation
    {"full", "", "shape value dtype", [](const Given& g) { return full(g.shape(), g.number("value"), g.dtype()); }},
    {"arange", "", "start stop step dtype",
     [](const Given& g) {
       const Number step = g.has("step") ? g.number("step") : Number(1);
       return g.has("stop") ? arange(g.number("start"), g.number("stop"), step, g.optional_dtype())
                            : arange(0, g.number("start"), step, g.optional_dtype());
     }},
    {"linspace", "", "start stop count dtype endpoint",
     [](const Given& g) {
       return linspace(g.real("start"), g.real("stop"), g.integer("count"), g.dtype(), g.flag("endpoint", true));
     }},
    {"eye", "", "rows columns dtype diagonal",
     [](const Given& g) {
       return eye(g.integer("rows"), g.integer("columns", g.integer("rows")), g.dtype(), g.integer("diagonal", 0));
     }},
    {"hann_window", "", "n periodic dtype",
     [](const Given& g) { return hann_window(g.integer("n"), g.flag("periodic", true), g.dtype()); }},
    // ---- Random numbers
    {"random.key", "", "seed",
     [](const Given& g) { return random::key(seed(g.need("seed"), "random.key: seed")); }},
    {"random.split", "key", "count", [](const Given& g) { return random::split(g[0], g.integer("count", 2)); }},
    {"random.uniform", "key?", "shape low high dtype",
     [](const Given& g) { return random::uniform(g.shape(), g.real("low", 0), g.real("high", 1), g.dtype(), g[0]); }},
    {"random.normal", "key?", "shape mean deviation dtype",
     [](const Given& g) {
       return random::normal(g.shape(), g.real("mean", 0), g.real("deviation", 1), g.dtype(), g[0]);
     }},
    {"random.integers", "key?", "shape low high dtype",
     [](const Given& g) {
       return random::integers(g.shape(), g.integer("low"), g.integer("high"), g.dtype(DType::i32), g[0]);
     }},
    {"random.bernoulli", "key?", "shape probability",
     [](const Given& g) { return random::bernoulli(g.shape(), g.real("probability", 0.5), g[0]); }},
    {"random.permutation", "key?", "n", [](const Given& g) { return random::permutation(g.integer("n"), g[0]); }},
    // ---- Elementwise
    {"cast", "x", "dtype", [](const Given& g) { return cast(g[0], dtype_named(g.text("dtype"))); }},
    {"maximum", "a b", "", [](const Given& g) { return maximum(g.like(0), g.like(1)); }},
    {"minimum", "a b", "", [](const Given& g) { return minimum(g.like(0), g.like(1)); }},
    {"divide", "a b", "", [](const Given& g) { return divide(g.like(0), g.like(1)); }},
    {"where", "condition a b", "", [](const Given& g) { return where(g[0], g.like(1), g.like(2)); }},
    {"select", "condition a b", "", [](const Given& g) { return select(g[0], g.like(1), g.like(2)); }},
    {"gelu", "x", "form",
     [](const Given& g) {
       constexpr Gelu kByChoice[] = {Gelu::erf, Gelu::tanh, Gelu::quick};
       return gelu(g[0], kByChoice[g.choice("form")]);
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
    WEFT_REDUCTION(nansum),
    WEFT_REDUCTION(nanmean),
    WEFT_REDUCTION(nanmax),
    WEFT_REDUCTION(nanmin),
    {"variance", "x", "axes correction keep_dims",
     [](const Given& g) { return variance(g[0], g.axes(), g.real("correction", 0), g.flag("keep_dims")); }},
    {"deviation", "x", "axes correction keep_dims",
     [](const Given& g) { return deviation(g[0], g.axes(), g.real("correction", 0), g.flag("keep_dims")); }},
    {"quantile", "x", "q axes", [](const Given& g) { return quantile(g[0], g.real("q"), g.axes()); }},
    {"cumulative_sum", "x", "axis", [](const Given& g) { return cumulative_sum(g[0], g.optional_axis()); }},
    {"cumulative_prod", "x", "axis", [](const Given& g) { return cumulative_prod(g[0], g.optional_axis()); }},
    {"sort", "x", "axis descending", [](const Given& g) { return sort(g[0], g.axis(), g.flag("descending")); }},
    {"argsort", "x", "axis descending", [](const Given& g) { return argsort(g[0], g.axis(), g.flag("descending")); }},
    {"top_k", "x", "k axis largest", nullptr,
     WEFT_SEVERAL {
       const TopK found = top_k(g[0], g.integer("k"), g.axis(), g.flag("largest", true));
       return {found.values, found.indices};
     }},
    {"diff", "x", "axis n",
     [](const Given& g) { return diff(g[0], g.axis(), static_cast<int>(g.integer("n", 1))); }},
    {"cov", "x", "correction", [](const Given& g) { return cov(g[0], g.real("correction", 1)); }},
    {"corrcoef", "x", "", [](const Given& g) { return corrcoef(g[0]); }},
    {"trapezoid", "y", "distance axis",
     [](const Given& g) { return trapezoid(g[0], g.real("distance", 1), g.axis()); }},
    {"interp", "x points values", "", [](const Given& g) { return interp(g[0], g[1], g[2]); }},
    // ---- Manipulation
    {"at", "x tensors...", "indices", [](const Given& g) { return g[0][indices(g)]; }},
    {"with_at", "x value tensors...", "indices",
     [](const Given& g) {
       Tensor result = g[0];
       result.set(indices(g), g.like(1));
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
    {"concat", "parts...", "axis", [](const Given& g) { return concat(g.tensors(), g.axis("axis", 0)); }},
    {"stack", "parts...", "axis", [](const Given& g) { return stack(g.tensors(), g.axis("axis", 0)); }},
    {"unstack", "x", "axis", nullptr, WEFT_SEVERAL { return unstack(g[0], g.axis("axis", 0)); }},
    {"split", "x", "sizes axis", nullptr,
     WEFT_SEVERAL { return split(g[0], g.integers("sizes"), g.axis("axis", 0)); }},
    {"tril", "x", "diagonal", [](const Given& g) { return tril(g[0], g.integer("diagonal", 0)); }},
    {"triu", "x", "diagonal", [](const Given& g) { return triu(g[0], g.integer("diagonal", 0)); }},
    {"diagonal", "x", "offset", [](const Given& g) { return diagonal(g[0], g.integer("offset", 0)); }},
    {"diag", "x", "offset", [](const Given& g) { return diag(g[0], g.integer("offset", 0)); }},
    {"one_hot", "indices", "classes dtype axis",
     [](const Given& g) { return one_hot(g[0], g.integer("classes"), g.dtype(), g.axis()); }},
    // ---- Networks
    {"conv", "x w bias?", "strides dilations padding padding_after groups channels_last",
     [](const Given& g) {
       return conv(g[0], g[1], g[2],
                   {.strides = dims(g, "strides"),
                    .dilations = dims(g, "dilations"),
                    .padding = dims(g, "padding"),
                    .padding_after = g.has("padding_after") ? dims(g, "padding_after") : dims(g, "padding"),
                    .groups = g.integer("groups", 1),
                    .channels_last = g.flag("channels_last")});
     }},
    {"batch_norm", "x mean variance scale? bias?", "epsilon channel_axis",
     [](const Given& g) {
       return batch_norm(g[0], g[1], g[2], g[3], g[4], g.real("epsilon", 1e-5), g.axis("channel_axis", 1));
     }},
    {"attention", "q k v mask?", "scale causal",
     [](const Given& g) {
       kernels::AttentionOptions options;
       const Tensor& q = g[0];
       const double size = q.rank() ? static_cast<double>(q.shape()[q.rank() - 1]) : 1;
       options.scale = g.real("scale", 1 / std::sqrt(size));
       options.causal = g.flag("causal");
       return attention(q, g[1], g[2], g[3], options);
     }},
    // ---- Products and linear algebra
    {"outer", "a b", "", [](const Given& g) { return outer(g[0], g[1]); }},
    {"kron", "a b", "", [](const Given& g) { return kron(g[0], g[1]); }},
    {"cross", "a b", "axis", [](const Given& g) { return cross(g[0], g[1], g.axis()); }},
    {"einsum", "operands...", "subscripts", [](const Given& g) { return einsum(g.text("subscripts"), g.tensors()); }},
    {"tensordot", "a b", "axes",
     [](const Given& g) { return tensordot(g[0], g[1], static_cast<int>(g.integer("axes", 2))); }},
    {"solve", "a b", "", [](const Given& g) { return solve(g[0], g[1]); }},
    {"inv", "a", "", [](const Given& g) { return inv(g[0]); }},
    {"pinv", "a", "rtol", [](const Given& g) { return pinv(g[0], g.optional_real("rtol")); }},
    {"det", "a", "", [](const Given& g) { return det(g[0]); }},
    {"slogdet", "a", "", nullptr,
     WEFT_SEVERAL {
       const SlogdetResult found = slogdet(g[0]);
       return {found.sign, found.logabsdet};
     }},
    {"cholesky", "a", "upper", [](const Given& g) { return cholesky(g[0], g.flag("upper")); }},
    {"qr", "a", "complete", nullptr,
     WEFT_SEVERAL {
       const QrResult found = qr(g[0], g.flag("complete") ? QrMode::complete : QrMode::reduced);
       return {found.q, found.r};
     }},
    {"lu", "a", "", nullptr,
     WEFT_SEVERAL {
       const LuResult found = lu(g[0]);
       return {found.p, found.l, found.u};
     }},
    {"lstsq", "a b", "rcond", nullptr,
     WEFT_SEVERAL {
       const LstsqResult found = lstsq(g[0], g[1], g.optional_real("rcond"));
       return {found.solution, found.residuals};
     }},
    {"eigh", "a", "upper", nullptr,
     WEFT_SEVERAL {
       const EighResult found = eigh(g[0], g.flag("upper"));
       return {found.values, found.vectors};
     }},
    {"eigvalsh", "a", "upper", [](const Given& g) { return eigvalsh(g[0], g.flag("upper")); }},
    {"svd", "a", "full_matrices", nullptr,
     WEFT_SEVERAL {
       const SvdResult found = svd(g[0], g.flag("full_matrices", true));
       return {found.u, found.s, found.vh};
     }},
    {"svdvals", "a", "", [](const Given& g) { return svdvals(g[0]); }},
    {"matrix_rank", "a", "rtol", [](const Given& g) { return matrix_rank(g[0], g.optional_real("rtol")); }},
    {"matrix_power", "x", "n", [](const Given& g) { return matrix_power(g[0], g.integer("n")); }},
    {"trace", "x", "offset", [](const Given& g) { return trace(g[0], g.integer("offset", 0)); }},
    {"norm", "x", "ord axes keep_dims",
     [](const Given& g) { return vector_norm(g[0], g.real("ord", 2), g.axes(), g.flag("keep_dims")); }},
    // ---- Fourier transforms and signals
    WEFT_FFT(fft),
    WEFT_FFT(ifft),
    WEFT_FFT(rfft),
    WEFT_FFT(irfft),
    {"stft", "x", "n_fft", [](const Given& g) { return stft(g[0], g.integer("n_fft")); }},
    // ---- Losses
    {"cross_entropy", "x labels", "label_smoothing reduction",
     [](const Given& g) {
       return cross_entropy(g[0], g[1], {.label_smoothing = g.real("label_smoothing", 0), .reduction = reduction(g)});
     }},
    WEFT_LOSS(mse_loss),
    WEFT_LOSS(l1_loss),
    {"huber_loss", "x target", "delta reduction",
     [](const Given& g) { return huber_loss(g[0], g[1], g.real("delta", 1), reduction(g)); }},
};
// clang-format on
#undef WEFT_REDUCTION
#undef WEFT_FFT
#undef WEFT_LOSS
#undef WEFT_SEVERAL

}  // namespace

const Tensor& Given::operator[](std::size_t i) const {
  static const Tensor& none = *new Tensor;
  if (i >= operands_.size()) return none;
  if (const Tensor* t = operands_[i].tensor()) return *t;
  const json inputs = function_.inputs();
  throw InvalidArgument(std::string(function_.name) + ": " +
                        (i < inputs.size() ? inputs[i][0].get<std::string>() : "an operand") +
                        " is a number, expected a tensor");
}

std::vector<Tensor> Given::tensors(std::size_t i) const {
  std::vector<Tensor> list;
  for (; i < operands_.size(); ++i) list.push_back((*this)[i]);
  return list;
}

std::string Given::described(std::string_view attribute) const {
  return std::string(function_.name) + ": " + std::string(attribute);
}

const json& Given::at(std::string_view name) const {
  const auto found = attributes_.find(name);
  return found == attributes_.end() ? kNull : *found;
}

const json& Given::need(std::string_view name) const {
  const json& value = at(name);
  if (value.is_null()) throw InvalidArgument(described(name) + " is missing");
  return value;
}

std::int64_t Given::integer(std::string_view name, std::optional<std::int64_t> otherwise) const {
  return otherwise && !has(name) ? *otherwise : web::integer(need(name), described(name));
}
int Given::axis(std::string_view name, std::optional<int> otherwise) const {
  const std::int64_t value = integer(name, otherwise);
  if (value != static_cast<int>(value)) refuse(described(name), value, "an axis");
  return static_cast<int>(value);
}
double Given::real(std::string_view name, std::optional<double> otherwise) const {
  return otherwise && !has(name) ? *otherwise : number(name).value();
}
bool Given::flag(std::string_view name, bool otherwise) const {
  if (!has(name)) return otherwise;
  const json& value = at(name);
  if (!value.is_boolean()) refuse(described(name), value, "true or false");
  return value.get<bool>();
}
std::string Given::text(std::string_view name) const {
  const json& value = need(name);
  if (!value.is_string()) refuse(described(name), value, "a text");
  return value.get<std::string>();
}
std::size_t Given::choice(std::string_view name) const {
  if (!has(name)) return 0;
  const auto choices = choices_of(name);
  const auto found = std::ranges::find(choices, text(name));
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  std::string all;
  for (const std::string_view choice : choices) all += (all.empty() ? "" : ", ") + std::string(choice);
  refuse(described(name), at(name), all);
}
Number Given::number(std::string_view name) const { return web::number(need(name), described(name)); }
std::optional<std::int64_t> Given::optional_integer(std::string_view name) const {
  return has(name) ? std::optional(integer(name)) : std::nullopt;
}
std::optional<int> Given::optional_axis(std::string_view name) const {
  return has(name) ? std::optional(axis(name, {})) : std::nullopt;
}
std::optional<double> Given::optional_real(std::string_view name) const {
  return has(name) ? std::optional(real(name)) : std::nullopt;
}
std::vector<std::int64_t> Given::integers(std::string_view name) const {
  return web::integers(need(name), described(name));
}

Axes Given::axes(std::string_view name) const {
  const json& value = at(name);
  if (value.is_null()) return {};
  std::vector<int> list;
  for (const std::int64_t i : value.is_array() ? integers(name) : std::vector{integer(name)}) {
    if (i != static_cast<int>(i)) refuse(described(name), value, "axes");
    list.push_back(static_cast<int>(i));
  }
  return list;
}

Shape Given::shape(std::string_view name) const {
  const auto sizes = integers(name);
  return Shape(std::span<const std::int64_t>(sizes));
}

DType Given::dtype(DType otherwise) const { return optional_dtype().value_or(otherwise); }

std::optional<DType> Given::optional_dtype() const {
  return has("dtype") ? std::optional(dtype_named(text("dtype"))) : std::nullopt;
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

json Function::attributes() const {
  json list = json::array();
  for (const std::string& attribute : words_of(names)) {
    const auto found = std::ranges::find_if(kAttributes, [&](const Attributes& a) {
      const auto all = words_of(a.names);
      return std::ranges::find(all, attribute) != all.end();
    });
    if (found == std::end(kAttributes)) {
      throw InternalError(std::string(name) + ": of what kind " + attribute + " is stands nowhere");
    }
    list.push_back(web::described(attribute, found->kind, choices_of(attribute)));
  }
  return list;
}

std::vector<Tensor> Function::call(const Given& given) const {
  const auto known = words_of(names);
  const json wanted = inputs();
  for (const auto& [key, value] : given.attributes().items()) {
    if (std::ranges::find(known, key) == known.end()) {
      throw InvalidArgument(std::string(name) + ": it has no attribute '" + key + "'; it takes " + std::string(names));
    }
  }
  const auto operands_given = given.operands();
  if (!operands.ends_with("...") && operands_given.size() > wanted.size()) {
    throw InvalidArgument(std::string(name) + ": " + std::to_string(operands_given.size()) + " operands, expected " +
                          (operands.empty() ? "none" : std::string(operands)));
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i][1] != "one") continue;
    const bool there =
        i < operands_given.size() && (!operands_given[i].tensor() || operands_given[i].tensor()->defined());
    if (!there)
      throw InvalidArgument(std::string(name) + ": operand " + wanted[i][0].get<std::string>() + " is missing");
  }
  if (several) return several(given);
  return {one(given)};
}

std::span<const Function> named_functions() { return kFunctions; }

const Function* named_function(std::string_view name) {
  const auto found = std::ranges::find(kFunctions, name, &Function::name);
  return found == std::end(kFunctions) ? nullptr : found;
}

}  // namespace weft::web
