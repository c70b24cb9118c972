#include "kernels/elementwise/narrow_forms.h"

#include <algorithm>
#include <cmath>

#include "kernels/elementwise/scalar_ops.h"
#include "kernels/elementwise/value_wgsl.h"

namespace weft::kernels {
namespace {

bool is_narrow_float(DType type) { return is_floating(type) && bits(type) < 32; }

std::string joined(std::string_view name, std::string_view suffix) { return std::string(name).append(suffix); }

// True if the function's arguments may have all of f32's range: bf16 values, unrounded results of the kernel, and those
// that become bf16, which has that range.
bool has_wide_arguments(const Expression& expression, const Expression::Node& node, DType type) {
  if (type == DType::bf16) return true;
  return std::ranges::any_of(node.args, [&](int a) {
    if (a < 0) return false;
    const Expression::Node* x = &expression.nodes()[a];
    if (x->type == DType::f32 && x->op == ScalarOp::cast) x = &expression.nodes()[x->args[0]];
    const bool fewer = is_narrow_float(x->type) && x->type != DType::bf16;
    return !fewer || info(x->op).computes();
  });
}

}  // namespace

std::vector<DType> computed_for(const Expression& e) {
  const auto& nodes = e.nodes();
  std::vector<std::optional<DType>> ends(nodes.size());  // for f32; f32 itself if it is not rounded
  for (const int o : e.outputs()) ends[static_cast<std::size_t>(o)] = DType::f32;
  const auto is_factor = [&](int n) {
    const float c = nodes[n].op == ScalarOp::constant ? std::abs(constant_f32(nodes[n])) : 0;
    return c >= 0x1p-20f && c <= 0x1p20f;
  };
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const Expression::Node& node = nodes[i];
    for (std::size_t k = 0; k < node.args.size() && node.args[k] >= 0; ++k) {
      const bool passes = node.op == ScalarOp::neg || (node.op == ScalarOp::select && k > 0) ||
                          (node.op == ScalarOp::mul && is_factor(node.args[k == 0 ? 1 : 0]));
      const bool rounds = node.op == ScalarOp::cast && is_narrow_float(node.type);
      const DType end = rounds ? node.type : passes && ends[i] ? *ends[i] : DType::f32;
      std::optional<DType>& of = ends[static_cast<std::size_t>(node.args[k])];
      of = !of || *of == end ? end : DType::f32;
    }
  }
  std::vector<DType> types(nodes.size(), DType::f32);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const ScalarOpInfo& row = info(nodes[i].op);
    if (!row.computes()) continue;
    types[i] = nodes[static_cast<std::size_t>(nodes[i].args[row.arity - 1])].type;
    if (types[i] == DType::f32 && nodes[i].type == DType::f32 && !row.narrow.empty()) {
      types[i] = ends[i].value_or(DType::f32);
    }
  }
  return types;
}

std::string_view narrow_function(const Expression::Node& node, DType type) {
  return is_narrow_float(type) ? info(node.op).narrow_name() : std::string_view();
}

std::string_view narrow_suffix(const Expression& expression, const Expression::Node& node, DType type) {
  const std::string_view f = narrow_function(node, type);
  if (has_wide_arguments(expression, node, type) && has_common_form(joined(f, "_wide"))) return "_wide";
  return type == DType::bf16 && has_common_form(joined(f, "_bf16")) ? "_bf16" : "_narrow";
}

std::optional<ReportingForm> reporting_form(const Expression::Node& node, DType type, const DeviceForms& device_forms) {
  const ScalarOpInfo& row = info(node.op);
  if (!row.computes() || !is_floating(node.type)) return {};
  const std::string_view narrow = narrow_function(node, type);
  const ReportingForm r = narrow.empty() ? ReportingForm{row.f32_name(), "_f32", "_fast"}
                                         : ReportingForm{narrow, "_narrow", "_narrow_fast"};
  const std::string form = joined(r.name, r.form_suffix);
  if (!has_device_form(form) || !device_forms(form)) return {};
  return r;
}

std::optional<FastPathForm> fast_path_form(const Expression& expression, const Expression::Node& node, DType type,
                                           const DeviceForms& device_forms) {
  const std::string_view f = narrow_function(node, type);
  if (f.empty()) return {};
  if (device_forms(joined(f, "_narrow"))) {
    if (type == DType::bf16 && has_device_form(joined(f, "_brief"))) {
      return FastPathForm{.name = f, .suffix = "_brief", .test_suffix = "_brief_far"};
    }
    if (has_wide_arguments(expression, node, type) && has_device_form(joined(f, "_wide_far"))) {
      return FastPathForm{.name = f, .suffix = "_narrow", .test_suffix = "_wide_far"};
    }
    if (has_device_form(joined(f, "_narrow"))) return {};
  }
  if (!has_common_form(joined(f, "_fast"))) return {};
  return FastPathForm{.name = f, .suffix = "_fast", .limit_suffix = "_reach"};
}

}  // namespace weft::kernels
