#include "kernels/elementwise/opaque_nodes.h"

#include <algorithm>

#include "kernels/elementwise/scalar_ops.h"

namespace weft::kernels {
namespace {

bool is_zero(const Expression::Node& node) {
  if (node.op != ScalarOp::constant) return false;
  if (node.type == DType::c64) return (node.bits & 0x7fffffff) == 0 || (node.bits >> 32 & 0x7fffffff) == 0;
  if (is_floating(node.type)) return node.bits << (65 - bits(node.type)) == 0;
  return node.bits == 0;
}

// Integers of up to 32 bits with a sign, whose magnitude or negation NVIDIA's compiler loses in what is smaller or
// larger.
bool is_signed_word(DType type) { return is_integer(type) && is_signed(type) && bits(type) <= 32; }

}  // namespace

std::vector<bool> opaque_nodes(const Expression& e, bool reassociates_fp, ExpressionRole role) {
  using enum ScalarOp;
  const auto& nodes = e.nodes();
  const auto is_float = [&](int n) { return is_floating(nodes[n].type) || nodes[n].type == DType::c64; };
  std::vector<bool> known(nodes.size(), false);  // computed from constants only
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    known[i] = nodes[i].op != input &&
               std::ranges::all_of(nodes[i].args, [&](int a) { return a < 0 || known[static_cast<std::size_t>(a)]; });
  }
  const auto is_known = [&](int n) { return known[static_cast<std::size_t>(n)]; };
  // Booleans, and numbers that were made of them.
  const auto is_truth = [&](int n) {
    while (nodes[n].op == cast && nodes[n].type != DType::boolean) n = nodes[n].args[0];
    return nodes[n].type == DType::boolean;
  };
  // Values from which compilers conclude products and quotients: converted integers are neither NaN nor -0, and the
  // product with a truth becomes a selection.
  const auto decides = [&](int n) {
    const Expression::Node& x = nodes[n];
    if (x.op == ScalarOp::select) return is_known(x.args[1]) || is_known(x.args[2]);
    if (x.op != cast) return x.op == constant ? is_zero(x) : is_known(n);
    return x.type == DType::c64 || is_known(n) || is_truth(n);
  };
  const auto shares = [&](const Expression::Node& x, int n) {
    return std::ranges::any_of(nodes[n].args,
                               [&](int a) { return a >= 0 && std::ranges::find(x.args, a) != x.args.end(); });
  };
  const auto has_known = [&](const Expression::Node& x) {
    return std::ranges::any_of(x.args, [&](int a) { return a >= 0 && is_known(a); });
  };
  const auto is_computed = [&](int n) { return info(nodes[n].op).computes(); };
  // By more than a selection or a change of sign.
  const auto by_arithmetic = [&](int n) {
    const ScalarOpInfo& row = info(nodes[n].op);
    return row.facts.arithmetic || row.is_compound() || nodes[n].op == neg;
  };
  std::vector<bool> opaque(nodes.size(), false);
  for (const Expression::Node& node : nodes) {
    const ScalarOpInfo& row = info(node.op);
    for (const int a : node.args) {
      if (a < 0) continue;
      if (is_signed_word(nodes[a].type) && info(nodes[a].op).facts.changes_sign &&
          (row.facts.orders || row.facts.condition || row.yields == Yields::boolean)) {
        opaque[static_cast<std::size_t>(a)] = true;
      }
      if (!is_float(a)) continue;
      const ScalarOp made = nodes[a].op;
      const bool sum = node.op == add || node.op == sub, of_sum = made == add || made == sub || made == neg;
      const bool alike = (sum && of_sum) || (node.op == mul && (made == mul || made == ScalarOp::div || made == neg));
      if ((row.facts.arithmetic && decides(a)) || row.undoes(made) ||
          (alike && (reassociates_fp || (has_known(node) && has_known(nodes[a])))) ||
          ((alike || (sum && made == mul)) && shares(node, a)) || (row.facts.orders && is_computed(a)) ||
          ((row.is_compound() || node.op == neg) && by_arithmetic(a)) ||
          (node.op == sub && node.args[1] == a && by_arithmetic(a)) ||
          (node.op == mul && of_sum && has_known(node) && has_known(nodes[a]))) {
        opaque[static_cast<std::size_t>(a)] = true;
      }
    }
    // NVIDIA's compiler (580) combines known divisors with the factors that correct a quotient, which then correct
    // nothing: multiples of 7 divided by 7 were no integers.
    if (row.facts.divides && is_float(node.args[1]) && is_known(node.args[1])) {
      opaque[static_cast<std::size_t>(node.args[1])] = true;
    }
    // Two products with a common factor.
    if ((node.op == add || node.op == sub) && is_float(node.args[0])) {
      const int x = node.args[0], y = node.args[1];
      if (nodes[x].op == mul && nodes[y].op == mul && shares(nodes[x], y)) opaque[static_cast<std::size_t>(y)] = true;
    }
  }
  for (std::size_t i = 0; i < nodes.size() && computes_operands(role); ++i) {
    const bool computed = nodes[i].op == input && (nodes[i].input == 0 || role == ExpressionRole::inner);
    if (computed && (is_float(static_cast<int>(i)) || is_signed_word(nodes[i].type))) opaque[i] = true;
  }
  if (feeds_compute(role)) {
    for (const int o : e.outputs()) {
      const bool changed = is_signed_word(nodes[o].type) && info(nodes[o].op).facts.changes_sign;
      if ((is_float(o) && is_computed(o)) || changed) opaque[static_cast<std::size_t>(o)] = true;
    }
  }
  return opaque;
}

bool meets_itself(const Expression& e, const Expression::Node& node) {
  if (!info(node.op).facts.cancels_itself || node.args[0] != node.args[1]) return false;
  const DType type = e.nodes()[node.args[0]].type;
  return is_floating(type) || type == DType::c64;
}

}  // namespace weft::kernels
