#include "support/random_graph.h"

#include <cmath>

#include "graph/graph.h"
#include "ops/elementwise.h"
#include "ops/view.h"
#include "support/random_graph_values.h"
#include "weft/array.h"
#include "weft/fft.h"
#include "weft/linalg.h"

namespace weft::test {
namespace {

class Generator : public RandomGraphValues {
 public:
  using RandomGraphValues::RandomGraphValues;

  RandomGraph run() {
    for (int i = 1 + up_to(2); i >= 0; --i) values_.push_back(leaf(shape(up_to(4))));
    for (int i = 4 + up_to(20); i > 0; --i) grow();
    const int outputs = 1 + up_to(5);
    for (int i = 0; i < outputs; ++i) {
      // The last value is always used, otherwise most of the graph would be dead.
      Tensor v = i == 0 ? values_.back() : any();
      if (up_to(4) == 0 && v.rank() >= 2) v = v.T();
      result_.graph.output(std::format("y{}", i), cast(v, DType::f32));
    }
    return std::move(result_);
  }

 private:
  std::vector<int> order(int rank) {
    std::vector<int> o;
    for (int i = 0; i < rank; ++i) o.push_back(i);
    std::shuffle(o.begin(), o.end(), random_);
    return o;
  }

  Tensor elementwise(const Tensor& x) {
    using enum ScalarOp;
    // Only continuous functions: a step would amplify rounding differences.
    static const std::vector<ScalarOp> kUnary = {neg,       abs,        tanh, erf,      sigmoid, relu, gelu_erf,
                                                 gelu_tanh, gelu_quick, silu, softplus, sin,     cos,  square};
    // Functions of positive numbers that are not small.
    static const std::vector<ScalarOp> kPositive = {sqrt, rsqrt, reciprocal, log, log2};
    static const std::vector<ScalarOp> kBinary = {add, add, sub, mul, mul, min, max};
    switch (up_to(8)) {
      case 0:
      case 1:
        return unary(pick(kUnary), x);
      case 6:
        return unary(pick(kPositive), unary(abs, x) + 0.5);
      case 7:
        return unary(up_to(1) ? exp : exp2, weft::tanh(x));
      case 8:
        return ternary(x);
      case 2:
        return x / (unary(abs, companion(x)) + 1.0);
      case 3:
        return weft::select(leaf(x.rank() ? Shape{x.shape()[-1]} : Shape{}, DType::boolean), x, companion(x));
      default:
        return binary(pick(kBinary), x, companion(x));
    }
  }

  // fma, clamp, and numbers of other types in one expression.
  Tensor ternary(const Tensor& x) {
    Expression e;
    const int a = e.input(x.dtype());
    switch (up_to(3)) {
      case 0: {
        const Tensor y = companion(x);
        const int b = e.input(y.dtype());
        e.output(e.apply(ScalarOp::fma, {a, b, e.constant(0.5, x.dtype())}));
        return apply(make_op<ElementwiseOp>(std::move(e)), {x, y});
      }
      case 1:
        e.output(e.apply(ScalarOp::clamp, {a, e.constant(-0.75, x.dtype()), e.constant(0.5, x.dtype())}));
        return apply(make_op<ElementwiseOp>(std::move(e)), {x});
      case 2: {  // two results, both of which are read
        const int t = e.apply(ScalarOp::tanh, {a});
        e.output(t);
        e.output(e.apply(ScalarOp::mul, {t, e.constant(0.25, x.dtype())}));
        const Tensor first = apply(make_op<ElementwiseOp>(std::move(e)), {x});
        return first - result(first, 1);
      }
      default:
        return cast(cast(x, DType::f32), dtype_);
    }
  }

  // Booleans: exact on every device, so comparisons may depend on them.
  Tensor truth(const Shape& shape) {
    using enum ScalarOp;
    if (up_to(2) == 0) return leaf(shape, DType::boolean);
    Tensor b =
        binary(pick(std::vector<ScalarOp>{less, less_equal, equal, not_equal, greater}), whole(shape), whole(shape));
    if (up_to(2) == 0) b = unary(logical_not, b);
    if (up_to(1))
      b = binary(pick(std::vector<ScalarOp>{logical_and, logical_or, logical_xor}), b, leaf(shape, DType::boolean));
    return b;
  }
  Tensor typed(const Tensor& x) {
    const Shape& s = x.shape();
    switch (up_to(4)) {
      case 0:
        return x + cast(whole(s), dtype_) * 0.01;
      case 1:
        return weft::select(truth(s), x, companion(x));
      case 2: {
        if (s.rank() == 0) return x;
        const std::vector<int> axes{up_to(s.rank() - 1)};
        const ReduceKind op = up_to(1) ? ReduceKind::any : ReduceKind::all;
        return x * cast(reduce(op, truth(s), axes, true), dtype_) + 0.125;
      }
      case 3: {
        if (s.rank() == 0) return x;
        const std::vector<int> axes{up_to(s.rank() - 1)};
        const Tensor n = reduce(pick(std::vector<ReduceKind>{ReduceKind::sum, ReduceKind::max, ReduceKind::min}),
                                whole(s), axes, true);
        return x + tanh(cast(binary(ScalarOp::rem, n, result_.graph.scalar(17, DType::i32)), dtype_));
      }
      default: {
        const DType narrow =
            pick(std::vector<DType>{DType::i8, DType::u8, DType::i16, DType::f16, DType::bf16, DType::i64});
        return x * (cast(cast(whole(s), narrow), dtype_) * 0.01);
      }
    }
  }

  // A function of the symmetric matrix x xᵀ / k by its eigenvalues, or these: eigenvectors have any sign.
  Tensor spectral(const Tensor& x) {
    const std::int64_t k = std::max<std::int64_t>(x.shape()[-1], 1);
    const Tensor wide = tanh(cast(x, DType::f32));  // kernels take no narrower floats
    const Tensor a = matmul(wide, wide.T()) * (1 / static_cast<double>(k));
    const bool upper = up_to(1);
    if (up_to(1)) return cast(x + expand_dims(eigvalsh(a, upper), -1) * 0.1, dtype_);
    const EighExResult e = eigh_ex(a, upper);
    const Tensor y = matmul(matmul(e.vectors * expand_dims(tanh(e.values), -2), e.vectors.T()), wide);
    return cast(y + expand_dims(expand_dims(cast(e.info, DType::f32), -1), -1), dtype_);
  }

  // Of x xᵀ / k and something that is not symmetric, whose eigenvalues stay apart: real parts in their order, and
  // lengths of elements, which no phase changes.
  Tensor general(const Tensor& x) {
    const std::int64_t n = x.shape()[-2], k = std::max<std::int64_t>(x.shape()[-1], 1);
    const Tensor wide = tanh(cast(x, DType::f32));
    const Tensor far = diag(linspace(0, 4.0 * static_cast<double>(std::max<std::int64_t>(n - 1, 0)), n));
    const Tensor a = matmul(wide, wide.T()) * (0.5 / static_cast<double>(k)) + far + eye(n, n, DType::f32, 1) * 0.5;
    if (up_to(1)) return cast(x + expand_dims(tanh(real(eigvals(a)) * 0.1), -1) * 0.1, dtype_);
    const auto [w, v] = eig(a);
    return cast(x + expand_dims(sum(square(abs(v)) * expand_dims(tanh(real(w) * 0.1), -2), -1) * 0.1, -1), dtype_);
  }

  // A system with the positive definite matrix x xᵀ / k + 1, by its Cholesky factor.
  Tensor solve(const Tensor& x) {
    if (x.rank() < 2 || x.shape()[-2] > 16) return x;
    if (up_to(2) == 0) return up_to(2) ? spectral(x) : general(x);
    const std::int64_t n = x.shape()[-2], k = std::max<std::int64_t>(x.shape()[-1], 1);
    const Tensor wide = tanh(cast(x, DType::f32));  // kernels take no narrower floats
    const Tensor a = matmul(wide, wide.T()) * (1 / static_cast<double>(k)) + eye(n, n, DType::f32);
    const bool upper = up_to(1);
    const CholeskyResult f = cholesky_ex(a, upper);
    const Tensor sides = up_to(1) ? wide : cast(leaf({n, size()}), DType::f32);
    Tensor y;
    if (up_to(3) == 0) {
      // Another matrix of a good condition, whose rows are exchanged.
      const Tensor m = flip(a, {-2}) + 0.1 * sin(a);
      const SolveResult s = up_to(1) ? solve_ex(m, sides) : SolveResult{lu_solve(lu_factor(m), sides, upper), f.info};
      return cast(s.x + cast(expand_dims(expand_dims(s.info, -1), -1), DType::f32), dtype_);
    }
    if (up_to(2)) {
      const TriangularSolveOptions options{upper, up_to(1) == 1, up_to(1) == 1};
      // Of the other triangle nothing is read. Small elements beside a diagonal of ones keep the system well
      // conditioned.
      const Tensor other = triangle(a, upper ? Triangle::lower : Triangle::upper, upper ? -1 : 1);
      const Tensor factor = up_to(1) ? f.l : f.l + other;
      y = solve_triangular(options.unit ? factor * 0.2 : factor, sides, options);
    } else {
      y = cholesky_solve(sides, f.l, upper);
    }
    return cast(y + expand_dims(expand_dims(cast(f.info, DType::f32), -1), -1), dtype_);
  }

  // Orthonormal factors of a well conditioned matrix, what they multiply to, or the solution of a system by them.
  Tensor orthogonal(const Tensor& x) {
    if (x.rank() < 2 || x.shape()[-2] > 16 || x.shape()[-1] > 16) return x;
    const std::int64_t m = x.shape()[-2], n = x.shape()[-1];
    const Tensor a = tanh(cast(x, DType::f32)) * (0.5 / static_cast<double>(std::max<std::int64_t>({m, n, 1}))) +
                     eye(m, n, DType::f32);
    switch (up_to(3)) {
      case 0: {
        const QrResult f = qr(a, up_to(1) ? QrMode::complete : QrMode::reduced);
        return cast(up_to(1) ? f.q : matmul(f.q, f.r), dtype_);
      }
      case 1:
        return cast(qr(a, pick(std::vector<QrMode>{QrMode::reduced, QrMode::complete, QrMode::r})).r, dtype_);
      default: {
        const LstsqResult y = lstsq(a, up_to(1) ? a : cast(leaf({m, size()}), DType::f32));
        const Tensor info = expand_dims(expand_dims(cast(y.info, DType::f32), -1), -1);
        return cast(y.solution + expand_dims(y.residuals, -2) + info, dtype_);
      }
    }
  }

  // Singular values of a well conditioned matrix, what the factors multiply to, or the pseudo-inverse.
  Tensor singular(const Tensor& x) {
    if (x.rank() < 2 || x.shape()[-2] > 16 || x.shape()[-1] > 16) return x;
    const std::int64_t m = x.shape()[-2], n = x.shape()[-1];
    const Tensor a = tanh(cast(x, DType::f32)) * (0.5 / static_cast<double>(std::max<std::int64_t>({m, n, 1}))) +
                     eye(m, n, DType::f32);
    switch (up_to(4)) {
      case 0: {
        const std::int64_t k = std::min(m, n);
        const SvdResult f = svd(a, up_to(1));
        const Tensor u = slice(f.u, f.u.rank() - 1, 0, k), vh = slice(f.vh, f.vh.rank() - 2, 0, k);
        return cast(up_to(1) ? f.s : matmul(u * expand_dims(f.s, -2), vh), dtype_);
      }
      case 1:
        return cast(svdvals(a), dtype_);
      case 2:
        return cast(
            matrix_norm(a, pick(std::vector{MatrixNorm::two, MatrixNorm::minus_two, MatrixNorm::nuc}), up_to(1)),
            dtype_);
      case 3:
        return cast(pinv(a), dtype_);
      default:
        return cast(matrix_rank(a), dtype_);
    }
  }

  // Softmax, norms and gates as frontends without these operations write them.
  Tensor written_out(const Tensor& x) {
    if (x.rank() == 0) return x;
    const int last = x.rank() - 1;
    const int axis = up_to(last);
    if (x.shape()[axis] == 0 || x.shape()[last] < 2) return x;
    switch (up_to(4)) {
      case 0:
      case 1: {
        const bool keep = up_to(1);
        const auto over = [&](ReduceKind op, const Tensor& v) {
          const Tensor r = reduce(op, v, std::vector<int>{axis}, keep);
          return keep ? r : expand_dims(r, axis);
        };
        const Tensor e = exp(x - over(ReduceKind::max, x));
        const Tensor sum = over(ReduceKind::sum, e);
        return up_to(1) ? e / sum : e * unary(ScalarOp::reciprocal, broadcast_to(sum, x.shape()));
      }
      case 2: {
        const Tensor d = x - reduce(ReduceKind::mean, x, {last}, true);
        const Tensor inside =
            reduce(ReduceKind::mean, up_to(1) ? d * d : unary(ScalarOp::square, d), {last}, true) + 1e-2;
        Tensor y = up_to(1) ? d / sqrt(inside) : d * rsqrt(inside);
        if (up_to(1)) y = y * leaf({x.shape()[last]});
        return up_to(1) ? y + leaf({x.shape()[last]}) : y;
      }
      case 3:
        return x * rsqrt(reduce(ReduceKind::mean, x * x, {last}, true) + 1e-2) * leaf({x.shape()[last]});
      default: {
        if (x.rank() < 2) return x;
        const std::int64_t k = x.shape()[last], n = 1 + up_to(11);
        const auto project = [&] { return matmul(x, result_.graph.constant(random_data(dtype_, {n, k})).T()); };
        const double scale = 1 / std::sqrt(static_cast<double>(k));
        const Tensor gate = project() * scale;
        return (up_to(1) ? silu(gate) : gelu(gate)) * (project() * scale);
      }
    }
  }

  Tensor view(const Tensor& x) {
    switch (up_to(5)) {
      case 0:
        return permute(x, order(x.rank()));
      case 1: {  // a reshape that merges or splits axes
        Shape s = x.shape();
        if (s.rank() >= 2 && up_to(1)) {
          const int i = up_to(s.rank() - 2);
          s[i] *= s[i + 1];
          s.erase(i + 1);
        } else if (s.rank() >= 1 && s.rank() < 5) {
          const int i = up_to(s.rank() - 1);
          const std::int64_t f = s[i] % 4 == 0 ? 4 : s[i] % 3 == 0 ? 3 : s[i] % 2 == 0 ? 2 : 1;
          if (s[i] == 0) return x;
          s[i] /= f;
          s.insert(i + up_to(1), f);
        }
        return reshape(x, s);
      }
      case 2: {
        if (x.rank() == 0) return x;
        const int axis = up_to(x.rank() - 1);
        const std::int64_t n = x.shape()[axis];
        if (n == 0) return x;
        const std::int64_t begin = up_to(static_cast<int>(n) - 1);
        if (up_to(3) == 0) return slice(x, axis, begin, -1, -1 - up_to(1));
        const std::int64_t end = begin + 1 + up_to(static_cast<int>(n - begin) - 1);
        return slice(x, axis, begin, end, 1 + up_to(1));
      }
      case 3: {
        if (x.rank() >= 5) return x;
        Shape s = x.shape();
        s.insert(0, 1 + up_to(2));
        return element_count(s) <= 4096 ? broadcast_to(x, s) : x;
      }
      case 4: {  // windows that overlap
        if (x.rank() == 0 || x.rank() >= 5) return x;
        const int axis = up_to(x.rank() - 1);
        const auto n = static_cast<int>(x.shape()[axis]);
        if (n == 0) return x;
        const int size = 1 + up_to(std::min(n, 4) - 1), dilation = size > 1 ? 1 + up_to((n - 1) / (size - 1) - 1) : 1;
        const WindowsAttributes attributes{axis, size, 1 + up_to(2), dilation};
        return x.size() * size <= 4096 ? windows(x, attributes) : x;
      }
      default:
        return x.rank() < 5 ? expand_dims(x, up_to(x.rank())) : x;
    }
  }

  Tensor product(const Tensor& x) {
    if (x.rank() < 2) return x;
    const std::int64_t k = x.shape()[-1];
    const double scale = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(k, 1)));
    const std::int64_t n = std::max<std::int64_t>(size(), 1);
    const auto weights = [&] { return up_to(1) ? leaf({k, n}) : leaf({n, k}).T(); };
    switch (up_to(4)) {
      case 0: {  // several products of one operand
        std::vector<Tensor> parts;
        for (int i = 0; i < 3; ++i) {
          const Tensor w = result_.graph.constant(random_data(dtype_, {n, k}));
          const Tensor b = result_.graph.constant(random_data(dtype_, {n}));
          parts.push_back(matmul(x * scale, w.T()) + b);
        }
        return parts[0] * tanh(parts[1]) + parts[2];
      }
      case 1:
        return gelu(matmul(x, weights()) * scale + leaf({n}));
      case 2: {
        const Tensor y = matmul(x, weights()) * scale;
        return y + leaf(y.shape());
      }
      case 3:
        return matmul(x, x.T()) * scale;
      default:
        return matmul(x, weights()) * scale;
    }
  }

  // Keys or values [batch, heads, length, dim] with heads that several heads of queries share, in the ways in which
  // that is written.
  Tensor shared(const Tensor& x, int form) {
    const Shape shape = x.shape();
    const std::int64_t count = shape[1] % 2 == 0 ? 2 : 1;
    const Tensor one = slice(x, 1, 0, 1), few = slice(x, 1, 0, shape[1] / count);
    switch (form) {
      case 1:
        return one;
      case 2:
        return repeat(one, shape[1], 1);
      case 3:
        return repeat(few, count, 1);
      case 4: {
        const Shape five{shape[0], shape[1] / count, count, shape[2], shape[3]};
        return reshape(broadcast_to(expand_dims(few, 2), five), shape);
      }
      default:
        return x;
    }
  }

  Tensor attend() {
    const std::int64_t batch = 1 + up_to(1), heads = 1 + up_to(3), queries = 1 + up_to(5), keys = 1 + up_to(8);
    const std::int64_t dim = pick(std::vector<std::int64_t>{4, 8, 16});
    const auto operand = [&](std::int64_t length) {
      return permute(reshape(leaf({batch, length, heads * dim}), {batch, length, heads, dim}), {0, 2, 1, 3});
    };
    if (up_to(4) == 0) {  // grouped heads and a boolean mask, or causal
      const Tensor k = leaf({batch, heads, keys, dim}), v = leaf({batch, heads, keys, dim});
      const float scale = 1 / std::sqrt(static_cast<float>(dim));
      if (up_to(1))
        return attention(leaf({batch, heads * 2, queries, dim}), k, v, truth({queries, keys}), {.scale = scale});
      kernels::AttentionOptions options{.scale = scale, .causal = up_to(1) == 0};
      if (up_to(1)) options.window_left = up_to(4);
      return attention(leaf({batch, heads * 2, keys, dim}), k, v, {}, options);
    }
    const Tensor q = operand(queries), k = operand(keys), v = operand(keys);
    const double scale = 1 / std::sqrt(static_cast<double>(dim));
    Tensor y;
    if (up_to(2) == 0) {
      y = attention(q, k, v, up_to(1) ? leaf({batch, 1, 1, keys}) : Tensor(), {.scale = static_cast<float>(scale)});
    } else {
      const int form = up_to(5);
      Tensor scores = form == 0 ? matmul(q * 0.25, shared(k, form).T()) : matmul(q, shared(k, form).T()) * scale;
      if (up_to(1)) scores = scores + leaf({batch, 1, 1, keys});
      y = matmul(softmax(scores), shared(v, form));
    }
    return up_to(1) ? reshape(permute(y, {0, 2, 1, 3}), {batch, queries, heads * dim}) : y;
  }

  Tensor rows(const Tensor& x) {
    if (x.rank() == 0) return x;
    const int axis = up_to(x.rank() - 1);
    // Over no elements, only the sum is a number.
    switch (x.shape()[axis] == 0 ? 3 : up_to(6)) {
      case 0:
        return softmax(x, axis);
      case 1: {
        if (x.shape()[-1] < 2) return x;
        const Shape s{x.shape()[-1]};
        return layer_norm(x, up_to(1) ? leaf(s) : Tensor(), up_to(1) ? leaf(s) : Tensor(), 1e-3);
      }
      case 2:
        return x - reduce(ReduceKind::mean, x, {axis}, true);
      case 3:
        return reduce(ReduceKind::sum, x, std::vector<int>{axis}, up_to(1)) * 0.25;
      case 4: {
        const double n = static_cast<double>(x.shape()[axis]);
        const ReduceKind op = pick(std::vector<ReduceKind>{ReduceKind::sum_squares, ReduceKind::l1, ReduceKind::l2});
        return reduce(op, x, std::vector<int>{axis}, up_to(1)) * (1 / n);
      }
      case 5:
        return reduce(ReduceKind::log_sum_exp, x, std::vector<int>{axis}, up_to(1)) * 0.5;
      default:
        return reduce(pick(std::vector<ReduceKind>{ReduceKind::max, ReduceKind::min}), x, std::vector<int>{axis});
    }
  }

  // Elementwise work before and after softmax and norms; other nodes may read the prologue's result too.
  Tensor around_rows(Tensor x) {
    if (x.rank() == 0 || element_count(x.shape()) == 0 || x.shape()[-1] < 2) return x;
    if (up_to(3)) {
      x = up_to(2) ? elementwise(x) : x + leaf(x.shape());
      if (element_count(x.shape()) > 4096 || x.rank() > 6 || element_count(x.shape()) == 0 || x.shape()[-1] < 2)
        return x;
      if (up_to(1)) values_.push_back(x);
    }
    const Shape last{x.shape()[-1]};
    const auto weight = [&] { return up_to(1) ? leaf(last) : Tensor(); };
    Tensor y;
    switch (up_to(6)) {
      case 0:
        y = layer_norm(x, weight(), weight(), 1e-2);
        break;
      case 1:
        y = rms_norm(x, weight(), 1e-2);
        break;
      case 2:
        y = log_softmax(x, up_to(x.rank() - 1));
        break;
      case 3:
        if (x.rank() < 3) return x;
        y = up_to(1) ? instance_norm(x, {}, {}, 1e-2, 1) : group_norm(x, leaf({x.shape()[1]}), {}, 1, 1e-2, 1);
        break;
      default:
        y = softmax(x, up_to(x.rank() - 1));
        break;
    }
    if (up_to(5) == 0) values_.push_back(y);
    for (int n = up_to(2); n > 0; --n) y = elementwise(y);
    return y;
  }

  Tensor pick_or_join(const Tensor& x) {
    if (x.rank() == 0) return x;
    const int axis = up_to(x.rank() - 1);
    const auto n = static_cast<int>(x.shape()[axis]);
    if (n > 0 && up_to(2) == 0) return move(x, axis);
    if (up_to(1) && n > 0 && x.rank() < 5) return gather(x, leaf(shape(up_to(2)), DType::i32, n), axis);
    std::vector<Tensor> parts;
    for (int i = 1 + up_to(2); i >= 0; --i) {
      Shape s = x.shape();
      s[axis] = size();
      parts.push_back(up_to(1) ? x : leaf(s));
    }
    return concat(parts, axis);
  }

  // Padded, repeated, rolled, scanned, or with elements selected by indices.
  Tensor move(const Tensor& x, int axis) {
    const auto n = static_cast<int>(x.shape()[axis]);
    std::vector<std::int64_t> counts(static_cast<std::size_t>(x.rank()), 0), after = counts;
    const auto own = static_cast<std::size_t>(axis);
    switch (up_to(9)) {
      case 0:
        counts[own] = up_to(3) - 1;
        after[own] = up_to(3);
        return pad(x, counts, after,
                   pick(std::vector<PadMode>{PadMode::constant, PadMode::edge, PadMode::reflect, PadMode::wrap}), 0.5);
      case 1:
        counts.assign(counts.size(), 1);
        counts[own] = 1 + up_to(2);
        return tile(x, counts);
      case 2:
        return repeat(x, 1 + up_to(2), axis);
      case 3:
        counts[own] = up_to(9) - 4;
        return roll(x, counts);
      case 4:
        return scan(pick(std::vector<ScanKind>{ScanKind::max, ScanKind::log_sum_exp}), x, axis,
                    {.reverse = up_to(1) == 0});
      case 5: {
        if (up_to(1)) return cumsum(x, axis) * 0.25;
        const Tensor list = sort(leaf({1 + up_to(5)}, DType::i32, n));
        return x + cast(searchsorted(list, leaf(x.shape(), DType::i32, n)), x.dtype()) * 0.125;
      }
      case 6:
        return x.rank() < 2 ? x : triangle(x, up_to(1) ? Triangle::lower : Triangle::upper, up_to(2) - 1);
      case 7:
        return gather_elements(x, leaf(x.shape(), DType::i32, n), axis);
      case 8:
        return transform(x, axis);
      default:
        return scatter_elements(ScatterKind::max, x, leaf(x.shape(), DType::i32, n), leaf(x.shape()), axis);
    }
  }

  // Transformed along an axis, and back again or with the parts of the result joined.
  Tensor transform(const Tensor& x, int axis) {
    const std::int64_t n = 1 + up_to(11);
    constexpr FftNorm kNorm = FftNorm::ortho;
    switch (up_to(3)) {
      case 0:
        return cast(irfft(rfft(x, n, axis, kNorm) * leaf({}), n, axis, kNorm), dtype_);
      case 1: {
        const Tensor y = fft(complex(cast(x, DType::f32), cast(companion(x), DType::f32)), n, axis, kNorm);
        return cast(concat(std::vector{real(y), imag(y)}, axis), dtype_);
      }
      case 2:
        return cast(hfft(x, n, axis, kNorm), dtype_);
      default:
        return cast(abs(ihfft(x, n, axis, FftNorm::backward)), dtype_);
    }
  }

  void grow() {
    const Tensor x = up_to(1) ? values_.back() : any();
    Tensor y;
    switch (up_to(16)) {
      case 14:
        y = random_image(*this, x);
        break;
      case 15:
        y = random_quantized(*this);
        break;
      case 16:
        y = up_to(2) ? random_image(*this, x) : random_recurrent(*this, x);
        break;
      case 12:
        y = around_rows(x);
        break;
      case 13:
        y = up_to(1) ? around_rows(x) : up_to(2) ? solve(x) : up_to(1) ? orthogonal(x) : singular(x);
        break;
      case 10:
        y = typed(x);
        break;
      case 11:
        y = written_out(x);
        break;
      case 0:
      case 1:
        y = view(x);
        break;
      case 2:
        y = product(x);
        break;
      case 3:
        y = rows(x);
        break;
      case 4:
        y = pick_or_join(x);
        break;
      case 5:
        y = up_to(2) ? elementwise(x) : attend();
        break;
      default:
        y = elementwise(x);
        break;
    }
    if (element_count(y.shape()) > 4096 || y.rank() > 6) return;
    // A long chain of products must not overflow.
    if (up_to(3) == 0) y = tanh(y);
    values_.push_back(y);
  }
};

}  // namespace

RandomGraph random_graph(unsigned seed, DType dtype) { return Generator(seed, dtype).run(); }

}  // namespace weft::test
