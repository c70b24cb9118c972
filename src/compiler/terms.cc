#include "compiler/terms.h"

#include <bit>
#include <set>
#include <tuple>

#include "core/visits.h"
#include "graph/leaf.h"
#include "weft/small_float.h"

namespace weft::compiler {
namespace {

const Expression& expression(const Node& map) { return *map.op().elementwise(); }

// The sizes that are not 1, in order.
std::vector<std::int64_t> sizes(const Shape& shape) {
  std::vector<std::int64_t> list;
  for (const std::int64_t n : shape) {
    if (n != 1) list.push_back(n);
  }
  return list;
}

}  // namespace

bool is_plain(const Node& node, OpPattern pattern) {
  return node.op().pattern() == pattern && node.op().to_string() == node.op().name();
}

std::optional<double> number(const Expression::Node& node) {
  if (node.op != ScalarOp::constant) return std::nullopt;
  switch (node.type) {
    case DType::f32:
      return std::bit_cast<float>(static_cast<std::uint32_t>(node.bits));
    case DType::f64:
      return std::bit_cast<double>(node.bits);
    case DType::f16:
      return static_cast<float>(float16::from_bits(static_cast<std::uint16_t>(node.bits)));
    case DType::bf16:
      return static_cast<float>(bfloat16::from_bits(static_cast<std::uint16_t>(node.bits)));
    default:
      return std::nullopt;
  }
}

Term::Term(const Tensor& v) { enter(v); }

Term::Term(const Node* map, int node) : map_(map), node_(node) {
  const Expression::Node& n = at();
  if (n.op == ScalarOp::input) enter(map->inputs()[n.input]);
}

void Term::enter(const Tensor& v) {
  count_visits();
  value_ = v;
  map_ = nullptr;
  node_ = -1;
  if (!v.node()->op().elementwise()) return;
  const Expression& e = expression(*v.node());
  const int output = e.outputs()[v.index()];
  // A Map that only copies may broadcast, so that its operand is another value.
  if (e.nodes()[output].op == ScalarOp::input) return;
  map_ = v.node();
  node_ = output;
}

const Expression::Node& Term::at() const { return expression(*map_).nodes()[node_]; }

std::optional<ScalarOp> Term::op() const { return map_ ? std::optional(at().op) : std::nullopt; }

Term Term::arg(int i) const { return {map_, at().args[i]}; }

std::optional<double> Term::number() const {
  if (map_) return compiler::number(at());
  const ConstantOp* constant = constant_op(value_);
  return constant ? constant->scalar() : std::nullopt;
}

bool Term::operator==(const Term& other) const {
  // A pair of terms is compared once, however many paths lead to it; formulas that passes recognise are much smaller
  // than the limit.
  constexpr int kMostPairs = 256;
  const auto order = [](const Term& a, const Term& b) { return std::tuple(a.map_, a.node_, b.map_, b.node_); };
  std::set<decltype(order(*this, other))> seen;
  std::vector<std::pair<Term, Term>> open{{*this, other}};
  for (int pairs = 0; !open.empty(); ++pairs) {
    const auto [x, y] = std::move(open.back());
    open.pop_back();
    if (x.map_ == y.map_ && x.node_ == y.node_) {
      if (x.map_ || same(x.value_, y.value_)) continue;
      return false;
    }
    if (!x.map_ || !y.map_ || pairs == kMostPairs) return false;
    const Expression::Node& a = x.at();
    const Expression::Node& b = y.at();
    if (a.op != b.op || a.type != b.type || a.bits != b.bits) return false;
    if (!seen.insert(order(x, y)).second) continue;
    for (int i = 0; i < arity(a.op); ++i) open.emplace_back(x.arg(i), y.arg(i));
  }
  return true;
}

const Node* spread_reduction(Tensor v, const Shape& shape) {
  while (is(v, OpPattern::broadcast)) v = input_of(v);
  const Shape spread = v.shape();
  while (is(v, OpPattern::reshape)) v = input_of(v);
  const auto reduction = v.node()->op().reduction();
  if (!reduction) return nullptr;
  const Tensor x = input_of(v);
  if (x.shape() != shape) return nullptr;
  Shape ones = shape;
  for (const int axis : reduction->axes) ones[axis] = 1;
  // NumPy's broadcast inserts sizes of 1 in front.
  Shape padded = spread;
  while (padded.rank() < ones.rank()) padded.insert(0, 1);
  return padded == ones && sizes(v.shape()) == sizes(ones) ? v.node() : nullptr;
}

}  // namespace weft::compiler
