// Singular values and what is made of them, on every device: values against LAPACK's, errors against those that LAPACK
// has in the same type (tests/reference/svd.py), types and errors. Derivatives are in tests/derivatives.
#include <gmock/gmock.h>

#include <cmath>
#include <complex>
#include <limits>

#include "support/on_device.h"
#include "support/quick.h"
#include "support/reference_cases.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/call.h"
#include "weft/compile.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/error.h"
#include "weft/indexing.h"
#include "weft/linalg.h"
#include "weft/random.h"
#include "weft/traced.h"

namespace weft::test {
namespace {

using nlohmann::json;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsNan;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

MatrixNorm order_of(const json& attributes) {
  const json& o = attributes.at("ord");
  if (o.is_string()) return o.get<std::string>() == "nuc" ? MatrixNorm::nuc : MatrixNorm::fro;
  return o.get<int>() == 2 ? MatrixNorm::two : MatrixNorm::minus_two;
}

std::vector<std::complex<double>> numbers(const Tensor& x) {
  const bool complex = x.dtype() == DType::c64;
  const std::vector<double> re = (complex ? real(x) : x).to_vector<double>();
  const std::vector<double> im = complex ? imag(x).to_vector<double>() : std::vector<double>(re.size());
  std::vector<std::complex<double>> all;
  for (std::size_t i = 0; i < re.size(); ++i) all.emplace_back(re[i], im[i]);
  return all;
}

// A matrix in f64, whose rows are in memory.
struct Matrix {
  explicit Matrix(const Tensor& x) : rows(x.shape()[-2]), columns(x.shape()[-1]), values(numbers(x)) {}
  std::complex<double> operator()(std::int64_t i, std::int64_t j) const {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
  std::int64_t rows, columns;
  std::vector<std::complex<double>> values;
};

struct Errors {
  double left = 0, right = 0;  // the largest elements of uᴴ u - 1 and vᴴ v - 1
  double residual = 0;         // |a - u diag(s) vᴴ| / |a|
};
Errors errors_of(const Tensor& a, const SvdResult& f) {
  const Matrix of_a(a), u(f.u), vh(f.vh);
  const std::vector<double> s = f.s.to_vector<double>();
  Errors e;
  for (std::int64_t i = 0; i < u.columns; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      std::complex<double> sum = i == j ? -1 : 0;
      for (std::int64_t p = 0; p < u.rows; ++p) sum += std::conj(u(p, i)) * u(p, j);
      e.left = std::max(e.left, std::abs(sum));
    }
  }
  for (std::int64_t i = 0; i < vh.rows; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      std::complex<double> sum = i == j ? -1 : 0;
      for (std::int64_t p = 0; p < vh.columns; ++p) sum += vh(i, p) * std::conj(vh(j, p));
      e.right = std::max(e.right, std::abs(sum));
    }
  }
  double worst = 0, size = 0;
  for (std::int64_t i = 0; i < of_a.rows; ++i) {
    for (std::int64_t j = 0; j < of_a.columns; ++j) {
      std::complex<double> sum = -of_a(i, j);
      for (std::size_t p = 0; p < s.size(); ++p) {
        sum += u(i, static_cast<std::int64_t>(p)) * s[p] * vh(static_cast<std::int64_t>(p), j);
      }
      worst += std::norm(sum);
      size += std::norm(of_a(i, j));
    }
  }
  e.residual = size > 0 ? std::sqrt(worst / size) : std::sqrt(worst);
  return e;
}

class SvdTest : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, SvdTest, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

TEST_P(SvdTest, ValuesAreLapacks) {
  const ReferenceCases cases("svd");
  for (const json& c : cases.list("functions.json")) {
    const View input = cases.operands(c, "inputs")[0], expected = cases.operands(c, "outputs")[0];
    if (device.is_gpu() && (input.dtype == DType::f64 || leave_out_problem())) continue;
    const Tensor x = tensor_of(input);
    const json o = c.value("attributes", json::object());
    const auto rtol = o.contains("rtol") ? std::optional(o.at("rtol").get<double>()) : std::nullopt;
    const auto name = c.at("kernel").get<std::string>();
    const Tensor y = name == "svdvals"       ? svdvals(x)
                     : name == "pinv"        ? pinv(x, rtol)
                     : name == "cond"        ? condition_number(x, order_of(o))
                     : name == "matrix_rank" ? matrix_rank(x, rtol)
                                             : matrix_norm(x, order_of(o), o.at("keep_dims").get<int>() != 0);
    ASSERT_EQ(y.type(), (TensorType{expected.dtype, expected.shape()})) << c.dump();
    expect_close(read_view(contiguous(y)), expected, ReferenceCases::tolerance(c), c.dump());
  }
}

TEST_P(SvdTest, LeastSquaresAreNumPys) {
  const ReferenceCases cases("svd");
  for (const json& c : cases.list("least_squares.json")) {
    const auto inputs = cases.operands(c, "inputs"), expected = cases.operands(c, "outputs");
    if (device.is_gpu() && (inputs[0].dtype == DType::f64 || leave_out_problem())) continue;
    const json o = c.value("attributes", json::object());
    const auto rcond = o.contains("rcond") ? std::optional(o.at("rcond").get<double>()) : std::nullopt;
    const auto [solution, residuals, rank, values] = lstsq_svd(tensor_of(inputs[0]), tensor_of(inputs[1]), rcond);
    const std::vector<Tensor> got{solution, residuals, rank, values};
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].type(), (TensorType{expected[i].dtype, expected[i].shape()})) << c.dump();
      expect_close(read_view(contiguous(got[i])), expected[i], ReferenceCases::tolerance(c), c.dump());
    }
  }
}

// NaN makes its own matrix NaN, of rank 0.
TEST_P(SvdTest, LeastSquaresOfWhatIsNotFinite) {
  const Tensor good = eye(3), bad = good + tensor({{0.0f, kNan, 0.0f}, {0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f}});
  const auto [x, residuals, rank, values] = lstsq_svd(stack({good, bad}), ones({3}));
  EXPECT_EQ(rank.to_vector<int>(), (std::vector<int>{3, 0}));
  const std::vector<float> solution = x.to_vector<float>();
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(solution[i], 1, 1e-6f);
    EXPECT_TRUE(std::isnan(solution[3 + i]));
  }
}

// At most ten times LAPACK's errors, or ten times the rounding of a number where it has none. Values alone are computed
// without the vectors by which the others are refined.
TEST_P(SvdTest, ErrorsAreThoseOfLapack) {
  const ReferenceCases cases("svd");
  for (const json& c : cases.list("accuracy.json")) {
    if (device.is_gpu() && leave_out_problem()) continue;
    const Tensor a = tensor_of(cases.operands(c, "inputs")[0]);
    const std::vector<double> exact = tensor_of(cases.operands(c, "outputs")[0]).to_vector<double>();
    const std::string what = std::format("{} {}", c.at("kernel").get<std::string>(), to_string(a.type()));
    const SvdResult f = svd(a, false);
    const Errors e = errors_of(a, f);
    const auto allowed = [&](const char* error) { return 10 * std::max(c.at(error).get<double>(), 6e-8); };
    EXPECT_LE(e.left, allowed("left")) << what;
    EXPECT_LE(e.right, allowed("right")) << what;
    EXPECT_LE(e.residual, allowed("residual")) << what;
    for (const bool alone : {false, true}) {
      const std::vector<double> s = (alone ? svdvals(a) : f.s).to_vector<double>();
      for (std::size_t i = 0; i < s.size(); ++i) {
        EXPECT_LE(std::abs(s[i] - exact[i]), allowed("values") * exact[0]) << what << " value " << i;
        EXPECT_TRUE(i == 0 || s[i] <= s[i - 1]) << what << " value " << i;
        EXPECT_GE(s[i], 0) << what;
      }
    }
  }
}

// Vectors that complete the others, also of no rows or columns; batches of everything.
TEST_P(SvdTest, FullMatrices) {
  random::seed(5);
  for (const DType type : {DType::f32, DType::c64}) {
    for (const auto& [m, n] :
         {std::pair{5, 5}, {7, 2}, {2, 7}, {100, 3}, {3, 100}, {150, 70}, {1, 1}, {4, 0}, {0, 4}}) {
      Tensor a = random::normal({2, m, n});
      if (type == DType::c64) a = complex(a, random::normal({2, m, n}));
      const SvdResult whole = svd(a), thin = svd(a, false);
      EXPECT_EQ(whole.u.shape(), (Shape{2, m, m}));
      EXPECT_EQ(whole.vh.shape(), (Shape{2, n, n}));
      EXPECT_EQ(thin.u.shape(), (Shape{2, m, std::min(m, n)}));
      EXPECT_EQ(thin.vh.shape(), (Shape{2, std::min(m, n), n}));
      for (const int i : {0, 1}) {
        const auto part = [&](const SvdResult& f) { return SvdResult{f.u[i], f.s[i], f.vh[i]}; };
        for (const SvdResult& f : {part(whole), part(thin)}) {
          const Errors e = errors_of(a[i], f);
          EXPECT_LE(e.left, 3e-6) << m << " x " << n;
          EXPECT_LE(e.right, 3e-6) << m << " x " << n;
          EXPECT_LE(e.residual, 3e-6) << m << " x " << n;
        }
      }
      if (m && n) {
        EXPECT_LE(max(abs(whole.s - svdvals(a))).item<double>(), 4e-6 * max(whole.s).item<double>());
      }
    }
  }
}

// Of a matrix with NaN or an infinity all is NaN, and others in the batch stay.
TEST_P(SvdTest, MatricesThatAreNotFinite) {
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{4, 4}, {3, 5}, {6, 2}, {70, 70}}) {
    for (const double value : {kNan, kInfinity, -kInfinity}) {
      const Tensor a = expand_dims(eye(m, n) * 3, 0) * ones({3, 1, 1});
      const Tensor bad = where(reshape(arange(0, 3 * m * n) == m * n + n + 1, {3, m, n}), value, a);
      for (const DType type : {DType::f32, DType::c64}) {
        const SvdResult f = svd(cast(bad, type));
        const auto nan = [](const Tensor& x) {
          return is_nan(x.dtype() == DType::c64 ? real(x) : x).all(Axes({-1})).all();
        };
        EXPECT_TRUE(nan(f.u[1]).item<bool>() && nan(f.s[1]).item<bool>() && nan(f.vh[1]).item<bool>()) << m;
        EXPECT_TRUE(nan(svdvals(cast(bad, type))[1]).item<bool>());
        for (const int fine : {0, 2}) {
          EXPECT_LE(errors_of(cast(a[fine], type), {f.u[fine], f.s[fine], f.vh[fine]}).residual, 1e-6);
        }
        EXPECT_TRUE(nan(pinv(cast(bad, type))[1]).item<bool>());
      }
      EXPECT_THAT(matrix_rank(bad).to_vector<std::int32_t>(), ElementsAre(std::min(m, n), 0, std::min(m, n)));
      EXPECT_THAT(condition_number(bad).to_vector<double>()[1], IsNan());
      EXPECT_THAT(matrix_norm(bad, MatrixNorm::two).to_vector<double>()[1], IsNan());
    }
  }
}

// Views of any kind, and what other operations make.
TEST_P(SvdTest, OfAnyView) {
  random::seed(8);
  for (const std::int64_t n : {5, 90}) {
    const Tensor a = random::normal({n, n});
    const Tensor s = svdvals(a);
    const auto same = [&](const Tensor& x, const Tensor& y) {
      return max(abs(x - y)).item<double>() <= 2e-6 * max(s).item<double>();
    };
    EXPECT_TRUE(same(svd(a).s, s));
    EXPECT_TRUE(same(svdvals(a.T()), s));
    EXPECT_TRUE(same(svdvals(a.T().T() * 1 + 0), s));
    EXPECT_TRUE(same(svdvals(broadcast_to(a, {3, n, n})), broadcast_to(s, {3, n})));
    EXPECT_TRUE(same(svdvals(slice(concat({a, full({n, n}, kNan)}, 0), 0, 0, n)), s));
    EXPECT_TRUE(same(svdvals(flip(flip(a, {0}), {1})), s));
    EXPECT_TRUE(same(svdvals(slice(reshape(stack({a, full({n, n}, kNan)}, -1), {n, 2 * n}), 1, 0, 2 * n, 2)), s));
    const auto step = compile([n](const Tensor& x) {
      const Tensor shifted = x + eye(n);
      const SvdResult f = svd(shifted);
      return std::tuple(matmul(f.u * f.s, f.vh), shifted, f.u * 2);
    });
    const auto [product, shifted, twice] = step(a);
    EXPECT_TRUE(same(product, a + eye(n)));
    EXPECT_TRUE(same(shifted, a + eye(n)));
    EXPECT_TRUE(same(matmul(twice.T(), twice), 4 * eye(n)));
  }
}

// The four equations of Moore and Penrose.
TEST_P(SvdTest, PseudoInverses) {
  random::seed(2);
  for (const auto& [m, n, k] : {std::tuple{6, 4, 4}, {4, 6, 4}, {6, 5, 2}, {3, 5, 1}, {40, 30, 10}}) {
    for (const DType type : {DType::f32, DType::c64}) {
      const auto drawn = [&](std::int64_t rows, std::int64_t columns) {
        const Tensor x = random::normal({rows, columns});
        return type == DType::c64 ? complex(x, random::normal({rows, columns})) : x;
      };
      const Tensor a = matmul(drawn(m, k), drawn(k, n)), y = pinv(a, 1e-5);
      const auto far = [](const Tensor& x, const Tensor& y) {
        return max(abs(x - y)).item<double>() / max(abs(y)).item<double>();
      };
      const auto adjoint = [](const Tensor& x) { return x.dtype() == DType::c64 ? conj(x.T()) : x.T(); };
      const Tensor ay = matmul(a, y), ya = matmul(y, a);
      EXPECT_LE(far(matmul(ay, a), a), 1e-4);
      EXPECT_LE(far(matmul(ya, y), y), 1e-4);
      EXPECT_LE(far(ay, adjoint(ay)), 1e-4);
      EXPECT_LE(far(ya, adjoint(ya)), 1e-4);
      EXPECT_EQ(matrix_rank(a, 1e-5).item<std::int32_t>(), k);
    }
  }
}

TEST(SvdCpu, DoublesAreDoubles) {
  set_default_device(Device::cpu());
  // The values of [[3, 0], [4, 5]] are the roots of 45 and 5.
  const Tensor a = tensor({2, 2}, std::vector<double>{3, 0, 4, 5}, DType::f64);
  for (const double scale : {1.0, 1e200, 1e-200, 1e300, 1e-300}) {
    const SvdResult f = svd(a * scale);
    EXPECT_EQ(f.u.dtype(), DType::f64);
    const std::vector<double> s = f.s.to_vector<double>();
    EXPECT_NEAR(s[0] / scale, std::sqrt(45.0), 4e-15);
    EXPECT_NEAR(s[1] / scale, std::sqrt(5.0), 4e-15);
    EXPECT_LE(errors_of(a, {f.u, f.s / scale, f.vh}).residual, 1e-15);
  }
  EXPECT_NEAR(condition_number(a).item<double>(), 3, 1e-14);
  EXPECT_EQ(pinv(a).dtype(), DType::f64);
}

// The gradient of values that are equal is that of PyTorch's, finite; that of vectors is not.
TEST_P(SvdTest, GradientsOfEqualValues) {
  const Tensor values = grad([](const Tensor& x) { return sum(svdvals(x)); })(eye(3));
  EXPECT_LE(max(abs(values - eye(3))).item<double>(), 1e-6);
  const Tensor norm = grad([](const Tensor& x) { return matrix_norm(x, MatrixNorm::nuc); })(eye(3) * 2);
  EXPECT_LE(max(abs(norm - eye(3))).item<double>(), 1e-6);
  const Tensor vectors = grad([](const Tensor& x) {
    const SvdResult f = svd(x);
    return sum(f.u * arange(0, 9, 1, DType::f32).reshape({3, 3}));
  })(eye(3));
  EXPECT_FALSE(is_finite(vectors).all().item<bool>());
}

// Vectors that only complete others have no derivatives, as PyTorch's.
TEST_P(SvdTest, GradientsOfFullMatrices) {
  random::seed(4);
  const Tensor a = random::normal({4, 2});
  const auto gradient = [&](bool full) {
    return grad([full](const Tensor& x) {
      const SvdResult f = svd(x, full);
      return sum(square(slice(f.u, 1, 0, 2) * f.s)) + sum(square(f.vh) * arange(0, 2, 1, DType::f32)) +
             (full ? sum(square(slice(f.u, 1, 2, 4))) : sum(f.s) * 0);
    })(a);
  };
  EXPECT_LE(max(abs(gradient(true) - gradient(false))).item<double>(), 1e-4);
}

// Of the inverse of [[1, 2], [3, 4]], [[-2, 1], [1.5, -0.5]], the sums of columns are 3.5 and 1.5, of rows 3 and 2.
TEST_P(SvdTest, ConditionsByTheInverse) {
  const Tensor a = tensor({2, 2}, std::vector<float>{1, 2, 3, 4}), singular = ones({2, 2});
  const std::pair<MatrixNorm, float> expected[] = {
      {MatrixNorm::one, 21.0F}, {MatrixNorm::minus_one, 6.0F}, {MatrixNorm::inf, 21.0F}, {MatrixNorm::minus_inf, 6.0F}};
  for (const auto& [ord, value] : expected) {
    const std::vector<float> c = condition_number(stack({a, singular, a * kNan}), ord).to_vector<float>();
    EXPECT_NEAR(c[0], value, 2e-5);
    EXPECT_EQ(c[1], std::numeric_limits<float>::infinity());
    EXPECT_THAT(c[2], IsNan());
  }
}

class SvdTypes : public testing::Test {
 protected:
  Graph g;
  const Tensor none, a = g.input("a", DType::f32, {2, 5, 3}), wide = g.input("w", DType::f32, {3, 4}),
                     half = g.input("h", DType::f16, {3, 3}), i = g.input("i", DType::i32, {3, 3}),
                     v = g.input("v", DType::f32, {5}), c = g.input("c", DType::c64, {5, 3}),
                     d = g.input("d", DType::f64, {3, 3}), empty = g.input("e", DType::f32, {2, 0, 3});
};

TEST_F(SvdTypes, AreInferred) {
  const auto type = [](DType t, const Shape& shape) { return TensorType{t, shape}; };
  EXPECT_EQ(svd(a).u.type(), type(DType::f32, {2, 5, 5}));
  EXPECT_EQ(svd(a).s.type(), type(DType::f32, {2, 3}));
  EXPECT_EQ(svd(a).vh.type(), type(DType::f32, {2, 3, 3}));
  EXPECT_EQ(svd(a, false).u.type(), type(DType::f32, {2, 5, 3}));
  EXPECT_EQ(svd(wide, false).vh.type(), type(DType::f32, {3, 4}));
  EXPECT_EQ(svd(wide).vh.type(), type(DType::f32, {4, 4}));
  EXPECT_EQ(svd(c).u.type(), type(DType::c64, {5, 5}));
  EXPECT_EQ(svd(c).s.type(), type(DType::f32, {3}));
  EXPECT_EQ(svd(d).s.dtype(), DType::f64);
  EXPECT_EQ(svdvals(c).type(), type(DType::f32, {3}));
  EXPECT_EQ(svdvals(empty).type(), type(DType::f32, {2, 0}));
  EXPECT_EQ(pinv(a).type(), type(DType::f32, {2, 3, 5}));
  EXPECT_EQ(pinv(c).type(), type(DType::c64, {3, 5}));
  EXPECT_EQ(matrix_rank(a).type(), type(DType::i32, {2}));
  EXPECT_EQ(condition_number(c).type(), type(DType::f32, {}));
  EXPECT_EQ(matrix_norm(half, MatrixNorm::two).type(), type(DType::f16, {}));
  EXPECT_EQ(matrix_norm(i, MatrixNorm::nuc, true).type(), type(DType::f32, {1, 1}));
  EXPECT_EQ(matrix_norm(c, MatrixNorm::minus_two).type(), type(DType::f32, {}));
}

TEST_F(SvdTypes, SaysWhatDoesNotFit) {
  const auto refused = [](auto&& call) { return refused_by(call); };
  EXPECT_THAT(refused([&] { svd(none); }), HasSubstr("svd: the operand is an undefined Tensor"));
  EXPECT_THAT(refused([&] { svd(half); }), HasSubstr("svd: a is f16 [3, 3]; expected f32, c64 or, on the cpu, f64"));
  EXPECT_THAT(refused([&] { svd(v); }), HasSubstr("svd: a is f32 [5], expected rank 2"));
  EXPECT_THAT(refused([&] { svdvals(none); }), HasSubstr("svdvals: the operand is an undefined Tensor"));
  EXPECT_THAT(refused([&] { svdvals(i); }), HasSubstr("svdvals: a is i32"));
  EXPECT_THAT(refused([&] { svdvals(v); }), HasSubstr("svdvals: a is f32 [5]"));
  EXPECT_THAT(refused([&] { pinv(none); }), HasSubstr("pinv: the operand is an undefined Tensor"));
  EXPECT_THAT(refused([&] { pinv(half); }), HasSubstr("pinv: a is f16"));
  EXPECT_THAT(refused([&] { pinv(v); }), HasSubstr("pinv: a is f32 [5]"));
  EXPECT_THAT(refused([&] { pinv(a, kNan); }), HasSubstr("pinv: rtol is NaN"));
  EXPECT_THAT(refused([&] { lstsq_svd(a, a, -1); }), HasSubstr("lstsq_svd: rcond is -1; expected 0 or more"));
  EXPECT_THAT(refused([&] { lstsq_svd(a, a, kNan); }), HasSubstr("lstsq_svd: rcond is"));
  EXPECT_THAT(refused([&] { lstsq_svd(none, a); }), HasSubstr("lstsq_svd: a is an undefined Tensor"));
  EXPECT_THAT(refused([&] { lstsq_svd(a, none); }), HasSubstr("lstsq_svd: b is an undefined Tensor"));
  EXPECT_THAT(refused([&] { lstsq_svd(v, v); }), HasSubstr("lstsq_svd: a is f32 [5], expected rank 2"));
  EXPECT_THAT(refused([&] { lstsq_svd(half, half); }), HasSubstr("lstsq_svd: a is f16"));
  EXPECT_THAT(refused([&] { matrix_rank(v); }), HasSubstr("matrix_rank: a is f32 [5]"));
  EXPECT_THAT(refused([&] { matrix_rank(half); }), HasSubstr("matrix_rank: a is f16"));
  EXPECT_THAT(refused([&] { matrix_rank(a, kNan); }), HasSubstr("matrix_rank: rtol is NaN"));
  EXPECT_THAT(refused([&] { condition_number(none); }),
              HasSubstr("condition_number: the operand is an undefined Tensor"));
  EXPECT_THAT(refused([&] { condition_number(v); }), HasSubstr("condition_number: a is f32 [5]"));
  EXPECT_THAT(refused([&] { condition_number(empty); }),
              HasSubstr("condition_number: a is f32 [2, 0, 3]; expected matrices that are not empty"));
  EXPECT_THAT(refused([&] { condition_number(a, MatrixNorm::fro); }),
              HasSubstr("condition_number: a is f32 [2, 5, 3]; expected square"));
  EXPECT_THAT(refused([&] { condition_number(a, MatrixNorm::one); }),
              HasSubstr("condition_number: a is f32 [2, 5, 3]; expected square"));
  EXPECT_THAT(refused([&] { matrix_norm(v, MatrixNorm::nuc); }), HasSubstr("matrix_norm: x is f32 [5]"));
  EXPECT_THAT(refused([&] { call("svd", std::vector<Tensor>{v}); }), HasSubstr("svd: "));
  EXPECT_THAT(refused([&] { call("svd", std::vector<Tensor>{half}); }), HasSubstr("svd: "));
  EXPECT_THAT(refused([&] { call("svdvals", std::vector<Tensor>{i}); }), HasSubstr("svdvals: "));
}

}  // namespace
}  // namespace weft::test
