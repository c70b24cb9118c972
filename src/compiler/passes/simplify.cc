#include "compiler/passes/simplify.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "compiler/evaluate.h"
#include "compiler/expressions.h"
#include "compiler/rewrite.h"
#include "compiler/terms.h"
#include "kernels/elementwise/scalar_ops.h"
#include "ops/elementwise.h"

namespace weft::compiler {
namespace {

using enum ScalarOp;
using Step = Expression::Node;

int mantissa_bits(DType type) {
  switch (type) {
    case DType::f64:
      return 53;
    case DType::f32:
      return 24;
    case DType::f16:
      return 11;
    case DType::bf16:
      return 8;
    case DType::f8e4m3:
      return 4;
    case DType::f8e5m2:
      return 3;
    default:
      return 0;
  }
}

// True if `to` can represent every value of `from`, and a cast between the two preserves them.
bool holds(DType to, DType from) {
  if (from == to) return true;
  if (from == DType::boolean) return to != DType::c64;
  if (to == DType::boolean || from == DType::c64 || to == DType::c64) return false;
  if (is_floating(from)) {
    if (from == DType::f16 || from == DType::bf16) return to == DType::f32 || to == DType::f64;
    if (from == DType::f32) return to == DType::f64;
    if (from == DType::f8e4m3 || from == DType::f8e5m2) {
      return to == DType::f16 || to == DType::bf16 || to == DType::f32 || to == DType::f64;
    }
    return false;
  }
  const int magnitude = bits(from) - (is_signed(from) ? 1 : 0);
  if (is_floating(to)) {
    return magnitude <= mantissa_bits(to) && to != DType::f8e4m3 && to != DType::f8e5m2 && to != DType::f16;
  }
  if (is_signed(from) && !is_signed(to)) return false;
  return magnitude <= bits(to) - (is_signed(to) ? 1 : 0);
}

// An expression under construction that omits superfluous operations.
class Simplifier {
 public:
  Expression run(const Expression& from) {
    for (const Step& node : from.nodes()) {
      if (node.op == input)
        made_.push_back(to_.input(node.type));
      else
        made_.push_back(-1);
    }
    for (std::size_t i = 0; i < from.nodes().size(); ++i) {
      if (made_[i] < 0) made_[i] = make(from.nodes()[i]);
    }
    for (const int o : from.outputs()) to_.output(made_[o]);
    // An omitted operation may have been the only reader of another.
    return to_;
  }

 private:
  const Step& at(int n) const { return to_.nodes()[n]; }
  std::optional<double> number(int n) const { return compiler::number(at(n)); }
  bool is(int n, double value) const {
    const auto x = number(n);
    if (x) return *x == value && std::signbit(*x) == std::signbit(value);
    // Integers are compared by their bits.
    const Step& node = at(n);
    return node.op == constant && is_integer(node.type) && value >= 0 && node.bits == static_cast<std::uint64_t>(value);
  }
  int put(const Step& node) { return nodes_.put(node); }

  int make(Step node) {
    for (int& a : node.args) {
      if (a >= 0) a = made_[a];
    }
    if (node.op == constant) return put(node);
    if (const auto folded = fold(node)) return *folded;
    const auto [a, b, c] = node.args;
    const bool floats = is_floating(node.type);
    const kernels::ScalarFacts& facts = kernels::info(node.op).facts;
    if (facts.neutral && is(b, *facts.neutral)) return a;
    if (facts.neutral && facts.commutative && is(a, *facts.neutral)) return b;
    if (facts.idempotent && (b < 0 ? at(a).op == node.op : a == b)) return a;
    if (facts.involution && at(a).op == node.op) return at(a).args[0];
    switch (node.op) {
      case ScalarOp::cast:
        return make_cast(node);
      case ScalarOp::div:
        if (const auto inverse = exact_inverse(b)) {
          return put({.op = mul, .type = node.type, .args = {a, *inverse, -1}});
        }
        break;
      case ScalarOp::pow:
        if (floats && is(b, 2)) return put({.op = square, .type = node.type, .args = {a, -1, -1}});
        break;
      case ScalarOp::abs:
        if (floats && at(a).op == neg) {
          return put({.op = ScalarOp::abs, .type = node.type, .args = {at(a).args[0], -1, -1}});
        }
        break;
      case ScalarOp::select:
        if (b == c) return b;
        if (at(a).op == constant) return at(a).bits ? b : c;
        if (at(a).op == logical_not) {
          return put({.op = ScalarOp::select, .type = node.type, .args = {at(a).args[0], c, b}});
        }
        if (is(b, 1) && is(c, 0.0) && node.type != DType::c64) return to_.cast(a, node.type);
        break;
      default:
        break;
    }
    return put(node);
  }

  // A cast of a cast, if the type in between loses nothing and both ways give the same result.
  int make_cast(const Step& node) {
    const int a = node.args[0];
    if (at(a).type == node.type) return to_.round(a);
    if (at(a).op == ScalarOp::cast) {
      const int x = at(a).args[0];
      const DType from = at(x).type, between = at(a).type;
      // A cast from float to integer saturates, from integer to integer wraps.
      const bool detour = is_integer(from) && is_floating(between) && is_integer(node.type) && !holds(node.type, from);
      // Narrow floats are rounded by casts, so a narrow float that was computed here must keep its own cast.
      const ScalarOp maker = at(x).op;
      const bool rounded =
          !is_floating(from) || bits(from) >= 32 || maker == input || maker == constant || maker == ScalarOp::cast;
      if (holds(between, from) && !detour && rounded) return from == node.type ? x : to_.cast(x, node.type);
    }
    return put(node);
  }

  // 1 / x as a number, if multiplying by it is exactly dividing by x: a power of two with a normal inverse.
  std::optional<int> exact_inverse(int n) {
    const auto x = number(n);
    if (at(n).type != DType::f32 || !x || *x == 0 || !std::isfinite(*x)) return std::nullopt;
    int exponent = 0;
    if (std::abs(std::frexp(*x, &exponent)) != 0.5 || std::abs(exponent) > 120) return std::nullopt;
    return put({.op = constant, .type = DType::f32, .bits = std::bit_cast<std::uint32_t>(static_cast<float>(1 / *x))});
  }

  // An operation on numbers alone, computed as on the CPU.
  std::optional<int> fold(const Step& node) {
    // Narrow floats are not rounded between operations, so they are left as they are.
    if (node.type == DType::c64 || bits(node.type) < 8 || (is_floating(node.type) && bits(node.type) < 32)) {
      return std::nullopt;
    }
    Expression e;
    Step alone = node;  // on numbers of its own expression
    for (int i = 0; i < arity(node.op); ++i) {
      const Step& arg = at(node.args[i]);
      if (arg.op != constant) return std::nullopt;
      alone.args[i] = e.append(arg);
    }
    // An input that is not read gives the CPU's kernel its shape.
    e.input(DType::u8);
    e.output(e.append(alone));
    const std::byte nothing{};
    const TensorData shape = TensorData::copy_of(DType::u8, {}, std::span(&nothing, 1));
    const TensorData value = evaluate(ElementwiseOp(e), std::span(&shape, 1))[0];
    std::uint64_t bits = 0;
    std::memcpy(&bits, value.bytes.data(), value.bytes.size());
    return put({.op = constant, .type = node.type, .bits = bits});
  }

  Expression to_;
  SharedNodes nodes_{to_};
  std::vector<int> made_;
};

// The expression without nodes that no output needs; inputs are kept.
Expression live(const Expression& from) {
  const auto& nodes = from.nodes();
  std::vector<char> needed(nodes.size(), 0);
  for (const int o : from.outputs()) needed[o] = 1;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    for (const int a : nodes[i].args) {
      if (needed[i] && a >= 0) needed[a] = 1;
    }
  }
  Expression to;
  std::vector<int> made(nodes.size(), -1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Step node = nodes[i];
    if (!needed[i] && node.op != input) continue;
    for (int& a : node.args) {
      if (a >= 0) a = made[a];
    }
    made[i] = to.append(node);
  }
  for (const int o : from.outputs()) to.output(made[o]);
  return to;
}

// The result of a Map, without operands that are not read and, if it does nothing, without the Map.
Tensor simplified_map(Rewriter& r, const Node& node, const Expression& own) {
  const Expression e = simplified(own);
  std::vector<char> read(node.inputs().size(), 0);
  for (const Step& n : e.nodes()) {
    for (const int a : n.args) {
      if (a >= 0 && e.nodes()[a].op == input) read[e.nodes()[a].input] = 1;
    }
  }
  for (const int o : e.outputs()) {
    if (e.nodes()[o].op == input) read[e.nodes()[o].input] = 1;
  }
  const Step& result = e.nodes()[e.outputs()[0]];
  if (result.op == input) {
    const Tensor x = node.inputs()[result.input];
    if (x.shape() == node.types()[0].shape) return r.at(x);
  }
  // The operands that remain must still give the result its shape.
  Shape shape;
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (read[i]) shape = broadcast(shape, node.inputs()[i].shape());
  }
  const bool all = std::ranges::all_of(read, [](char c) { return c != 0; });
  if (all || shape != node.types()[0].shape || std::ranges::none_of(read, [](char c) { return c != 0; })) {
    return e == own ? Tensor() : apply(make_op<ElementwiseOp>(e), r.at(node.inputs()));
  }
  Region fewer;
  std::vector<int> args;
  const int unread = -1;
  for (std::size_t i = 0; i < read.size(); ++i) {
    args.push_back(read[i] ? fewer.add_input(r.at(node.inputs()[i])) : unread);
  }
  return fewer.node(e, args);
}

}  // namespace

Expression simplified(const Expression& expression) { return live(Simplifier().run(expression)); }

Graph simplify(const Graph& graph, const PassContext&) {
  Rewriter r(graph);
  return r.run([&](const Node& node) -> Tensor {
    if (node.types().size() != 1) return {};
    if (const Expression* e = node.op().elementwise()) return simplified_map(r, node, *e);
    return node.op().rewriting().simplified(r.at(node.inputs()));
  });
}

}  // namespace weft::compiler
