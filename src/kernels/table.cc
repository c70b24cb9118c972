#include "weft/kernels/table.h"

#include <algorithm>
#include <charconv>
#include <format>
#include <ranges>

#include "kernels/elementwise/scalar_ops.h"
#include "weft/error.h"
#include "weft/kernels.h"

namespace weft::kernels {
namespace {

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  for (const auto word : std::views::split(text, ' ')) {
    if (!word.empty()) out.emplace_back(word.begin(), word.end());
  }
  return out;
}

// One word of KernelInfo::attributes.
struct Declared {
  std::string name, kind, otherwise;
  bool optional = false;
};

Declared declared(const std::string& word) {
  const std::size_t colon = word.find(':'), equals = word.find('=');
  Declared d{word.substr(0, colon), word.substr(colon + 1, equals - colon - 1), "", equals != std::string::npos};
  if (d.optional) d.otherwise = word.substr(equals + 1);
  return d;
}

// Whatever the program's locale takes for a decimal point.
double number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) throw InternalError("'{}' is no number", text);
  return value;
}

const KernelInfo& row(std::string_view name);

// What a row's function reads of a call: the declared attributes, with their defaults.
class Reader {
 public:
  Reader(std::string_view kernel, const Arguments& arguments) : kernel_(row(kernel)), a_(arguments) {}

  const View& in(std::size_t i) const { return a_.inputs[i]; }
  const View& out(std::size_t i) const { return a_.outputs[i]; }
  std::optional<View> maybe(std::size_t i) const { return one_of_these(a_.inputs, i); }
  std::optional<View> maybe_out(std::size_t i) const { return one_of_these(a_.outputs, i); }
  std::int64_t integer(std::string_view name) const {
    const Attribute value = attribute(name);
    if (const auto* i = std::get_if<std::int64_t>(&value)) return *i;
    wrong_kind(name, "an integer");
  }
  int small(std::string_view name) const {
    return static_cast<int>(std::clamp<std::int64_t>(integer(name), INT32_MIN, INT32_MAX));
  }
  bool flag(std::string_view name) const { return integer(name) != 0; }
  Number any_number(std::string_view name) const {
    const Attribute value = attribute(name);
    if (const auto* d = std::get_if<double>(&value)) return *d;
    if (const auto* i = std::get_if<std::int64_t>(&value)) return *i;
    wrong_kind(name, "a number");
  }
  double number(std::string_view name) const { return any_number(name).value(); }
  std::string text(std::string_view name) const {
    const Attribute value = attribute(name);
    if (const auto* s = std::get_if<std::string>(&value)) return *s;
    wrong_kind(name, "text");
  }
  std::vector<int> integers(std::string_view name) const {
    const Attribute value = attribute(name);
    if (const auto* v = std::get_if<std::vector<int>>(&value)) return *v;
    if (const auto* i = std::get_if<std::int64_t>(&value)) {
      return {static_cast<int>(std::clamp<std::int64_t>(*i, INT32_MIN, INT32_MAX))};
    }
    wrong_kind(name, "a list of integers");
  }
  // An enumerator by its name in `names`, which are in the enumeration's order.
  template <class Enum, std::size_t n>
  Enum one_of(std::string_view attribute, const std::string_view (&names)[n]) const {
    const std::string value = text(attribute);
    std::string all;
    for (std::size_t i = 0; i < n; ++i) {
      if (names[i] == value) return static_cast<Enum>(i);
      all += (i ? ", " : "") + std::string(names[i]);
    }
    throw InvalidArgument("{}: {} is '{}', expected one of {}", kernel_.name, attribute, value, all);
  }
  std::span<const View> inputs() const { return a_.inputs; }
  std::span<const View> outputs() const { return a_.outputs; }

 private:
  static std::optional<View> one_of_these(std::span<const View> views, std::size_t i) {
    if (i >= views.size() || !views[i].buffer) return {};
    return views[i];
  }
  [[noreturn]] void wrong_kind(std::string_view name, std::string_view expected) const {
    throw InvalidArgument("{}: attribute {} is not {}", kernel_.name, name, expected);
  }
  Attribute attribute(std::string_view name) const {
    if (const auto given = a_.attributes.find(name); given != a_.attributes.end()) return given->second;
    for (const std::string& word : words(kernel_.attributes)) {
      const Declared d = declared(word);
      if (d.name != name) continue;
      if (d.kind == "text") return d.otherwise;
      if (d.kind == "number") return number_of(d.otherwise);
      return std::int64_t{std::stoll(d.otherwise)};
    }
    throw InternalError("{}: no attribute {} is declared", kernel_.name, name);
  }
  const KernelInfo& kernel_;
  const Arguments& a_;
};

constexpr std::string_view kReduceOps[] = {"sum", "mean", "prod", "min",     "max",         "sum_squares",
                                           "l1",  "l2",   "log_sum", "log_sum_exp", "any",         "all",
                                           "count"};
constexpr std::string_view kScanOps[] = {"sum", "prod", "max", "min", "log_sum_exp"};
constexpr std::string_view kScatterOps[] = {"assign", "add", "mul", "min", "max"};
constexpr std::string_view kPadModes[] = {"constant", "edge", "reflect", "symmetric", "wrap"};
constexpr std::string_view kTriangles[] = {"lower", "upper"};

// Other names of kernels that are no elementwise functions; those of the functions stand with them.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"cast", "copy"},
    {"take_along_axis", "gather_elements"},
    {"put_along_axis", "scatter_elements"},
    {"take", "gather"},
    {"concatenate", "concat"},
    {"cat", "concat"},
    {"clip", "clamp"},
    {"invert", "bitwise_not"},
    {"tri", "triangle"},
    {"sum", "reduce_sum"},
    {"mean", "reduce_mean"},
    {"prod", "reduce_prod"},
    {"amin", "reduce_min"},
    {"amax", "reduce_max"},
    {"any", "reduce_any"},
    {"all", "reduce_all"},
    {"count", "reduce_count"},
    {"logsumexp", "reduce_log_sum_exp"},
    {"var", "variance"},
    {"reduce_variance", "variance"},
    {"std", "deviation"},
    {"reduce_deviation", "deviation"},
    {"reduce_argmin", "argmin"},
    {"reduce_argmax", "argmax"},
    {"cumsum", "scan_sum"},
    {"cumprod", "scan_prod"},
    {"cummin", "scan_min"},
    {"cummax", "scan_max"},
    {"argsort", "sort"},
    {"tril", "triangle"},
    {"triu", "triangle"},
};

std::vector<std::int64_t> wide(const std::vector<int>& v) { return {v.begin(), v.end()}; }

std::vector<KernelInfo> make_rows() {
  using A = const Arguments&;
  std::vector<KernelInfo> rows;
  const auto add = [&](std::string name, std::string family, std::string inputs, std::string outputs,
                       std::string attributes, std::string summary, std::function<void(Stream&, const Reader&)> run) {
    KernelInfo info{
        name, std::move(family), std::move(inputs), std::move(outputs), std::move(attributes), std::move(summary), {},
        {}};
    info.run = [name, run = std::move(run)](Stream& s, A a) { run(s, Reader(name, a)); };
    rows.push_back(std::move(info));
  };

  // ---- elementwise: a row for each function
  for (const FunctionInfo& f : functions()) {
    constexpr std::string_view kOperands[] = {"", "x", "a b", "a b c"};
    std::string attributes;
    for (const FunctionParameter& p : f.parameters) {
      attributes += std::format("{}{}:number={}", attributes.empty() ? "" : " ", p.name, p.otherwise);
    }
    const std::string operands = f.name == "select" ? "condition a b" : std::string(kOperands[f.operands]);
    std::string listed;
    for (const std::string& o : words(operands)) listed += (listed.empty() ? "" : ", ") + o;
    add(std::string(f.name), "elementwise", operands, "y", attributes,
        std::format("y = {}({}), elementwise with broadcasting", f.name, listed),
        [f](Stream& s, const Reader& r) {
          std::vector<double> parameters;
          for (const FunctionParameter& p : f.parameters) parameters.push_back(r.number(p.name));
          elementwise(s, f.name, r.inputs(), r.out(0), parameters);
        });
  }

  // ---- copy
  add("copy", "copy", "x", "y", "", "y = x, converted to y's type, broadcast to its shape",
      [](Stream& s, const Reader& r) { copy(s, r.in(0), r.out(0)); });
  add("fill", "copy", "", "y", "value:number", "y = value",
      [](Stream& s, const Reader& r) { fill(s, r.any_number("value"), r.out(0)); });

  add("masked_copy", "copy", "mask x", "y", "", "y = x where the mask is true",
      [](Stream& s, const Reader& r) { masked_copy(s, r.in(0), r.in(1), r.out(0)); });
  add("concat", "copy", "parts...", "y", "axis:integer=0", "the parts one after the other",
      [](Stream& s, const Reader& r) { concat(s, r.inputs(), r.out(0), r.small("axis")); });
  add("split", "copy", "x", "parts...", "axis:integer=0", "x cut into parts",
      [](Stream& s, const Reader& r) { split(s, r.in(0), r.outputs(), r.small("axis")); });

  // ---- pad
  add("pad", "pad", "x", "y", "before:integers mode:text=constant value:number=0",
      "x with what the mode says around it (constant, edge, reflect, symmetric, wrap)", [](Stream& s, const Reader& r) {
        pad(s, r.in(0), r.out(0), wide(r.integers("before")), r.one_of<PadMode>("mode", kPadModes),
            r.any_number("value"));
      });
  add("tile", "pad", "x", "y", "", "x again and again along each axis",
      [](Stream& s, const Reader& r) { tile(s, r.in(0), r.out(0)); });
  add("repeat", "pad", "x", "y", "", "each element several times along each axis",
      [](Stream& s, const Reader& r) { repeat(s, r.in(0), r.out(0)); });
  add("roll", "pad", "x", "y", "shifts:integers",
      "x moved along its axes, what leaves at one end comes in at the other",
      [](Stream& s, const Reader& r) { roll(s, r.in(0), r.out(0), wide(r.integers("shifts"))); });

  // ---- generate
  add("arange", "generate", "", "y", "start:number=0 step:number=1", "y[i] = start + i step",
      [](Stream& s, const Reader& r) { arange(s, r.any_number("start"), r.any_number("step"), r.out(0)); });
  add("linspace", "generate", "", "y", "start:number=0 stop:number=1", "evenly from start to stop",
      [](Stream& s, const Reader& r) { linspace(s, r.number("start"), r.number("stop"), r.out(0)); });
  add("eye", "generate", "", "y", "diagonal:integer=0", "1 on a diagonal, else 0",
      [](Stream& s, const Reader& r) { eye(s, r.out(0), r.integer("diagonal")); });
  add("triangle", "generate", "x?", "y", "part:text=lower diagonal:integer=0",
      "x (without it: 1) in the lower or upper triangle, else 0", [](Stream& s, const Reader& r) {
        const auto part = r.one_of<Triangle>("part", kTriangles);
        if (const auto x = r.maybe(0)) triangle(s, part, *x, r.out(0), r.integer("diagonal"));
        else triangle(s, part, r.out(0), r.integer("diagonal"));
      });
  add("one_hot", "generate", "indices", "y", "axis:integer=-1 on:number=1 off:number=0",
      "on at the index along an axis, else off", [](Stream& s, const Reader& r) {
        one_hot(s, r.in(0), r.out(0), r.small("axis"), r.any_number("on"), r.any_number("off"));
      });

  // ---- index
  add("gather", "index", "x indices", "y", "axis:integer=0", "rows of x that indices name, along an axis",
      [](Stream& s, const Reader& r) { gather(s, r.in(0), r.in(1), r.out(0), r.small("axis")); });
  add("gather_elements", "index", "x indices", "y", "axis:integer=0", "elements of x that indices name, along an axis",
      [](Stream& s, const Reader& r) { gather_elements(s, r.in(0), r.in(1), r.out(0), r.small("axis")); });
  add("gather_nd", "index", "x indices", "y", "batch:integer=0", "parts of x that tuples of indices name",
      [](Stream& s, const Reader& r) { gather_nd(s, r.in(0), r.in(1), r.out(0), r.small("batch")); });
  add("scatter", "index", "indices updates", "y", "op:text=assign axis:integer=0",
      "rows of y combined with updates (assign, add, mul, min, max)",
      [](Stream& s, const Reader& r) {
        scatter(s, r.one_of<ScatterKind>("op", kScatterOps), r.in(0), r.in(1), r.out(0), r.small("axis"));
      });
  add(
      "scatter_elements", "index", "indices updates", "y", "op:text=assign axis:integer=0",
      "elements of y along an axis combined with updates (assign, add, mul, min, max)",
      [](Stream& s, const Reader& r) {
        scatter_elements(s, r.one_of<ScatterKind>("op", kScatterOps), r.in(0), r.in(1), r.out(0), r.small("axis"));
      });
  add(
      "scatter_nd", "index", "indices updates", "y", "op:text=assign batch:integer=0",
      "parts of y that tuples of indices name combined with updates (assign, add, mul, min, max)",
      [](Stream& s, const Reader& r) {
        scatter_nd(s, r.one_of<ScatterKind>("op", kScatterOps), r.in(0), r.in(1), r.out(0), r.small("batch"));
      });

  // ---- compact
  add("compress", "compact", "x mask", "y count", "", "the elements of x that a mask chooses, and how many they are",
      [](Stream& s, const Reader& r) { compress(s, r.in(0), r.in(1), r.out(0), r.out(1)); });
  add("expand", "compact", "x mask", "y count", "", "the elements of y that a mask chooses = those of x in turn",
      [](Stream& s, const Reader& r) { expand(s, r.in(0), r.in(1), r.out(0), r.out(1)); });
  add("nonzero", "compact", "x", "y count", "", "indices of the elements that are not zero, and how many they are",
      [](Stream& s, const Reader& r) { nonzero(s, r.in(0), r.out(0), r.out(1)); });

  // ---- scan
  for (const std::string_view name : kScanOps) {
    const auto op = static_cast<ScanKind>(std::ranges::find(kScanOps, name) - std::begin(kScanOps));
    const auto options = [](const Reader& r) {
      return ScanOptions{.reverse = r.flag("reverse"), .exclusive = r.flag("exclusive")};
    };
    add(
        "scan_" + std::string(name), "scan", "x", "y", "axis:integer=-1 reverse:integer=0 exclusive:integer=0",
        std::format("{} of each element with all before it along an axis", name),
        [=](Stream& s, const Reader& r) { scan(s, op, r.in(0), r.out(0), r.small("axis"), options(r)); });
  }

  // ---- reduce
  for (const std::string_view name : kReduceOps) {
    const auto op = static_cast<ReduceKind>(std::ranges::find(kReduceOps, name) - std::begin(kReduceOps));
    add("reduce_" + std::string(name), "reduce", "x", "y", "axes:integers", std::format("{} over axes", name),
        [op](Stream& s, const Reader& r) { reduce(s, op, r.in(0), r.out(0), r.integers("axes")); });
  }

  for (const auto op : {ReduceKind::variance, ReduceKind::deviation}) {
    add(
        op == ReduceKind::variance ? "variance" : "deviation", "reduce", "x", "y", "axes:integers correction:number=0",
        op == ReduceKind::variance ? "variance over axes" : "standard deviation over axes",
        [op](Stream& s, const Reader& r) {
          reduce(s, op, r.in(0), r.out(0), r.integers("axes"), r.number("correction"));
        });
  }
  for (const auto op : {ArgKind::min, ArgKind::max}) {
    add(
        op == ArgKind::min ? "argmin" : "argmax", "reduce", "x", "y", "axes:integers",
        std::format("index over axes of the {} element", op == ArgKind::min ? "least" : "greatest"),
        [op](Stream& s, const Reader& r) { arg_reduce(s, op, r.in(0), r.out(0), r.integers("axes")); });
  }

  // ---- softmax, norm
  add("softmax", "softmax", "x", "y", "axis:integer=-1", "softmax along an axis",
      [](Stream& s, const Reader& r) { softmax(s, r.in(0), r.out(0), r.small("axis")); });
  add("log_softmax", "softmax", "x", "y", "axis:integer=-1", "logarithm of softmax along an axis",
      [](Stream& s, const Reader& r) { log_softmax(s, r.in(0), r.out(0), r.small("axis")); });
  add(
      "layer_norm", "norm", "x scale? bias?", "y", "first_axis:integer=-1 epsilon:number=1e-5",
      "layer norm over the axes from first_axis on",
      [](Stream& s, const Reader& r) {
        layer_norm(s, r.in(0), r.maybe(1), r.maybe(2), r.out(0), r.small("first_axis"),
                   static_cast<float>(r.number("epsilon")));
      });
  const auto epsilon = [](const Reader& r) { return static_cast<float>(r.number("epsilon")); };
  add(
      "rms_norm", "norm", "x scale?", "y", "first_axis:integer=-1 epsilon:number=1e-5",
      "RMS norm over the axes from first_axis on",
      [=](Stream& s, const Reader& r) {
        rms_norm(s, r.in(0), r.maybe(1), r.out(0), r.small("first_axis"), epsilon(r));
      });
  add(
      "group_norm", "norm", "x scale? bias?", "y", "groups:integer channel_axis:integer=1 epsilon:number=1e-5",
      "norm over each sample's groups of channels",
      [=](Stream& s, const Reader& r) {
        group_norm(s, r.in(0), r.maybe(1), r.maybe(2), r.out(0), r.small("channel_axis"), r.integer("groups"),
                   epsilon(r));
      });
  add("instance_norm", "norm", "x scale? bias?", "y", "channel_axis:integer=1 epsilon:number=1e-5",
      "norm over each sample's channels", [=](Stream& s, const Reader& r) {
        instance_norm(s, r.in(0), r.maybe(1), r.maybe(2), r.out(0), r.small("channel_axis"), epsilon(r));
      });
  add("batch_norm", "norm", "x mean variance scale? bias?", "y", "channel_axis:integer=1 epsilon:number=1e-5",
      "norm of channels by given means and variances", [=](Stream& s, const Reader& r) {
        batch_norm(s, r.in(0), r.in(1), r.in(2), r.maybe(3), r.maybe(4), r.out(0), r.small("channel_axis"), epsilon(r));
      });

  // ---- random
  add("random_bits", "random", "key", "y", "", "the bits of a key's stream",
      [](Stream& s, const Reader& r) { random_bits(s, r.in(0), r.out(0)); });
  add("random_uniform", "random", "key", "y", "low:number=0 high:number=1", "numbers uniform in [low, high)",
      [](Stream& s, const Reader& r) {
        random_uniform(s, r.in(0), static_cast<float>(r.number("low")), static_cast<float>(r.number("high")), r.out(0));
      });
  add("random_normal", "random", "key", "y", "mean:number=0 deviation:number=1", "normal numbers",
      [](Stream& s, const Reader& r) {
        random_normal(s, r.in(0), static_cast<float>(r.number("mean")), static_cast<float>(r.number("deviation")),
                      r.out(0));
      });
  add("random_integers", "random", "key", "y", "low:integer=0 high:integer", "integers uniform in [low, high)",
      [](Stream& s, const Reader& r) { random_integers(s, r.in(0), r.integer("low"), r.integer("high"), r.out(0)); });

  // ---- sort
  const auto order = [](const Reader& r) { return SortOptions{r.small("axis"), r.flag("descending")}; };
  add("sort", "sort", "x", "values? indices?", "axis:integer=-1 descending:integer=0",
      "x in order along an axis, and where its elements stood",
      [=](Stream& s, const Reader& r) { sort(s, r.in(0), r.maybe_out(0), r.maybe_out(1), order(r)); });
  const auto best = [](const Reader& r) { return TopKOptions{r.small("axis"), r.flag("largest")}; };
  add("top_k", "sort", "x", "values? indices?", "axis:integer=-1 largest:integer=1",
      "the first elements that sorting along an axis gives, and where they stood",
      [=](Stream& s, const Reader& r) { top_k(s, r.in(0), r.maybe_out(0), r.maybe_out(1), best(r)); });

  // ---- matmul, attention
  add("matmul", "matmul", "a b", "y", "", "matrix product of the last two axes, the others broadcast",
      [](Stream& s, const Reader& r) { matmul(s, r.in(0), r.in(1), r.out(0), {}); });
  const auto seen = [](const Reader& r) {
    return AttentionOptions{.scale = static_cast<float>(r.number("scale")),
                            .causal = r.flag("causal"),
                            .window_left = r.integer("window_left"),
                            .window_right = r.integer("window_right"),
                            .top_left = r.flag("top_left"),
                            .empty_is_nan = r.flag("empty_is_nan")};
  };
  const auto lengths = [](const Reader& r) { return AttentionLengths{r.maybe(4), r.maybe(5)}; };
  add("attention", "attention", "q k v mask? query_lengths? key_lengths?", "y",
      "scale:number=1 causal:integer=0 window_left:integer=-1 window_right:integer=-1 top_left:integer=0 "
      "empty_is_nan:integer=0",
      "softmax(scale q k^T + mask) v without a score matrix",
      [=](Stream& s, const Reader& r) {
        attention(s, r.in(0), r.in(1), r.in(2), r.maybe(3), r.out(0), seen(r), lengths(r));
      });

  const auto named = [&](std::string_view other, std::string_view name) {
    std::string& names = std::ranges::find(rows, name, &KernelInfo::name)->other_names;
    names += (names.empty() ? "" : " ") + std::string(other);
  };
  for (const auto& [other, op] : other_names()) named(other, weft::name(op));
  for (const auto& [other, name] : kOtherNames) named(other, name);
  return rows;
}

const std::vector<KernelInfo>& rows() {
  static const std::vector<KernelInfo> all = make_rows();
  return all;
}

// Forms of kernels that have names of their own: their calls are calls of the kernel with something given.
std::vector<KernelInfo> make_forms() {
  const auto form = [](std::string_view of, std::string name, std::string summary) {
    KernelInfo info = *std::ranges::find(rows(), of, &KernelInfo::name);
    info.name = std::move(name);
    info.summary = std::move(summary);
    info.other_names.clear();
    return info;
  };
  std::vector<KernelInfo> forms;
  for (const std::string_view part : kTriangles) {
    KernelInfo info = form("triangle", part == "lower" ? "tril" : "triu",
                           std::format("x (without it: 1) in the {} triangle, else 0", part));
    info.attributes = "diagonal:integer=0";
    info.run = [part, whole = info.run](Stream& s, const Arguments& a) {
      Arguments given = a;
      given.attributes.insert_or_assign("part", std::string(part));
      whole(s, given);
    };
    forms.push_back(std::move(info));
  }
  KernelInfo argsort = form("sort", "argsort", "where the elements of x stand that are in order along an axis");
  argsort.outputs = "indices";
  const auto indices_alone = [](auto whole) {
    return [whole](Stream& s, const Arguments& a) {
      const View outputs[] = {View(), a.outputs[0]};
      Arguments given = a;
      given.outputs = outputs;
      return whole(s, given);
    };
  };
  argsort.run = indices_alone(argsort.run);
  forms.push_back(std::move(argsort));
  return forms;
}

// Every name that find() knows.
const std::map<std::string, const KernelInfo*, std::less<>>& by_name() {
  static const std::vector<KernelInfo> forms = make_forms();
  static const auto all = [] {
    std::map<std::string, const KernelInfo*, std::less<>> names;
    for (const auto* list : {&rows(), &forms}) {
      for (const KernelInfo& k : *list) names.emplace(k.name, &k);
    }
    // After the forms, whose names stand there too.
    for (const KernelInfo& k : rows()) {
      for (const std::string& other : words(k.other_names)) names.emplace(other, &k);
    }
    return names;
  }();
  return all;
}

// Edits that turn one name into the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> line(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) line[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = line[0];
    line[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = line[j];
      line[j] = std::min({line[j] + 1, line[j - 1] + 1, changed});
    }
  }
  return line.back();
}

const KernelInfo& row(std::string_view name) {
  if (const KernelInfo* info = find(name)) return *info;
  const auto nearest =
      std::ranges::min_element(by_name(), {}, [&](const auto& known) { return distance(name, known.first); });
  // A name that shares less than half of its letters is no advice.
  const bool near = distance(name, nearest->first) <= std::max<std::size_t>(name.size() / 2, 1);
  throw InvalidArgument("there is no kernel '{}'; {}", name,
                        near ? std::format("the nearest name is '{}'", nearest->first) : "`weft kernels` lists them");
}

void check_operands(const KernelInfo& k, std::string_view what, const std::string& declared,
                    std::span<const View> given) {
  std::size_t least = 0, most = 0;
  for (const std::string& word : words(declared)) {
    ++most;
    if (word.ends_with("...")) most = ~std::size_t{0} / 2;
    if (!word.ends_with('?')) {
      ++least;
      if (given.size() >= least && !given[least - 1].buffer) {
        throw InvalidArgument("{}: {} {} has no buffer", k.name, what, word);
      }
    }
  }
  if (given.size() >= least && given.size() <= most) return;
  throw InvalidArgument("{}: {} {}s given, expected {}", k.name, given.size(), what,
                        declared.empty() ? "none" : "'" + declared + "'");
}

const KernelInfo& checked(std::string_view name, const Arguments& arguments) {
  const KernelInfo& k = row(name);
  check_operands(k, "input", k.inputs, arguments.inputs);
  check_operands(k, "output", k.outputs, arguments.outputs);
  const auto attributes = words(k.attributes);
  for (const auto& [given, value] : arguments.attributes) {
    const auto known = [&](const std::string& word) { return declared(word).name == given; };
    if (std::ranges::none_of(attributes, known)) {
      throw InvalidArgument("{}: it has no attribute '{}'; it takes {}", k.name, given,
                            k.attributes.empty() ? "none" : "'" + k.attributes + "'");
    }
  }
  for (const std::string& word : attributes) {
    const Declared d = declared(word);
    if (!d.optional && !arguments.attributes.contains(d.name)) {
      throw InvalidArgument("{}: attribute {} ({}) is missing", k.name, d.name, d.kind);
    }
  }
  return k;
}

}  // namespace

std::span<const KernelInfo> table() { return rows(); }

const KernelInfo* find(std::string_view name) {
  const auto found = by_name().find(name);
  return found == by_name().end() ? nullptr : found->second;
}

void call(Stream& stream, std::string_view name, const Arguments& arguments) {
  checked(name, arguments).run(stream, arguments);
}

}  // namespace weft::kernels
