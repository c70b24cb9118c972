#include "ops/elementwise.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "core/error_context.h"
#include "core/format.h"
#include "core/in_quotes.h"
#include "graph/graph.h"
#include "graph/leaf.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/scalar_ops.h"
#include "ops/function_row.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/promotion.h"
#include "weft/error.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/table.h"

namespace weft {
namespace {

// Wide regions keep their labels short.
constexpr int kShown = 6;

Tensor map(Expression expression, std::vector<Tensor> inputs) {
  return apply(make_op<ElementwiseOp>(std::move(expression)), std::move(inputs));
}

void require_value(const Tensor& v, std::string_view op) {
  if (!v.defined()) throw InvalidArgument("{}: an operand is an undefined Tensor", op);
}

// What `make` returns, made once: nodes of one scalar operation need no expressions of their own.
using SharedOp = std::atomic<const OpPtr*>;
template <class Make>
const OpPtr& shared(SharedOp& slot, const Make& make) {
  if (const OpPtr* made = slot.load(std::memory_order_acquire)) return *made;
  auto mine = std::make_unique<const OpPtr>(make_op<ElementwiseOp>(make()));
  const OpPtr* theirs = nullptr;
  if (slot.compare_exchange_strong(theirs, mine.get(), std::memory_order_acq_rel)) return *mine.release();
  return *theirs;
}

// The op of one scalar operation on operands of one type.
const OpPtr& shared_op(ScalarOp op, DType dtype) {
  static std::array<SharedOp, static_cast<std::size_t>(kScalarOpCount) * kDTypeCount> all{};
  SharedOp& slot = all[static_cast<std::size_t>(op) * kDTypeCount + static_cast<std::size_t>(dtype)];
  return shared(slot, [&] {
    Expression e;
    std::array<int, 3> args{};
    const int count = arity(op), first = kernels::info(op).first_value();
    for (int i = 0; i < count; ++i) {
      args[static_cast<std::size_t>(i)] = e.input(i < first ? DType::boolean : dtype);
    }
    e.output(e.apply(op, std::span(args).first(static_cast<std::size_t>(count))));
    return e;
  });
}

const OpPtr& shared_cast(DType from, DType to) {
  static std::array<SharedOp, std::size_t{kDTypeCount} * kDTypeCount> all{};
  return shared(all[static_cast<std::size_t>(from) * kDTypeCount + static_cast<std::size_t>(to)], [&] {
    Expression e;
    e.output(e.cast(e.input(from), to));
    return e;
  });
}

// The type in which an operation computes operands of this common type.
DType computed_in(ScalarOp op, DType common) {
  const unsigned types = kernels::info(op).types, given = kernels::type_set(common);
  if (types & given) return common;
  if (types == kernels::kBool) return DType::boolean;
  if (types & kernels::kFloat && given & (kernels::kInteger | kernels::kBool) && !(types & kernels::kInteger)) {
    return DType::f32;
  }
  return common;  // which the operation refuses
}

void require_type(ScalarOp op, DType type) {
  const unsigned types = kernels::info(op).types;
  if (types & kernels::type_set(type)) return;
  throw TypeError("{} takes {}, got {}{}", name(op), kernels::type_names(types), weft::name(type),
                  type == DType::boolean ? "; logical_or, logical_and, logical_xor and logical_not take bool" : "");
}

// What the comparison of a tensor of integers with an integer outside of their type's range gives for every element;
// none: it is another operation, or in the range.
std::optional<bool> decided(ScalarOp op, std::span<const TensorLike* const> operands) {
  if (operands.size() != 2) return std::nullopt;
  const bool left = !operands[0]->tensor();  // the number is on the left
  const TensorLike &x = *operands[left ? 1 : 0], &n = *operands[left ? 0 : 1];
  if (!x.tensor() || n.tensor() || n.kind() != DTypeKind::signed_integer || !is_integer(x.tensor()->dtype()) ||
      fits(n.number(), x.tensor()->dtype())) {
    return std::nullopt;
  }
  const bool first_is_less = (n.number().value() > 0) != left;
  switch (kernels::info(op).facts.relation) {
    case kernels::Relation::none:
      return std::nullopt;
    case kernels::Relation::less:
    case kernels::Relation::less_equal:
      return first_is_less;
    case kernels::Relation::greater:
    case kernels::Relation::greater_equal:
      return !first_is_less;
    case kernels::Relation::equal:
      return false;
    case kernels::Relation::not_equal:
      return true;
  }
  return std::nullopt;
}

Tensor apply_to(ScalarOp op, std::span<const TensorLike* const> operands) {
  for (const TensorLike* x : operands) {
    if (x->tensor()) require_value(*x->tensor(), name(op));
  }
  if (const auto every = decided(op, operands)) {
    const Tensor& x = *operands[operands[0]->tensor() ? 0 : 1]->tensor();
    return broadcast_to(Graph::scalar(*every, DType::boolean), x.shape());
  }
  const DType dtype = computed_in(op, result_type_for(name(op), operands));
  require_type(op, dtype);
  std::array<Tensor, 3> tensors;
  for (std::size_t i = 0; i < operands.size(); ++i) tensors.at(i) = as_tensor(name(op), *operands[i], dtype);
  return apply(shared_op(op, dtype), std::span<const Tensor>(tensors).first(operands.size()));
}

Work elementwise_work(Work w, const Expression& expression, const Launch& call) {
  w.flops = static_cast<double>(call.outputs[0].count()) * expression.operation_count();
  w.functions = static_cast<double>(call.outputs[0].count()) * expression.cost();
  return w;
}

// Broadcasts, and when that fails names the operation, which `op` returns.
template <class Op>
Shape joined(const Op& op, const Shape& a, const Shape& b) {
  try {
    return broadcast(a, b);
  } catch (const InvalidArgument& e) {
    throw ShapeError("{}: {}", op(), e.what());
  }
}

}  // namespace

namespace {

// An expression whose last inputs are numbers that grow along the result's axes.
class IndexedMapOp final : public Op {
 public:
  IndexedMapOp(Expression expression, std::vector<kernels::Virtual> ramps, std::string label)
      : expression_(std::move(expression)), ramps_(std::move(ramps)), label_(std::move(label)) {}
  std::string_view name() const override { return "map"; }
  std::vector<TensorType> infer(std::span<const TensorType>) const override {
    throw InternalError("map: the shape of what is computed from indices is that of its result");
  }
  void lower(const Launch& call) const override {
    kernels::map(call.stream, expression_, call.inputs, ramps_, call.outputs);
  }
  PreparedCall prepared(const Launch& call) const override {
    return kernels::prepared_map(expression_, call.inputs, ramps_, call.outputs);
  }
  bool works_in_place(std::size_t) const override { return true; }
  Work work(const Launch& call) const override { return elementwise_work(Op::work(call), expression_, call); }
  std::string label(std::span<const TensorType>) const override { return label_; }

 private:
  Expression expression_;
  std::vector<kernels::Virtual> ramps_;
  std::string label_;
};

}  // namespace

std::string operations(const Expression& expression) {
  std::string s;
  int count = 0;
  for (const Expression::Node& node : expression.nodes()) {
    if (kernels::info(node.op).leaf()) continue;
    if (++count > kShown) return s + "+…";
    s += (s.empty() ? "" : "+") + std::string(weft::name(node.op));
  }
  return s.empty() ? "copy" : s;
}

std::string operations_around(std::string_view name, const std::optional<Expression>& before,
                              const std::optional<Expression>& after) {
  std::string s(name);
  if (before) s = operations(*before) + "+" + s;
  if (after) s += "+" + operations(*after);
  return s;
}

OpPtr copy_op(DType dtype) {
  Expression e;
  e.output(e.input(dtype));
  return make_op<ElementwiseOp>(std::move(e));
}

std::vector<TensorType> ElementwiseOp::infer(std::span<const TensorType> inputs) const {
  const auto op = [&] { return inputs.empty() ? std::string("map") : operations(a.expression); };
  if (static_cast<int>(inputs.size()) != a.expression.input_count()) {
    throw InvalidArgument("{}: {} operands for an expression of {}", op(), inputs.size(), a.expression.input_count());
  }
  if (a.expression.outputs().empty()) throw InvalidArgument("{}: the expression has no result", op());
  Shape shape = inputs.empty() ? Shape() : inputs[0].shape;
  for (const TensorType& t : inputs) shape = joined(op, shape, t.shape);
  for (const Expression::Node& node : a.expression.nodes()) {
    if (node.op == ScalarOp::input && inputs[node.input].dtype != node.type) {
      throw TypeError("{}: operand {} is {}, the expression takes {}", op(), node.input,
                      weft::name(inputs[node.input].dtype), weft::name(node.type));
    }
  }
  std::vector<TensorType> results;
  results.reserve(a.expression.outputs().size());
  for (std::size_t i = 0; i < a.expression.outputs().size(); ++i) {
    results.push_back({a.expression.output_type(static_cast<int>(i)), shape});
  }
  return results;
}

OpPtr ElementwiseOp::with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                                std::span<const DType> results) const {
  Expression e;
  const std::vector<int> values = splice(e, a.expression, converted_inputs(e, to, from));
  const std::int64_t size = element_count(infer(from)[0].shape);
  for (std::size_t k = 0; k < values.size(); ++k) {
    const bool large = std::ranges::any_of(
        to, [&](const TensorType& t) { return t.dtype == results[k] && element_count(t.shape) == size; });
    e.output(large ? e.cast(values[k], results[k]) : values[k]);
  }
  return make_op<ElementwiseOp>(std::move(e));
}

void ElementwiseOp::lower(const Launch& call) const {
  kernels::map(call.stream, a.expression, call.inputs, call.outputs);
}

PreparedCall ElementwiseOp::prepared(const Launch& call) const {
  return kernels::prepared_map(a.expression, call.inputs, {}, call.outputs);
}

std::string ElementwiseOp::label(std::span<const TensorType>) const { return operations(a.expression); }

Tensor unary(ScalarOp op, const Operand& x) {
  require_value(x, name(op));
  if (kernels::info(op).facts.rounds_to_integer && is_integer(x.dtype())) return x;
  const DType type = computed_in(op, x.dtype());
  require_type(op, type);
  return apply(shared_op(op, type), {cast(x, type)});
}

Work ElementwiseOp::work(const Launch& call) const { return elementwise_work(Op::work(call), a.expression, call); }

OpPtr ElementwiseOp::with_iotas(std::span<const std::optional<Placement>> operands, const Shape& result) const {
  // Inputs in memory first, as the kernel takes them.
  Expression e;
  std::vector<int> values(operands.size());
  std::vector<kernels::Virtual> ramps;
  std::vector<DType> types(operands.size());
  for (const Expression::Node& node : a.expression.nodes()) {
    if (node.op == ScalarOp::input) types[static_cast<std::size_t>(node.input)] = node.type;
  }
  for (const bool computed : {false, true}) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].has_value() != computed) continue;
      if (computed && types[i] != DType::i32) return nullptr;  // kernels count in 32 bits
      values[i] = e.input(types[i]);
      if (!computed) continue;
      const Layout layout = operands[i]->layout.broadcast_to(result);
      ramps.push_back({DType::i32, static_cast<std::uint32_t>(operands[i]->offset), layout.strides});
    }
  }
  for (const int y : splice(e, a.expression, values)) e.output(y);
  return make_op<IndexedMapOp>(std::move(e), std::move(ramps), label({}));
}

Tensor binary(ScalarOp op, const TensorLike& a, const TensorLike& b) {
  const std::array operands{&a, &b};
  return apply_to(op, operands);
}

Tensor ternary(ScalarOp op, const TensorLike& a, const TensorLike& b, const TensorLike& c) {
  if (op == ScalarOp::select) {
    if (!a.tensor()) throw TypeError("select: the condition is a number, expected a tensor of bool");
    return select(*a.tensor(), b, c);
  }
  const std::array operands{&a, &b, &c};
  return apply_to(op, operands);
}

Tensor elementwise(std::string_view name, std::span<const Tensor> operands, std::span<const double> parameters) {
  std::vector<DType> types;
  for (const Tensor& v : operands) {
    require_value(v, name);
    types.push_back(v.dtype());
  }
  return in_function(
      name, [&] { return map(function_expression(name, types, parameters), {operands.begin(), operands.end()}); });
}

Tensor elementwise(std::string_view name, std::initializer_list<Tensor> operands,
                   std::initializer_list<double> parameters) {
  return elementwise(name, std::span(operands.begin(), operands.size()),
                     std::span(parameters.begin(), parameters.size()));
}

Tensor select(const Operand& condition, const TensorLike& if_true, const TensorLike& if_false) {
  const std::array operands{&if_true, &if_false};
  require_value(condition, "select");
  for (const TensorLike* x : operands) {
    if (x->tensor()) require_value(*x->tensor(), "select");
  }
  if (condition.dtype() != DType::boolean) {
    throw TypeError("select: the condition is {}, expected bool", to_string(condition.type()));
  }
  const DType dtype = result_type_for("select", operands);
  return apply(shared_op(ScalarOp::select, dtype),
               {condition, as_tensor("select", if_true, dtype), as_tensor("select", if_false, dtype)});
}

namespace {

constexpr std::string_view kCommonShape = "the operands' common shape", kCommonType = "the common type";
constexpr std::string_view kTypeOfOp = "as the function of that name";

struct CastAttributes {
  DType dtype = DType::f32;
  void fields(AttributeVisitor& v) { v("dtype", dtype, "the type of the result"); }
};
constexpr Function kCast = {
    {.name = "cast",
     .operands = {{"x"}},
     .results = {{"y", "x's shape", "dtype"}},
     .formula = "y = x",
     .summary = "x converted to another type, as the kernel copy does it"},
    [](const Tensor& x, const CastAttributes& a) {
      if (x.dtype() == a.dtype) return x;
      // Numbers, and what is about to be one, change at once.
      if (const ConstantOp* c = constant_op(x); c && x.rank() == 0) {
        const auto value = c->scalar();
        const bool integers = is_integer(x.dtype()) && is_integer(a.dtype);
        // Integers wrap, as the kernel does it.
        if (value && integers && bits(a.dtype) >= 8) {
          return number_constant(a.dtype, *value < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(*value))
                                                     : static_cast<std::uint64_t>(*value));
        }
        if (value && !integers) return Graph::scalar(*value, a.dtype);
      }
      return apply(shared_cast(x.dtype(), a.dtype), {x});
    }};

constexpr std::string_view kGelus[] = {"erf", "tanh", "quick"};
struct GeluAttributes {
  Gelu form = Gelu::erf;
  void fields(AttributeVisitor& v) {
    v("form", form, Gelu::erf, kGelus,
      "the exact one, or its approximation by tanh or by x · sigmoid(1.702 x) (quick)");
  }
};
constexpr Function kGelu = {
    {.name = "gelu",
     .operands = {{"x"}},
     .results = {{"y", "x's shape", "x's type; integers and bool: f32"}},
     .formula = "y = x / 2 · (1 + erf(x / √2))",
     .summary = "the Gaussian error linear unit: x times the probability that a normal number is below x"},
    [](const Tensor& x, const GeluAttributes& a) {
      switch (a.form) {
        case Gelu::erf:
          return unary(ScalarOp::gelu_erf, x);
        case Gelu::tanh:
          return unary(ScalarOp::gelu_tanh, x);
        case Gelu::quick:
          return unary(ScalarOp::gelu_quick, x);
      }
      throw InvalidArgument("gelu: {} is none of its forms", static_cast<int>(a.form));
    }};

constexpr Function kMaximum = {{.name = "maximum",
                                .operands = {{"a"}, {"b"}},
                                .results = {{"y", kCommonShape, kCommonType}},
                                .formula = "y = max(a, b)",
                                .summary = "the greater; NaN if one is NaN"},
                               [](const TensorLike& a, const TensorLike& b) { return maximum(a, b); }};
constexpr Function kMinimum = {{.name = "minimum",
                                .operands = {{"a"}, {"b"}},
                                .results = {{"y", kCommonShape, kCommonType}},
                                .formula = "y = min(a, b)",
                                .summary = "the lesser; NaN if one is NaN"},
                               [](const TensorLike& a, const TensorLike& b) { return minimum(a, b); }};

// ---- Any operation by its name. The C++ functions take what stands for a name here, and their errors name that; so
// they do not call these.

struct ScalarOpAttributes {
  std::string op = {};
  void fields(AttributeVisitor& v) { v("op", op, "the operation's name, as weft/expression.h has it"); }

  ScalarOp of(int operands) const {
    const std::optional<ScalarOp> found = scalar_op(op);
    if (found && *found != ScalarOp::cast && arity(*found) == operands) return *found;
    throw InvalidArgument("op is {}, expected the name of an operation on {} operand{}", in_quotes(op), operands,
                          operands == 1 ? "" : "s");
  }
};
constexpr Function kUnary = {{.name = "unary",
                              .operands = {{"x"}},
                              .results = {{"y", "x's shape", kTypeOfOp}},
                              .formula = "y = op(x)",
                              .summary = "the function that op names, of each element"},
                             [](const Tensor& x, const ScalarOpAttributes& a) { return unary(a.of(1), x); }};
constexpr Function kBinary = {{.name = "binary",
                               .operands = {{"a"}, {"b"}},
                               .results = {{"y", kCommonShape, kTypeOfOp}},
                               .formula = "y = op(a, b)",
                               .summary = "the function that op names, of each pair of elements"},
                              [](const TensorLike& a, const TensorLike& b, const ScalarOpAttributes& attributes) {
                                return binary(attributes.of(2), a, b);
                              }};
constexpr Function kTernary = {{.name = "ternary",
                                .operands = {{"a"}, {"b"}, {"c"}},
                                .results = {{"y", kCommonShape, kTypeOfOp}},
                                .formula = "y = op(a, b, c)",
                                .summary = "the function that op names, of each triple of elements"},
                               [](const TensorLike& a, const TensorLike& b, const TensorLike& c,
                                  const ScalarOpAttributes& attributes) { return ternary(attributes.of(3), a, b, c); }};

struct NamedAttributes {
  std::string name = {};
  std::vector<double> parameters = {};
  void fields(AttributeVisitor& v) {
    v("name", name, "the function's name");
    v("parameters", parameters, {}, "its parameters; those that are left out at the end have their defaults");
  }
};
constexpr Function kElementwise = {
    {.name = "elementwise",
     .operands = {{.name = "operands", .arity = Arity::repeated}},
     .results = {{"y", kCommonShape, "as the function of that name; nothing is promoted"}},
     .formula = "y = name(operands…)",
     .summary = "any function of weft/expressions.h, by its name"},
    [](std::span<const Tensor> operands, const NamedAttributes& a) {
      return elementwise(a.name, operands, a.parameters);
    }};

}  // namespace

Tensor cast(const Operand& x, DType dtype) { return kCast(x, {dtype}); }

Tensor gelu(const Operand& x, Gelu form) { return kGelu(x, {form}); }

void add_elementwise_functions(FunctionRows& rows) {
  rows.add(kCast, kGelu, kMaximum, kMinimum, kUnary, kBinary, kTernary, kElementwise);
}

namespace {

// The type of an elementwise function's result, documentation only.
std::string result_type_text(const Schema& kernel) {
  const std::optional<ScalarOp> op = scalar_op(kernel.name);
  const std::string same = kernel.inputs.size() == 1 ? "x's type" : "the common type";
  if (!op) return same;
  const kernels::ScalarOpInfo& f = kernels::info(*op);
  if (f.yields == kernels::Yields::boolean || f.types == kernels::kBool) return "bool";
  if (f.yields == kernels::Yields::complex || (f.types == kernels::kComplex && f.yields == kernels::Yields::same)) {
    return "c64";
  }
  if (f.types == kernels::kComplex) return "f32";
  std::string text = same;
  if (f.facts.rounds_to_integer)
    text += "; bool: f32";
  else if (!(f.types & kernels::kInteger))
    text += "; integers and bool: f32";
  if (f.yields == kernels::Yields::real && f.types & kernels::kComplex) text += "; c64: f32";
  return text;
}

// The function of that name, of operands of any types that it promotes.
std::vector<Tensor> call_function(std::string_view name, std::span<const Tensor> v, const AttributeMap& given) {
  const std::optional<ScalarOp> op = scalar_op(name);
  if (op && arity(*op) == 1) return {unary(*op, v[0])};
  if (op && arity(*op) == 2) return {binary(*op, v[0], v[1])};
  if (op && arity(*op) == 3) return {ternary(*op, v[0], v[1], v[2])};
  std::vector<double> parameters;
  for (const AttributeSchema& a : op_schema(name).attributes) {
    parameters.push_back(std::get<Number>(given.find(a.name)->second).value());
  }
  return {elementwise(name, v, parameters)};
}

}  // namespace

void add_elementwise_ops(OpRows& rows) {
  rows.push_back(op_row<ElementwiseOp>(
      {.name = "map",
       .family = "elementwise",
       .summary = "an expression of each element of operands that broadcast",
       .formula = "y = expression(operands…)",
       .inputs = {{.name = "operands", .arity = Arity::repeated, .shape = "any that broadcast"}},
       .outputs = {{.name = "y", .arity = Arity::repeated, .shape = "the operands' common shape"}},
       .signatures = {{types::any, types::any}}},
      MapAttributes{}));
  for (const kernels::KernelInfo& k : kernels::table()) {
    if (k.family != "elementwise" || k.name == "map") continue;
    OpRow row{.schema = schema_of_kernel(k.name, {}, result_type_text(k)), .make = {}};
    row.call = [name = k.name](std::span<const Tensor> operands, const AttributeMap& given) {
      return call_function(name, operands, given);
    };
    rows.push_back(std::move(row));
  }
}

}  // namespace weft
