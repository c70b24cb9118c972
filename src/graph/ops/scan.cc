#include "graph/ops/scan.h"

#include <limits>

#include "core/error_context.h"
#include "graph/graph.h"
#include "graph/op_rows.h"
#include "graph/op_schemas.h"
#include "graph/rules.h"
#include "kernels/common/element_work.h"
#include "kernels/scan/scan.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/kernels/scan.h"

namespace weft {

std::string_view ScanOp::name() const { return kernels::scan_name(a.kind); }

std::vector<TensorType> ScanOp::infer(std::span<const TensorType> in) const {
  // A sum of booleans is no boolean; of what its kernel can store it is i32, as all sums of small integers are.
  const bool counts = in[0].dtype == DType::boolean;
  return {{infer_dtype(name(), {&in[0]}, counts ? std::optional(DType::i32) : std::nullopt), in[0].shape}};
}

void ScanOp::lower(const Launch& call) const {
  kernels::scan(call.stream, a.kind, call.inputs[0], call.outputs[0], a.axis, a.options);
}

Work ScanOp::work(const Launch& call) const {
  const auto elements = static_cast<double>(call.outputs[0].count());
  return with_bytes(call, kernels::work_of(kernels::scan_work(a.kind), elements, nullptr, 0, nullptr));
}

// ---- Derivatives and batching

Tensor beside_zeros(const Tensor& x, const Tensor& factor) {
  if (x.dtype() == DType::c64) return x;
  const double most = x.dtype() == DType::f64 ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  return select(factor == 0, clamp(x, -most, most), x);
}

namespace {

using kernels::ScanKind;

// x[i + by] at i along the axis, and 0 past the end.
Tensor moved_up(const Tensor& x, int axis, std::int64_t by) {
  const std::int64_t n = x.shape()[axis];
  std::vector<std::int64_t> before(static_cast<std::size_t>(x.rank()), 0), after = before;
  after[static_cast<std::size_t>(axis)] = std::min(by, n);
  return pad(slice(x, axis, std::min(by, n), n), before, after);
}

// s with s[i] = b[i] + a[i] s[i + 1], of which a[n - 1] must be 0: as many steps as n has bits, each for elements twice
// as far away. It divides by nothing, and so is exact with zeros, behind which products may be infinite, and
// differentiable any number of times. It is linear in b.
Tensor recurrence(Tensor a, Tensor b, int axis) {
  const std::int64_t n = b.shape()[axis];
  for (std::int64_t by = 1; by < n; by *= 2) {
    b = b + a * beside_zeros(moved_up(b, axis, by), a);
    if (by * 2 >= n) break;
    const Tensor next = moved_up(a, axis, by);
    a = beside_zeros(a, next) * beside_zeros(next, a);
  }
  return b;
}

}  // namespace

Derivatives ScanOp::vjp(const Differentiated& node, std::span<const Tensor> cotangents) const {
  const DType type = node.inputs[0].dtype();
  if (a.kind == ScanKind::sum) {
    return std::vector{
        scan(a.kind, cotangents[0], a.axis, {.reverse = !a.options.reverse, .exclusive = a.options.exclusive})};
  }
  if (node.inputs[0].size() == 0) return std::vector{Tensor()};
  // As of a scan from the first to the last that includes each element itself.
  const auto forward = [&](const Tensor& t) {
    const Tensor wide = accumulated(t);
    return a.options.reverse ? flip(wide, a.axis) : wide;
  };
  const auto given = [&](const Tensor& t) { return std::vector{cast(a.options.reverse ? flip(t, a.axis) : t, type)}; };
  const auto conjugate = [&](const Tensor& t) { return type == DType::c64 ? conj(t) : t; };
  const Tensor x = forward(node.inputs[0]);
  Tensor g = forward(cotangents[0]);
  if (a.options.exclusive) g = moved_up(g, a.axis, 1);
  const auto result = [&] { return a.options.exclusive ? scan(a.kind, x, a.axis) : forward(node.outputs[0]); };
  switch (a.kind) {
    case ScanKind::sum:
      break;
    case ScanKind::prod: {
      // The product before an element, times the sum of cotangents times products from behind it on.
      const Tensor behind = recurrence(moved_up(conjugate(x), a.axis, 1), g, a.axis);
      const auto before = [&](const Tensor& factors) {
        return scan(ScanKind::prod, factors, a.axis, {.exclusive = true});
      };
      const Tensor zero = x == 0, one = Graph::scalar(1, x.dtype()), zeros = before(select(zero, x, one));
      const Tensor factor = conjugate(zeros * beside_zeros(before(select(zero, one, x)), zeros));
      return given(factor * beside_zeros(behind, factor));
    }
    case ScanKind::min:
    case ScanKind::max: {
      // Each result is the last of the equal elements that it may be, as in PyTorch's cummax: an element has the sum of
      // the cotangents up to the next that is a result itself.
      const Tensor chosen = logical_or(equal(x, result()), is_nan(x));
      const Tensor follows = moved_up(cast(logical_not(chosen), x.dtype()), a.axis, 1);
      return given(select(chosen, recurrence(follows, g, a.axis), 0));
    }
    case ScanKind::log_sum_exp: {
      // Sums of g[k] exp(y[i] - y[k]) over k from i on, no factor of which exceeds 1. Infinite results are as those of
      // a running maximum, the last of the equal elements that they may be: exp(-∞) of all before it.
      const Tensor y = result();
      const std::int64_t n = y.shape()[a.axis];
      const Tensor from = slice(y, a.axis, 0, n - 1), to = slice(y, a.axis, 1, n), next = slice(x, a.axis, 1, n);
      const auto number = [&](double v) { return Graph::scalar(v, y.dtype()); };
      const Tensor stays = logical_and(is_inf(to), equal(from, to));
      const Tensor chosen = select(equal(next, to), number(-std::numeric_limits<double>::infinity()), number(0));
      const Tensor ratios = exp(select(stays, chosen, from - to));
      const Tensor shares = exp(select(logical_and(is_inf(y), equal(x, y)), number(0), x - y));
      std::vector<std::int64_t> before(static_cast<std::size_t>(y.rank()), 0), after = before;
      after[static_cast<std::size_t>(a.axis)] = 1;
      return given(shares * recurrence(pad(ratios, before, after), g, a.axis));
    }
  }
  return std::nullopt;
}

Derivatives ScanOp::jvp(const Differentiated&, std::span<const Tensor> t) const {
  if (a.kind != ScanKind::sum) return std::nullopt;
  return std::vector{scan(a.kind, t[0], a.axis, a.options)};
}

std::optional<Batched> ScanOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  return batched(
      apply(make_op<ScanOp>(ScanAttributes{a.kind, a.axis + 1, a.options}), {batch_first(in[0], axes[0], 0)}));
}

std::vector<Tensor> ScanOp::vmap_in_order(const BatchInOrder& batch) const {
  return {apply(make_op<ScanOp>(ScanAttributes{a.kind, 1, a.options}), {along_axis_in_order(batch, 0, a.axis)})};
}

Tensor scan(kernels::ScanKind op, const Operand& x, int axis, const kernels::ScanOptions& options) {
  if (!x.defined()) throw InvalidArgument("scan: the operand is an undefined Tensor");
  return apply(make_op<ScanOp>(ScanAttributes{op, normalize_axis(axis, x.rank(), "scan"), options}), {x});
}

void add_scan_ops(OpRows& rows) {
  using kernels::ScanKind;
  for (const ScanKind kind : {ScanKind::sum, ScanKind::prod, ScanKind::max, ScanKind::min, ScanKind::log_sum_exp}) {
    rows.push_back(op_row<ScanOp>(schema_of_kernel(kernels::scan_name(kind)), {.kind = kind}));
  }
}

Tensor cumsum(const Operand& x, int axis) {
  return in_function("cumsum", [&] { return scan(kernels::ScanKind::sum, x, axis); });
}

}  // namespace weft
