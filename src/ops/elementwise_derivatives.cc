// Derivatives of elementwise work: those of the table of functions (kernels/elementwise/scalar_ops.h), read once.
#include <array>
#include <charconv>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "core/format.h"
#include "graph/leaf.h"
#include "graph/node.h"
#include "kernels/elementwise/scalar_ops.h"
#include "ops/elementwise.h"
#include "ops/rules.h"
#include "weft/error.h"
#include "weft/graph.h"

namespace weft {
namespace {

// A formula of the table: each step is a leaf, or a function of earlier steps. Equal steps are one.
struct Step {
  enum class Kind : std::uint8_t { number, operand, cotangent, result, function };
  Kind kind = Kind::number;
  double number = 0;
  int operand = 0;
  ScalarOp function = ScalarOp::neg;
  std::array<int, 3> args{-1, -1, -1};
  bool operator==(const Step&) const = default;
};
using Formula = std::vector<Step>;

// sum := product (('+' | '-') product)*; product := factor (('*' | '/') factor)*;
// factor := '-' factor | number | $0 | $1 | $2 | $r | $g | name '(' sum (',' sum)* ')' | '(' sum ')'
class FormulaParser {
 public:
  explicit FormulaParser(std::string_view text) : text_(text) {}
  Formula run() {
    const int value = sum();
    if (at_ != text_.size()) fail();
    steps_.push_back(Step(steps_[static_cast<std::size_t>(value)]));  // its value is that of its last step
    if (value + 2 == static_cast<int>(steps_.size())) steps_.pop_back();
    return std::move(steps_);
  }

 private:
  [[noreturn]] void fail() const {
    throw InternalError("the derivative '{}' is none: at character {}", text_, at_ + 1);
  }
  bool accept(char c) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  int step(Step s) {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i] == s) return static_cast<int>(i);
    }
    steps_.push_back(s);
    return static_cast<int>(steps_.size()) - 1;
  }
  int function(ScalarOp op, int a, int b = -1, int c = -1) {
    return step({.kind = Step::Kind::function, .function = op, .args = {a, b, c}});
  }
  int sum() {
    int left = product();
    for (;;) {
      if (accept('+'))
        left = function(ScalarOp::add, left, product());
      else if (accept('-'))
        left = function(ScalarOp::sub, left, product());
      else
        return left;
    }
  }
  int product() {
    int left = factor();
    for (;;) {
      if (accept('*'))
        left = function(ScalarOp::mul, left, factor());
      else if (accept('/'))
        left = function(ScalarOp::div, left, factor());
      else
        return left;
    }
  }
  int factor() {
    if (accept('-')) {
      const int value = factor();
      Step& s = steps_[static_cast<std::size_t>(value)];
      if (s.kind != Step::Kind::number) return function(ScalarOp::neg, value);
      return step({.kind = Step::Kind::number, .number = -s.number});
    }
    if (accept('(')) {
      const int value = sum();
      if (!accept(')')) fail();
      return value;
    }
    if (accept('$')) {
      if (at_ == text_.size()) fail();
      const char c = text_[at_++];
      if (c == 'g') return step({.kind = Step::Kind::cotangent});
      if (c == 'r') return step({.kind = Step::Kind::result});
      if (c < '0' || c > '2') fail();
      return step({.kind = Step::Kind::operand, .operand = c - '0'});
    }
    if (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      double value = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
      if (error != std::errc()) fail();
      at_ = static_cast<std::size_t>(end - text_.data());
      return step({.kind = Step::Kind::number, .number = value});
    }
    const std::size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) fail();
    const auto op = scalar_op(text_.substr(at_, open - at_));
    if (!op) fail();
    at_ = open + 1;
    std::array<int, 3> args{-1, -1, -1};
    for (int i = 0; i < arity(*op); ++i) {
      if (i > 0 && !accept(',')) fail();
      args[static_cast<std::size_t>(i)] = sum();
    }
    if (!accept(')')) fail();
    return step({.kind = Step::Kind::function, .function = *op, .args = args});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Formula steps_;
};

// The derivative for an operand; null: it is 0 wherever there is one.
const Formula* derivative(ScalarOp op, int operand, std::span<const Tensor> operands) {
  // Of each operand, of operand 0 if the others are numbers, and of each of complex numbers.
  static const auto& all = *new auto([] {
    std::array<std::array<std::optional<Formula>, 7>, static_cast<std::size_t>(kScalarOpCount)> formulas;
    for (int i = 0; i < kScalarOpCount; ++i) {
      const auto scalar = static_cast<ScalarOp>(i);
      const kernels::ScalarOpInfo& row = kernels::info(scalar);
      for (std::size_t k = 0; k < 7; ++k) {
        const std::string_view text = k < 3    ? row.derivatives[k]
                                      : k == 3 ? row.facts.derivative_by_numbers
                                               : kernels::complex_derivative(scalar, k - 4);
        if (!text.empty() && text != "0") formulas[static_cast<std::size_t>(i)][k] = FormulaParser(text).run();
      }
    }
    return formulas;
  }());
  const auto& formulas = all[static_cast<std::size_t>(op)];
  const auto is_number = [](const Tensor& x) { return x.rank() == 0 && x.node()->op().constant() != nullptr; };
  if (operand == 0 && formulas[3] && std::ranges::all_of(operands.subspan(1), is_number)) return &*formulas[3];
  const bool is_complex = operands[kernels::info(op).arity - 1].dtype() == DType::c64;
  const auto& formula = formulas[static_cast<std::size_t>(is_complex ? 4 + operand : operand)];
  return formula ? &*formula : nullptr;
}

// Whether the table does not say what it is.
bool has_no_derivative(ScalarOp op, std::size_t operand) { return kernels::info(op).derivatives[operand].empty(); }

Tensor value_of(const Formula& formula, const Tensor& g, std::span<const Tensor> operands, const Tensor& result) {
  std::vector<TensorLike> values;
  values.reserve(formula.size());
  for (const Step& s : formula) {
    const auto arg = [&](int i) -> const TensorLike& {
      return values[static_cast<std::size_t>(s.args[static_cast<std::size_t>(i)])];
    };
    switch (s.kind) {
      case Step::Kind::number:
        values.emplace_back(s.number);
        break;
      case Step::Kind::operand:
        values.emplace_back(operands[static_cast<std::size_t>(s.operand)]);
        break;
      case Step::Kind::cotangent:
        values.emplace_back(g);
        break;
      case Step::Kind::result:
        values.emplace_back(result);
        break;
      case Step::Kind::function:
        if (arity(s.function) == 1)
          values.emplace_back(unary(s.function, *arg(0).tensor()));
        else if (arity(s.function) == 2)
          values.emplace_back(binary(s.function, arg(0), arg(1)));
        else
          values.emplace_back(ternary(s.function, arg(0), arg(1), arg(2)));
        break;
    }
  }
  return *values.back().tensor();
}

// The one operation of an expression, on operand i as its argument i; none: it has several, or others.
const Expression::Node* single(const Expression& e) {
  const auto& nodes = e.nodes();
  const auto inputs = static_cast<std::size_t>(e.input_count());
  if (nodes.size() != inputs + 1 || e.outputs() != std::vector{static_cast<int>(inputs)}) return nullptr;
  for (std::size_t i = 0; i < inputs; ++i) {
    if (nodes[i].input != static_cast<int>(i)) return nullptr;
    if (i < 3 && nodes[inputs].args[i] != static_cast<int>(i)) return nullptr;
  }
  return static_cast<std::size_t>(arity(nodes[inputs].op)) == inputs && inputs > 0 ? &nodes[inputs] : nullptr;
}

// A cotangent that is 0 where a condition hides it: what a selection gives to a branch. Rules are linear in their
// cotangents, so that the selection may come behind them: 0 times an infinite derivative, or NaN, of what is hidden is
// then nobody's derivative, in reverse mode as in forward mode, which selects tangents.
struct Masked {
  Tensor condition;
  bool shown;    // where the condition has this value
  Tensor value;  // elsewhere of no meaning
};

bool is_zero(const Tensor& x) {
  const ConstantOp* c = x.rank() == 0 ? constant_op(x) : nullptr;
  return c && c->scalar() == 0.0;
}

bool same_value(const Tensor& a, const Tensor& b) { return a.node() == b.node() && a.index() == b.index(); }

Tensor shown_by(const Masked& m) { return m.shown ? m.condition : logical_not(m.condition); }

std::optional<Masked> masked(const Tensor& cotangent) {
  const Expression* e = cotangent.node()->op().elementwise();
  const Expression::Node* op = e ? single(*e) : nullptr;
  if (!op || (op->op != ScalarOp::select && op->op != ScalarOp::add)) return std::nullopt;
  std::vector<Tensor> x;
  {
    const std::shared_lock lock(Node::graph_mutex());
    const std::span<const Tensor> inputs = cotangent.node()->inputs();
    x.assign(inputs.begin(), inputs.end());
  }
  if (x.empty()) return std::nullopt;  // it was computed
  if (op->op == ScalarOp::select) {
    if (is_zero(x[2])) return Masked{x[0], true, x[1]};
    if (is_zero(x[1])) return Masked{x[0], false, x[2]};
    return std::nullopt;
  }
  // A sum is hidden where all terms are.
  const auto a = masked(x[0]), b = a ? masked(x[1]) : std::nullopt;
  if (!b) return std::nullopt;
  if (!same_value(a->condition, b->condition)) {
    return Masked{logical_or(shown_by(*a), shown_by(*b)), true, cotangent};
  }
  if (a->shown != b->shown) return std::nullopt;
  return Masked{a->condition, a->shown, a->value + b->value};
}

Tensor with_mask(const Masked& mask, const Tensor& cotangent) {
  if (const auto inner = masked(cotangent)) {
    if (same_value(inner->condition, mask.condition) && inner->shown == mask.shown) return cotangent;
    return select(logical_and(shown_by(mask), shown_by(*inner)), inner->value, 0);
  }
  return mask.shown ? select(mask.condition, cotangent, 0) : select(mask.condition, 0, cotangent);
}

// Functions between complex numbers and floats, which are not differentiable as functions of complex numbers.
struct RealParts {
  ScalarOp op;
  Tensor (*vjp)(const Tensor& g, const Tensor& z, const Tensor& y, int operand);
  Tensor (*jvp)(const Tensor& t, const Tensor& z, const Tensor& y, int operand);
};
Tensor zeros_like_real(const Tensor& g) { return zeros_of({DType::f32, g.shape()}); }
// z / |z|, and 0 of 0.
Tensor direction(const Tensor& z, const Tensor& magnitude) {
  const Tensor zero = equal(magnitude, 0);
  return complex(select(zero, 0, real(z) / magnitude), select(zero, 0, imag(z) / magnitude));
}
Tensor times(const Tensor& z, const Tensor& x) { return complex(real(z) * x, imag(z) * x); }
Tensor turning(const Tensor& z) {  // i z / |z|², and 0 of 0
  const Tensor magnitude = abs(z), zero = equal(magnitude, 0);
  const Tensor d = direction(z, magnitude);
  return complex(select(zero, 0, -imag(d) / magnitude), select(zero, 0, real(d) / magnitude));
}
// The real part of conj(a) b.
Tensor inner(const Tensor& a, const Tensor& b) { return real(a) * real(b) + imag(a) * imag(b); }

constexpr RealParts kRealParts[] = {
    {ScalarOp::real, [](const Tensor& g, const Tensor&, const Tensor&, int) { return complex(g, zeros_like_real(g)); },
     [](const Tensor& t, const Tensor&, const Tensor&, int) { return real(t); }},
    {ScalarOp::imag, [](const Tensor& g, const Tensor&, const Tensor&, int) { return complex(zeros_like_real(g), g); },
     [](const Tensor& t, const Tensor&, const Tensor&, int) { return imag(t); }},
    {ScalarOp::conj, [](const Tensor& g, const Tensor&, const Tensor&, int) { return conj(g); },
     [](const Tensor& t, const Tensor&, const Tensor&, int) { return conj(t); }},
    {ScalarOp::abs, [](const Tensor& g, const Tensor& z, const Tensor& y, int) { return times(direction(z, y), g); },
     [](const Tensor& t, const Tensor& z, const Tensor& y, int) { return inner(direction(z, y), t); }},
    {ScalarOp::angle, [](const Tensor& g, const Tensor& z, const Tensor&, int) { return times(turning(z), g); },
     [](const Tensor& t, const Tensor& z, const Tensor&, int) { return inner(turning(z), t); }},
    {ScalarOp::complex, [](const Tensor& g, const Tensor&, const Tensor&, int i) { return i == 0 ? real(g) : imag(g); },
     [](const Tensor& t, const Tensor&, const Tensor&, int i) {
       const Tensor none = zeros_like_real(t);
       return i == 0 ? complex(t, none) : complex(none, t);
     }},
};

const RealParts* real_parts(ScalarOp op, DType operand) {
  for (const RealParts& r : kRealParts) {
    if (r.op == op && (operand == DType::c64 || op == ScalarOp::complex)) return &r;
  }
  return nullptr;
}

}  // namespace

Tensor times_derivative(const Tensor& cotangent, const Tensor& derivative) {
  const auto mask = masked(cotangent);
  return mask ? with_mask(*mask, mask->value * derivative) : cotangent * derivative;
}

Derivatives ElementwiseOp::vjp(const Differentiated& node, std::span<const Tensor> cotangents) const {
  const Expression::Node* op = single(a.expression);
  if (!op) return std::nullopt;
  std::vector<Tensor> all(node.inputs.size());
  if (!cotangents[0].defined()) return all;
  const auto mask = masked(cotangents[0]);
  const Tensor& g = mask ? mask->value : cotangents[0];
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!node.wanted[i]) continue;
    const Tensor& x = node.inputs[i];
    Tensor made;
    if (op->op == ScalarOp::cast) {
      made = cast(g, x.dtype());
    } else if (const RealParts* parts = real_parts(op->op, x.dtype())) {
      made = parts->vjp(g, x, node.outputs[0], static_cast<int>(i));
    } else if (const Formula* formula = derivative(op->op, static_cast<int>(i), node.inputs)) {
      const bool conjugate = g.dtype() == DType::c64;
      made = value_of(*formula, conjugate ? conj(g) : g, node.inputs, node.outputs[0]);
      if (conjugate) made = conj(made);
    } else if (has_no_derivative(op->op, i)) {
      return std::nullopt;
    } else {
      continue;
    }
    if (mask) made = same_value(made, g) ? cotangents[0] : with_mask(*mask, made);
    all[i] = summed_to(made, x.shape());
  }
  return all;
}

Derivatives ElementwiseOp::jvp(const Differentiated& node, std::span<const Tensor> tangents) const {
  const Expression::Node* op = single(a.expression);
  if (!op) return std::nullopt;
  Tensor sum;
  for (std::size_t i = 0; i < tangents.size(); ++i) {
    const Tensor& t = tangents[i];
    if (!t.defined()) continue;
    if (op->op == ScalarOp::cast) {
      sum = sum_of(sum, cast(t, op->type));
    } else if (const RealParts* parts = real_parts(op->op, node.inputs[i].dtype())) {
      sum = sum_of(sum, parts->jvp(t, node.inputs[i], node.outputs[0], static_cast<int>(i)));
    } else if (const Formula* formula = derivative(op->op, static_cast<int>(i), node.inputs)) {
      sum = sum_of(sum, value_of(*formula, t, node.inputs, node.outputs[0]));
    } else if (has_no_derivative(op->op, i)) {
      return std::nullopt;
    }
  }
  return std::vector{sum.defined() ? broadcast_to(sum, node.outputs[0].shape()) : sum};
}

// A cut at a number has the derivative 0 there, as PyTorch has it for functions that are made of cuts (relu6,
// hardtanh).
std::vector<Tensor> ElementwiseOp::decomposed(std::span<const Tensor> inputs) const {
  if (single(a.expression)) return {};
  std::vector<Tensor> values;
  const auto& nodes = a.expression.nodes();
  const auto is_number = [&](int node) { return nodes[static_cast<std::size_t>(node)].op == ScalarOp::constant; };
  for (const Expression::Node& n : nodes) {
    std::vector<Tensor> args;
    for (int i = 0; i < arity(n.op); ++i) {
      args.push_back(values[static_cast<std::size_t>(n.args[static_cast<std::size_t>(i)])]);
    }
    const auto cut = [&](ScalarOp op, const Tensor& x, const Tensor& bound) {
      return select(op == ScalarOp::max ? less_equal(x, bound) : greater_equal(x, bound), bound, x);
    };
    const bool cuts = (n.op == ScalarOp::min || n.op == ScalarOp::max) && is_number(n.args[0]) != is_number(n.args[1]);
    if (n.op == ScalarOp::input) {
      values.push_back(inputs[static_cast<std::size_t>(n.input)]);
    } else if (n.op == ScalarOp::constant) {
      const auto bytes = std::as_bytes(std::span(&n.bits, 1)).first(byte_size(n.type, 1));
      values.push_back(Graph::constant(TensorData::copy_of(n.type, {}, bytes)));
    } else if (n.op == ScalarOp::cast) {
      values.push_back(cast(args[0], n.type));
    } else if (cuts) {
      const bool first = is_number(n.args[0]);
      values.push_back(cut(n.op, args[first ? 1 : 0], args[first ? 0 : 1]));
    } else if (args.size() == 1) {
      values.push_back(unary(n.op, args[0]));
    } else if (args.size() == 2) {
      values.push_back(binary(n.op, args[0], args[1]));
    } else {
      values.push_back(ternary(n.op, args[0], args[1], args[2]));
    }
  }
  std::vector<TensorType> types;
  for (const Tensor& x : inputs) types.push_back(x.type());
  const std::vector<TensorType> results = infer(types);
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Tensor& value = values[static_cast<std::size_t>(a.expression.outputs()[i])];
    outputs.push_back(broadcast_to(value, results[i].shape));
  }
  return outputs;
}

std::optional<Batched> ElementwiseOp::vmap(std::span<const Tensor> inputs, std::span<const int> axes) const {
  int rank = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) rank = std::max(rank, entry_rank(inputs[i], axes[i]));
  std::vector<Tensor> operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) operands.push_back(batch_broadcast(inputs[i], axes[i], rank));
  const Tensor made = apply(make_op<ElementwiseOp>(a.expression), std::move(operands));
  Batched all;
  for (std::size_t i = 0; i < a.expression.outputs().size(); ++i) {
    all.outputs.push_back(result(made, static_cast<int>(i)));
    all.axes.push_back(0);
  }
  return all;
}

}  // namespace weft
