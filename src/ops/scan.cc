#include "ops/scan.h"

#include <limits>

#include "graph/graph.h"
#include "kernels/common/element_work.h"
#include "kernels/scan/scan.h"
#include "ops/function_attributes.h"
#include "ops/function_row.h"
#include "ops/identity.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/rules.h"
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

OpPtr ScanOp::along(int axis) const { return make_op<ScanOp>(ScanAttributes{a.kind, axis, a.options}); }

void ScanOp::lower(const Launch& call) const {
  kernels::scan(call.stream, a.kind, call.inputs[0], call.outputs[0], a.axis, a.options);
}

Work ScanOp::work(const Launch& call) const {
  const auto elements = static_cast<double>(call.outputs[0].count());
  return with_bytes(call, kernels::work_of(kernels::scan_work(a.kind), elements, nullptr, 0, nullptr));
}

// ---- Derivatives and batching

namespace {

// The derivatives of such a product are such products.
class ProductOfZeros final : public CustomDerivative {
 public:
  ProductOfZeros() { results = 1; }
  Derivatives vjp(const Differentiated& call, std::span<const Tensor> g) const override {
    std::vector<Tensor> all(2);
    if (!g[0].defined()) return all;
    for (std::size_t i = 0; i < 2; ++i) {
      if (call.wanted[i]) all[i] = zeros_absorbing_product(g[0], call.inputs[1 - i]);
    }
    return all;
  }
  Derivatives jvp(const Differentiated& call, std::span<const Tensor> t) const override {
    Tensor sum;
    for (std::size_t i = 0; i < 2; ++i) {
      if (!t[i].defined()) continue;
      const Tensor term = zeros_absorbing_product(t[i], call.inputs[1 - i]);
      sum = sum.defined() ? sum + term : term;
    }
    return std::vector{sum};
  }
};

}  // namespace

Tensor zeros_absorbing_product(const Tensor& a, const Tensor& b) {
  const Tensor product = a * b;
  if (a.dtype() == DType::c64) return product;
  static const auto derivative = std::make_shared<const ProductOfZeros>();
  const Tensor indefinite = logical_and(is_nan(product), logical_not(logical_or(is_nan(a), is_nan(b))));
  return with_derivative(derivative, std::vector{select(indefinite, 0, product)}, std::vector{a, b})[0];
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
    b = b + zeros_absorbing_product(a, moved_up(b, axis, by));
    if (by * 2 >= n) break;
    a = zeros_absorbing_product(a, moved_up(a, axis, by));
  }
  return b;
}

// The derivative of a scan, as of one from the first to the last that includes each element itself: of its results y
// and tangents t of x, y'[i] = own[i] t[i] + kept[i] y'[i - 1], with kept[0] = 0.
struct Steps {
  Tensor own, kept;
};

Steps steps(ScanKind kind, const Tensor& x, const Tensor& y, int axis) {
  const std::int64_t n = x.shape()[axis];
  const auto number = [&](double v) { return Graph::scalar(v, x.dtype()); };
  // Of each element but the first one, in front of which there is nothing.
  const auto behind_nothing = [&](const Tensor& t) {
    std::vector<std::int64_t> before(static_cast<std::size_t>(x.rank()), 0), after = before;
    before[static_cast<std::size_t>(axis)] = 1;
    return pad(t, before, after);
  };
  const auto later = [&](const Tensor& t) { return slice(t, axis, 1, n); };
  switch (kind) {
    case ScanKind::sum:
      break;
    case ScanKind::prod: {
      // Zeros are multiplied by themselves, so that the product of the others may be infinite.
      const auto before = [&](const Tensor& factors) { return scan(kind, factors, axis, {.exclusive = true}); };
      const Tensor zero = x == 0, one = number(1), zeros = before(select(zero, x, one));
      return {zeros_absorbing_product(zeros, before(select(zero, one, x))), behind_nothing(later(x))};
    }
    case ScanKind::min:
    case ScanKind::max: {
      // Each result is the last of the equal elements that it may be, as in PyTorch's cummax.
      const Tensor chosen = cast(logical_or(equal(x, y), is_nan(x)), x.dtype());
      return {chosen, behind_nothing(later(1 - chosen))};
    }
    case ScanKind::log_sum_exp: {
      // No share exceeds 1. Infinite results are as those of a running maximum: the last of the equal elements has all.
      const Tensor from = slice(y, axis, 0, n - 1), to = later(y);
      const Tensor stays = logical_and(is_inf(to), equal(from, to));
      const Tensor last = select(equal(later(x), to), number(-std::numeric_limits<double>::infinity()), number(0));
      const Tensor same = logical_and(is_inf(y), equal(x, y));
      return {exp(select(same, number(0), x - y)), behind_nothing(exp(select(stays, last, from - to)))};
    }
  }
  throw InternalError("a scan of sums has no steps");
}

// x and y as of such a scan, what belongs to them, and back. Of an exclusive one the last element is nobody's, and the
// first result a constant.
class Inclusive {
 public:
  Inclusive(const ScanAttributes& a, const Tensor& x, const Tensor& y)
      : a_(a), type_(x.dtype()), n_(x.shape()[a.axis] - (a.options.exclusive ? 1 : 0)) {
    steps_ = steps(a.kind, of_x(x), of_y(y), a.axis);
  }
  Tensor of_x(const Tensor& t) const { return slice(turned(accumulated(t)), a_.axis, 0, n_); }
  Tensor of_y(const Tensor& t) const {
    const std::int64_t first = a_.options.exclusive ? 1 : 0;
    return slice(turned(accumulated(t)), a_.axis, first, n_ + first);
  }
  Tensor as_x(const Tensor& t) const { return given(t, false); }
  Tensor as_y(const Tensor& t) const { return given(t, true); }
  const Steps& derivative() const { return steps_; }

 private:
  Tensor turned(const Tensor& t) const { return a_.options.reverse ? flip(t, a_.axis) : t; }
  Tensor given(const Tensor& t, bool in_front) const {
    Tensor whole = t;
    if (a_.options.exclusive) {
      std::vector<std::int64_t> before(static_cast<std::size_t>(t.rank()), 0), after = before;
      (in_front ? before : after)[static_cast<std::size_t>(a_.axis)] = 1;
      whole = pad(t, before, after);
    }
    return cast(turned(whole), type_);
  }

  const ScanAttributes& a_;
  DType type_;
  std::int64_t n_;
  Steps steps_;
};

// Without elements, or of one by an exclusive scan.
bool is_constant(const ScanAttributes& a, const Differentiated& node) {
  const Tensor& x = node.inputs[0];
  return x.size() == 0 || (a.options.exclusive && x.shape()[a.axis] == 1);
}

}  // namespace

Derivatives ScanOp::vjp(const Differentiated& node, std::span<const Tensor> cotangents) const {
  if (a.kind == ScanKind::sum) {
    return std::vector{
        scan(a.kind, cotangents[0], a.axis, {.reverse = !a.options.reverse, .exclusive = a.options.exclusive})};
  }
  if (is_constant(a, node)) return std::vector{Tensor()};
  const Inclusive whole(a, node.inputs[0], node.outputs[0]);
  const auto conjugate = [](const Tensor& t) { return t.dtype() == DType::c64 ? conj(t) : t; };
  const Tensor own = conjugate(whole.derivative().own), kept = conjugate(whole.derivative().kept);
  const Tensor sums = recurrence(moved_up(kept, a.axis, 1), whole.of_y(cotangents[0]), a.axis);
  return std::vector{whole.as_x(zeros_absorbing_product(own, sums))};
}

Derivatives ScanOp::jvp(const Differentiated& node, std::span<const Tensor> t) const {
  if (a.kind == ScanKind::sum) return std::vector{scan(a.kind, t[0], a.axis, a.options)};
  if (is_constant(a, node)) return std::vector{Tensor()};
  const Inclusive whole(a, node.inputs[0], node.outputs[0]);
  const auto& [own, kept] = whole.derivative();
  const Tensor first = zeros_absorbing_product(own, whole.of_x(t[0]));
  return std::vector{whole.as_y(flip(recurrence(flip(kept, a.axis), flip(first, a.axis), a.axis), a.axis))};
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

namespace {

constexpr std::string_view kScanType = "x's type; bool: i32";

// The errors of the C++ function name the operation, and so it does not call this.
struct ScanFunctionAttributes {
  ScanKind op = ScanKind::sum;
  int axis = -1;
  kernels::ScanOptions options = {};
  void fields(AttributeVisitor& v) {
    v("op", op, ScanKind::sum, kernels::kScanKinds, "what the elements are combined by");
    v("axis", axis, -1, "the axis along which it goes");
    options.fields(v);
  }
};
constexpr Function kScan = {
    {.name = "scan",
     .operands = {{"x"}},
     .results = {{"y", "x's shape", kScanType}},
     .formula = "y[i] = op(x[0], …, x[i])",
     .summary = "each element combined with all before it along an axis"},
    [](const Tensor& x, const ScanFunctionAttributes& a) { return scan(a.op, x, a.axis, a.options); }};

constexpr Function kCumsum = {{.name = "cumsum",
                               .operands = {{"x"}},
                               .results = {{"y", "x's shape", kScanType}},
                               .formula = "y[i] = x[0] + … + x[i]",
                               .summary = "the running sum along an axis"},
                              [](const Tensor& x, const AxisAttributes& a) { return scan(ScanKind::sum, x, a.axis); }};

}  // namespace

Tensor cumsum(const Operand& x, int axis) { return kCumsum(x, {axis}); }

void add_scan_functions(FunctionRows& rows) { rows.add(kScan, kCumsum); }

}  // namespace weft
