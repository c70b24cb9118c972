#include "kernels/elementwise/expression_wgsl.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/str_cat.h"
#include "kernels/accessors.h"
#include "kernels/elementwise/narrow_forms.h"
#include "kernels/elementwise/scalar_ops.h"
#include "kernels/elementwise/value_wgsl.h"
#include "kernels/elementwise/wgsl_tree.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

using Id = WgslTree::Id;

std::string_view op_text(const ScalarOpInfo& row, char family) {
  switch (family) {
    case 'c':
      return row.c64;
    case 'f':
      return row.f32;
    case 'i':
      return row.i32.empty() ? row.f32 : row.i32;
    case 'u':
      return !row.u32.empty() ? row.u32 : op_text(row, 'i');
    case 'l':
      return row.i64;
    default:
      return row.u64.empty() ? row.i64 : row.u64;
  }
}

// The table's text of an operation on that type; `short_form`: of the one for narrow floats.
std::string_view op_text(const ScalarOpInfo& row, DType type, bool short_form) {
  if (type == DType::boolean && !row.facts.bool_text.empty()) return row.facts.bool_text;
  if (const NarrowTexts* texts = row.facts.narrow_texts) {
    switch (type) {
      case DType::f16:
        return texts->f16;
      case DType::bf16:
        return texts->bf16;
      case DType::f8e4m3:
        return texts->f8e4m3;
      case DType::f8e5m2:
        return texts->f8e5m2;
      default:
        break;
    }
  }
  return short_form ? row.narrow : op_text(row, wgsl_family(type));
}

std::vector<bool> live_nodes(const Expression& e) {
  std::vector<bool> live(e.nodes().size(), false);
  for (int o : e.outputs()) live[o] = true;
  for (int i = static_cast<int>(live.size()) - 1; i >= 0; --i) {
    if (!live[i]) continue;
    for (int a : e.nodes()[i].args) {
      if (a >= 0) live[a] = true;
    }
  }
  return live;
}

// A comparison with a constant float that holds for an interval of one sign up to infinity, by the other operand's
// bits, which excludes NaN in fewer operations. (NVIDIA's comparisons, 580.159, are right about NaN by themselves, but
// not as conditions of a selection: x <= c ? a : x.)
struct BitInterval {
  int operand;
  std::uint32_t first, count;
};

std::optional<BitInterval> interval_of(const Expression& e, const Expression::Node& node) {
  using enum Relation;
  const Relation relation = info(node.op).facts.relation;
  if (relation == none || relation == equal || relation == not_equal) return {};
  if (wgsl_family(e.nodes()[node.args[0]].type) != 'f') return {};
  const int known = e.nodes()[node.args[1]].op == ScalarOp::constant ? 1 : 0;
  const Expression::Node& limit = e.nodes()[node.args[known]];
  if (limit.op != ScalarOp::constant) return {};
  const float c = constant_f32(limit);
  const bool below = (relation == less || relation == less_equal) == (known == 1);
  const bool itself = relation == less_equal || relation == greater_equal;
  const bool outwards = below ? c < 0 : c > 0;  // away from zero
  if (!std::isfinite(c) || !(outwards || (c == 0 && !itself))) return {};
  const std::uint32_t zero = below ? 0x80000000u : 0u;
  const std::uint32_t first = (std::bit_cast<std::uint32_t>(std::abs(c)) | zero) + (itself ? 0 : 1);
  return BitInterval{1 - known, first, (zero | 0x7f800000u) - first + 1};
}

// The values of an expression's nodes, each of which its function computes in a statement of its own.
struct Values {
  WgslTree tree;
  std::vector<Id> of;  // -1: no output needs the node
};

// The node's value, of the values of earlier nodes. `computed`: the type for which it is computed.
Id node_wgsl(WgslTree& t, const Expression& e, const Expression::Node& node, DType computed) {
  if (node.op == ScalarOp::input) return t.input(node.input);
  if (node.op == ScalarOp::constant) return constant_wgsl(t, node);
  const auto& nodes = e.nodes();
  if (node.op == ScalarOp::cast) return converted(t, nodes[node.args[0]].type, node.type, t.value(node.args[0]));

  const ScalarOpInfo& row = info(node.op);
  const DType type = nodes[node.args[row.arity - 1]].type;
  std::array<Id, 3> operands{-1, -1, -1};
  for (std::size_t k = 0; k < static_cast<std::size_t>(row.arity); ++k) operands[k] = t.value(node.args[k]);
  if (meets_itself(e, node)) operands[0] = hidden(t, type, operands[0]);
  if (const auto interval = interval_of(e, node)) {
    const Id x = operands[static_cast<std::size_t>(interval->operand)];
    return t.call("u32", {t.call("is_among_f32", {x, t.hex(interval->first), t.hex(interval->count)})});
  }
  const std::string_view narrow = narrow_function(node, computed);
  const Id made = t.parse(op_text(row, type, !narrow.empty()), operands, bits(type));
  if (!narrow.empty()) t.rename(t.call_of(made, narrow, "_narrow"), narrow, narrow_suffix(e, node, computed));
  return is_integer(type) && bits(type) < 32 && !row.keeps_width() ? wrapped(t, type, t.group(made)) : made;
}

// Casts to narrow floats that are only stored are left to the store, which rounds.
Values node_values(const Expression& e, ExpressionRole role, bool reassociates_fp) {
  const auto& nodes = e.nodes();
  const std::vector<bool> live = live_nodes(e);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto is_f64 = [&](int a) { return a >= 0 && nodes[static_cast<std::size_t>(a)].type == DType::f64; };
    if (live[i] && nodes[i].op != ScalarOp::cast && std::ranges::any_of(nodes[i].args, is_f64)) {
      refuse_f64(weft::name(nodes[i].op));
    }
  }
  std::vector<bool> rounds(nodes.size(), feeds_compute(role));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!live[i]) continue;
    for (int a : nodes[i].args) {
      if (a >= 0) rounds[a] = true;
    }
  }
  const std::vector<bool> opaque = opaque_nodes(e, reassociates_fp, role);
  const std::vector<DType> types = computed_for(e);
  Values values;
  values.of.assign(nodes.size(), -1);
  values.tree.reserve(nodes.size() * 6);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!live[i]) continue;
    const Expression::Node& node = nodes[i];
    const bool half = node.type == DType::f16;
    const bool narrows = node.op == ScalarOp::cast && is_floating(node.type) && bits(node.type) < 32;
    const DType from = narrows ? nodes[node.args[0]].type : node.type;
    WgslTree& t = values.tree;
    Id& value = values.of[i];
    if (narrows && !half && !rounds[i] && casts_by_f32(from, node.type)) {
      value = converted(t, from, DType::f32, t.value(node.args[0]));
      continue;
    }
    value = node_wgsl(t, e, node, types[i]);
    if (node.op == ScalarOp::cast && half && rounds[i]) keep_half_rounding(t, value);
    if (opaque[i]) value = hidden(t, node.type, value);
  }
  return values;
}

// The test of x for the slow path.
Id far_test(WgslTree& t, const FastPathForm& form, Id x) {
  if (!form.test_suffix.empty()) return t.call(form.name, form.test_suffix, {x});
  return t.call("is_beyond_f32", {x, t.name(form.name, form.limit_suffix)});
}

void print_let(std::string& text, const WgslTree& tree, std::size_t node, Id value) {
  str_append(text, "  let v", node, " = ");
  tree.print(text, value);
  text += ";\n";
}

// The struct of several outputs, or the single output's type.
std::string result_type(const Expression& e, int width, const std::string& struct_name, std::string& declarations) {
  auto type = [&](DType t) {
    return width == 4 ? std::format("vec4<{}>", compute_type(t)) : std::string(compute_type(t));
  };
  if (e.outputs().size() == 1) return type(e.output_type(0));
  declarations += std::format("struct {} {{\n", struct_name);
  for (std::size_t k = 0; k < e.outputs().size(); ++k) {
    declarations += std::format("  y{}: {},\n", k, type(e.output_type(static_cast<int>(k))));
  }
  declarations += "}\n";
  return struct_name;
}

}  // namespace

bool names_opaque_zero(const Expression& e, bool reassociates_fp, ExpressionRole role) {
  const std::vector<bool> opaque = opaque_nodes(e, reassociates_fp, role);
  return std::ranges::find(opaque, true) != opaque.end() || std::ranges::any_of(e.nodes(), [&](const auto& node) {
           const ScalarOpInfo& row = info(node.op);
           if (!row.computes()) {
             return node.op == ScalarOp::cast && (node.type == DType::f16 || node.type == DType::boolean);
           }
           const DType type = e.nodes()[node.args[row.arity - 1]].type;
           return meets_itself(e, node) ||
                  (type == DType::c64 && row.c64.find("p.opaque_zero") != std::string_view::npos);
         });
}

std::string expression_wgsl(const Expression& e, int width, bool reassociates_fp, std::string_view name,
                            ExpressionRole role) {
  if (e.outputs().empty()) throw InvalidArgument("expression: no output is marked");
  const auto& nodes = e.nodes();
  const Values values = node_values(e, role, reassociates_fp);
  std::vector<std::string> types(e.input_count());
  for (const auto& node : nodes) {
    if (node.op == ScalarOp::input) types[node.input] = compute_type(node.type);
  }
  auto signature = [&](std::string_view function, bool vectors, const std::string& result) {
    std::string s = std::format("fn {}(", function);
    for (std::size_t k = 0; k < types.size(); ++k) {
      s += std::format("{}x{}: {}", k ? ", " : "", k, vectors ? std::format("vec4<{}>", types[k]) : types[k]);
    }
    return s + ") -> " + result + " {\n";
  };

  std::string s;
  const bool vectors = width == 4;
  const std::string scalar = vectors ? std::format("{}_1", name) : std::string(name);
  const std::string result = result_type(e, 1, scalar + "_results", s);
  s += signature(scalar, false, result);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (values.of[i] >= 0) print_let(s, values.tree, i, values.of[i]);
  }
  if (e.outputs().size() == 1) {
    s += std::format("  return v{};\n}}\n", e.outputs()[0]);
  } else {
    s += std::format("  return {}(", result);
    for (std::size_t k = 0; k < e.outputs().size(); ++k) s += std::format("{}v{}", k ? ", " : "", e.outputs()[k]);
    s += ");\n}\n";
  }
  if (!vectors) return s;

  // GPUs compute each lane separately anyway: four calls.
  const std::string result4 = result_type(e, 4, std::format("{}_results", name), s);
  s += signature(name, true, result4);
  for (int lane = 0; lane < 4; ++lane) {
    s += std::format("  let r{} = {}(", lane, scalar);
    for (std::size_t k = 0; k < types.size(); ++k) s += std::format("{}x{}[{}]", k ? ", " : "", k, lane);
    s += ");\n";
  }
  auto gather = [&](DType type, std::string_view member) {
    return std::format("vec4<{0}>(r0{1}, r1{1}, r2{1}, r3{1})", compute_type(type), member);
  };
  if (e.outputs().size() == 1) {
    s += std::format("  return {};\n}}\n", gather(e.output_type(0), ""));
  } else {
    s += std::format("  return {}(", result4);
    for (std::size_t k = 0; k < e.outputs().size(); ++k) {
      s += (k ? ", " : "") + gather(e.output_type(static_cast<int>(k)), std::format(".y{}", k));
    }
    s += ");\n}\n";
  }
  return s;
}

bool has_fast_path(const Expression& e, const DeviceForms& device_forms) {
  if (e.outputs().size() != 1) return false;
  const std::vector<DType> types = computed_for(e);
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Expression::Node& node = e.nodes()[i];
    if (reporting_form(node, types[i], device_forms) || fast_path_form(e, node, types[i], device_forms)) return true;
  }
  return false;
}

bool ends_without_ties(const Expression& e) {
  if (e.outputs().size() != 1) return false;
  const Expression::Node& last = e.nodes()[e.outputs()[0]];
  // Roots of sums may be exactly halfway.
  return !narrow_function(last, last.type).empty() && info(last.op).arity == 1;
}

bool needs_no_rounding(const Expression& e) {
  if (e.outputs().size() != 1) return false;
  const DType type = e.output_type(0);
  const auto& nodes = e.nodes();
  std::vector<bool> is_of(nodes.size(), false);  // a value of the type
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Expression::Node& node = nodes[i];
    const ScalarOpInfo& row = info(node.op);
    const auto from_all = [&] {
      return std::all_of(node.args.begin() + row.first_value(), node.args.begin() + row.arity,
                         [&](int a) { return is_of[static_cast<std::size_t>(a)]; });
    };
    if (node.op == ScalarOp::input) {
      is_of[i] = node.type == type;
    } else if (node.op == ScalarOp::constant) {
      is_of[i] = node.type == type || (node.type == DType::f32 && type == DType::bf16 && node.bits << 48 == 0);
    } else if (node.op == ScalarOp::cast) {
      is_of[i] = (node.type == type || node.type == DType::f32) && from_all();
    } else {
      is_of[i] = row.facts.exact && from_all();
    }
  }
  return is_of[static_cast<std::size_t>(e.outputs()[0])];
}

std::string expression_fast_wgsl(const Expression& e, const DeviceForms& device_forms, bool reassociates_fp) {
  const auto& nodes = e.nodes();
  Values values = node_values(e, ExpressionRole::map, reassociates_fp);
  WgslTree& t = values.tree;
  const std::vector<DType> types = computed_for(e);
  std::string body;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Id value = values.of[i];
    if (value < 0) continue;
    if (const std::optional<FastPathForm> form = fast_path_form(e, nodes[i], types[i], device_forms)) {
      t.rename(t.call_of(value, form->name, narrow_suffix(e, nodes[i], types[i])), form->name, form->suffix);
      body += "  *far = *far | ";
      t.print(body, far_test(t, *form, t.value(nodes[i].args[0])));
      body += ";\n";
    }
    if (const std::optional<ReportingForm> form = reporting_form(nodes[i], types[i], device_forms)) {
      const Id call = t.call_of(value, form->name, form->suffix);
      t.rename(call, form->name, form->form_suffix);
      t.add_argument(call, t.name("far"));
    }
    print_let(body, t, i, value);
  }
  std::string one = "fn fast_1(", four = "fn expression_fast(", calls;
  for (int k = 0; k < e.input_count(); ++k) {
    DType type = DType::f32;
    for (const auto& node : nodes) {
      if (node.op == ScalarOp::input && node.input == k) type = node.type;
    }
    one += std::format("x{}: {}, ", k, compute_type(type));
    four += std::format("x{}: vec4<{}>, ", k, compute_type(type));
  }
  const std::string_view result = compute_type(e.output_type(0));
  for (int lane = 0; lane < 4; ++lane) {
    calls += std::format("  let r{} = fast_1(", lane);
    for (int k = 0; k < e.input_count(); ++k) calls += std::format("x{}[{}], ", k, lane);
    calls += "far);\n";
  }
  return std::format(
      "{}far: ptr<function, bool>) -> {} {{\n{}  return v{};\n}}\n"
      "{}far: ptr<function, bool>) -> vec4<{}> {{\n{}  return vec4<{}>(r0, r1, r2, r3);\n}}\n",
      one, result, body, e.outputs()[0], four, result, calls, result);
}

}  // namespace weft::kernels
