// QR factors and least squares on every device: values against LAPACK's, errors against those that LAPACK has in the
// same type (tests/reference/qr.py), types and errors. Derivatives are in tests/derivatives.
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
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

QrMode mode_of(const json& c) {
  const auto name = c.at("attributes").at("mode").get<std::string>();
  return name == "reduced" ? QrMode::reduced : name == "complete" ? QrMode::complete : QrMode::r;
}

// A matrix in f64.
class Matrix {
 public:
  using Number = std::complex<double>;
  explicit Matrix(const Tensor& x) : columns_(x.shape()[-1]) {
    const bool complex = x.dtype() == DType::c64;
    const std::vector<double> re = (complex ? real(x) : x).to_vector<double>();
    const std::vector<double> im = complex ? imag(x).to_vector<double>() : std::vector<double>(re.size());
    for (std::size_t i = 0; i < re.size(); ++i) numbers_.emplace_back(re[i], im[i]);
  }
  Number operator()(std::int64_t i, std::int64_t j) const {
    return numbers_[static_cast<std::size_t>(i * columns_ + j)];
  }

 private:
  std::int64_t columns_;
  std::vector<Number> numbers_;
};

struct Errors {
  double orthogonality = 0, residual = 0;  // the residual of each column beside its largest element
};
Errors errors_of(const Tensor& a, const QrResult& f) {
  const std::int64_t m = a.shape()[0], n = a.shape()[1], k = f.q.shape()[1];
  const Matrix matrix(a), q(f.q), r(f.r);
  Errors e;
  for (std::int64_t i = 0; i < k; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      Matrix::Number sum = i == j ? -1 : 0;
      for (std::int64_t p = 0; p < m; ++p) sum += std::conj(q(p, i)) * q(p, j);
      e.orthogonality = std::max(e.orthogonality, std::abs(sum));
    }
  }
  for (std::int64_t j = 0; j < n; ++j) {
    double size = 0, worst = 0;
    for (std::int64_t i = 0; i < m; ++i) {
      Matrix::Number sum = -matrix(i, j);
      for (std::int64_t p = 0; p <= std::min(j, k - 1); ++p) sum += q(i, p) * r(p, j);
      size = std::max(size, std::abs(matrix(i, j)));
      worst = std::max(worst, std::abs(sum));
    }
    e.residual = std::max(e.residual, size > 0 ? worst / size : worst);
  }
  return e;
}

class QrTest : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, QrTest, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

TEST_P(QrTest, ValuesAreLapacks) {
  const ReferenceCases cases("qr");
  for (const json& c : cases.list("functions.json")) {
    const auto inputs = cases.operands(c, "inputs"), expected = cases.operands(c, "outputs");
    if (device.is_gpu() && (inputs[0].dtype == DType::f64 || leave_out_problem())) continue;
    std::vector<Tensor> in, out;
    for (const View& v : inputs) in.push_back(tensor_of(v));
    if (c.at("kernel") == "qr") {
      const auto [q, r] = qr(in[0], mode_of(c));
      out = {q, r};
    } else {
      const auto [solution, residuals, info] = lstsq(in[0], in[1]);
      out = {solution, residuals, info};
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(out[i].type(), (TensorType{expected[i].dtype, expected[i].shape()})) << c.dump();
      expect_close(read_view(contiguous(out[i])), expected[i], ReferenceCases::tolerance(c), c.dump());
    }
  }
}

// At most ten times LAPACK's errors, or ten times the rounding of a number where it has none.
TEST_P(QrTest, ErrorsAreThoseOfLapack) {
  const ReferenceCases cases("qr");
  for (const json& c : cases.list("accuracy.json")) {
    if (device.is_gpu() && leave_out_problem()) continue;
    const Tensor a = tensor_of(cases.operands(c, "inputs")[0]);
    const Errors e = errors_of(a, qr(a));
    const auto allowed = [&](const char* error) { return 10 * std::max(c.at(error).get<double>(), 6e-8); };
    EXPECT_LE(e.orthogonality, allowed("orthogonality")) << c.at("kernel") << " " << to_string(a.type());
    EXPECT_LE(e.residual, allowed("residual")) << c.at("kernel") << " " << to_string(a.type());
  }
}

// Taller and wider than a workgroup reflects alone, and what complete factors add.
TEST_P(QrTest, TallAndWideOnes) {
  random::seed(3);
  for (const DType type : {DType::f32, DType::c64}) {
    for (const auto& [m, n] : {std::pair{2100, 3}, {1025, 40}, {3, 1500}, {70, 400}}) {
      if (quick() && m * n > 30000) continue;
      Tensor a = random::normal({m, n});
      if (type == DType::c64) a = complex(a, random::normal({m, n}));
      const Errors e = errors_of(a, qr(a));
      EXPECT_LE(e.orthogonality, 5e-6) << m << " x " << n;
      EXPECT_LE(e.residual, 1e-5) << m << " x " << n;
    }
    Tensor a = random::normal({150, 90});
    if (type == DType::c64) a = complex(a, random::normal({150, 90}));
    const QrResult whole = qr(a, QrMode::complete), reduced = qr(a);
    EXPECT_EQ(whole.q.shape(), (Shape{150, 150}));
    EXPECT_LE(errors_of(a, whole).orthogonality, 5e-6);
    EXPECT_LE(errors_of(a, whole).residual, 1e-5);
    EXPECT_LE(max(abs(slice(whole.q, 1, 0, 90) - reduced.q)).item<double>(), 2e-6);
    EXPECT_LE(max(abs(slice(whole.r, 0, 0, 90) - reduced.r)).item<double>(), 2e-5);
    EXPECT_EQ(max(abs(slice(whole.r, 0, 90, 150))).item<double>(), 0);
  }
}

// Nothing of a matrix with NaN or an infinity is a number, but the zeros below r's diagonal; others in the batch stay.
TEST_P(QrTest, MatricesThatAreNotFinite) {
  for (const std::int64_t n : {4, 130}) {
    for (const double value : {kNan, kInfinity, -kInfinity}) {
      for (const std::int64_t at : {std::int64_t{0}, n * n - 2}) {
        const Tensor a = expand_dims(eye(n) * 3, 0) * ones({3, 1, 1});
        const Tensor bad = where(reshape(arange(0, 3 * n * n) == n * n + at, {3, n, n}), value, a);
        for (const DType type : {DType::f32, DType::c64}) {
          const auto [q, r] = qr(cast(bad, type));
          for (const bool triangular : {false, true}) {
            const Tensor all = triangular ? r : q, part = type == DType::c64 ? real(all) : all;
            const std::vector<double> values = slice(part, 0, 1, 2).to_vector<double>();
            for (std::int64_t i = 0; i < n; ++i) {
              for (std::int64_t j = triangular ? i : 0; j < n; ++j) {
                ASSERT_TRUE(std::isnan(values[static_cast<std::size_t>(i * n + j)])) << n << ": " << i << ", " << j;
              }
            }
          }
          for (const int fine : {0, 2}) {
            const Tensor back = matmul(slice(q, 0, fine, fine + 1), slice(r, 0, fine, fine + 1));
            EXPECT_LE(max(abs(back - cast(slice(a, 0, fine, fine + 1), type))).item<double>(), 2e-6);
          }
        }
      }
    }
  }
}

// Views of any kind, and what other operations make.
TEST_P(QrTest, OfAnyView) {
  random::seed(8);
  const Tensor a = random::normal({5, 5});
  const auto [q, r] = qr(a);
  const auto same = [](const Tensor& x, const Tensor& y) { return max(abs(x - y)).item<double>() <= 2e-6; };
  EXPECT_TRUE(same(qr(a.T().T() * 1 + 0).q, q));
  for (const QrMode mode : {QrMode::reduced, QrMode::r}) {
    EXPECT_TRUE(same(qr(broadcast_to(a, {3, 5, 5}), mode).r, broadcast_to(r, {3, 5, 5})));
  }
  EXPECT_TRUE(same(qr(slice(concat({a, full({5, 5}, kNan)}, 0), 0, 0, 5)).r, r));
  EXPECT_TRUE(same(qr(flip(flip(a, {0}), {0})).q, q));
  const Tensor large = random::normal({120, 110});
  EXPECT_TRUE(same(qr(flip(flip(large.T(), {1}).T(), {0})).q, qr(large).q));
  EXPECT_TRUE(same(qr(broadcast_to(large, {2, 120, 110})).q, broadcast_to(qr(large).q, {2, 120, 110})));
  const auto step = compile([](const Tensor& x) {
    const Tensor shifted = x + eye(5);
    const QrResult f = qr(shifted);
    return std::tuple(matmul(f.q, f.r), shifted, f.q * 2);
  });
  const auto [product, shifted, twice] = step(a);
  EXPECT_TRUE(same(product, a + eye(5)));
  EXPECT_TRUE(same(shifted, a + eye(5)));
  EXPECT_TRUE(same(matmul(twice.T(), twice), 4 * eye(5)));
}

TEST_P(QrTest, LeastSquaresOfLowerRank) {
  // The second column is zeros, so that r's second diagonal element is 0.
  const Tensor a = tensor({4, 3}, std::vector<float>{1, 0, 2, 1, 0, 3, 1, 0, 5, 1, 0, 7}), b = ones({4});
  EXPECT_EQ(lstsq(a, b).info.item<std::int32_t>(), 2);
  EXPECT_EQ(lstsq(a.T(), ones({3})).info.item<std::int32_t>(), 2);
  EXPECT_EQ(lstsq(zeros({3, 3}), ones({3})).info.item<std::int32_t>(), 1);
  EXPECT_EQ(lstsq(full({3, 3}, kNan), ones({3})).info.item<std::int32_t>(), 1);
  EXPECT_EQ(lstsq(eye(3), ones({3})).info.item<std::int32_t>(), 0);
  // Nearly dependent columns, by rcond.
  const Tensor near = tensor({3, 2}, std::vector<float>{1, 1, 1, 1, 1, 1.001f});
  EXPECT_EQ(lstsq(near, ones({3})).info.item<std::int32_t>(), 0);
  EXPECT_EQ(lstsq(near, ones({3}), 0.01).info.item<std::int32_t>(), 2);
  EXPECT_THAT(lstsq(stack({near, 2 * near, near * tensor({2}, std::vector<float>{0, 1})}, 0), ones({3}))
                  .info.to_vector<std::int32_t>(),
              ElementsAre(0, 0, 1));
}

TEST(QrCpu, DoublesAreDoubles) {
  set_default_device(Device::cpu());
  const Tensor a = tensor({2, 2}, std::vector<double>{3, 1, 4, 2}, DType::f64);
  const auto [q, r] = qr(a);
  EXPECT_EQ(q.dtype(), DType::f64);
  EXPECT_THAT(r.to_vector<double>(), ElementsAre(testing::DoubleNear(-5, 1e-15), testing::DoubleNear(-2.2, 1e-15), 0,
                                                 testing::DoubleNear(0.4, 1e-15)));
  // Squares of these are past the largest number, and below the least.
  for (const double scale : {1e200, 1e-200}) {
    const std::vector<double> big = qr(a * scale).r.to_vector<double>();
    EXPECT_NEAR(big[0] / scale, -5, 1e-14);
    EXPECT_NEAR(big[3] / scale, 0.4, 1e-14);
  }
  EXPECT_EQ(lstsq(a, cast(a, DType::f32)).solution.dtype(), DType::f64);
}

class QrTypes : public testing::Test {
 protected:
  Graph g;
  const Tensor none, a = g.input("a", DType::f32, {2, 5, 3}), wide = g.input("w", DType::f32, {3, 4}),
                     half = g.input("h", DType::f16, {3, 3}), i = g.input("i", DType::i32, {3, 3}),
                     v = g.input("v", DType::f32, {5}), c = g.input("c", DType::c64, {5, 3}),
                     s = g.input("s", DType::f32, {}), d = g.input("d", DType::f64, {5, 3});
};

TEST_F(QrTypes, AreInferred) {
  const auto type = [](DType t, const Shape& shape) { return TensorType{t, shape}; };
  EXPECT_EQ(qr(a).q.type(), type(DType::f32, {2, 5, 3}));
  EXPECT_EQ(qr(a).r.type(), type(DType::f32, {2, 3, 3}));
  EXPECT_EQ(qr(a, QrMode::complete).q.type(), type(DType::f32, {2, 5, 5}));
  EXPECT_EQ(qr(a, QrMode::complete).r.type(), type(DType::f32, {2, 5, 3}));
  EXPECT_EQ(qr(c, QrMode::r).q.type(), type(DType::c64, {5, 0}));
  EXPECT_EQ(qr(wide).q.type(), type(DType::f32, {3, 3}));
  EXPECT_EQ(qr(wide).r.type(), type(DType::f32, {3, 4}));
  EXPECT_EQ(lstsq(a, v).solution.type(), type(DType::f32, {2, 3}));
  EXPECT_EQ(lstsq(a, v).residuals.type(), type(DType::f32, {2}));
  EXPECT_EQ(lstsq(c, v).residuals.type(), type(DType::f32, {}));
  EXPECT_EQ(lstsq(c, v).solution.type(), type(DType::c64, {3}));
  EXPECT_EQ(lstsq(a, a).solution.type(), type(DType::f32, {2, 3, 3}));
  EXPECT_EQ(lstsq(a, a).info.type(), type(DType::i32, {2}));
}

TEST_F(QrTypes, SaysWhatDoesNotFit) {
  const auto refused = [](auto&& call) { return refused_by(call); };
  EXPECT_THAT(refused([&] { qr(none); }), HasSubstr("qr: the operand is an undefined Tensor"));
  EXPECT_THAT(refused([&] { qr(half); }), HasSubstr("qr: a is f16 [3, 3]; expected f32, c64 or, on the cpu, f64"));
  EXPECT_THAT(refused([&] { qr(i); }), HasSubstr("qr: a is i32"));
  EXPECT_THAT(refused([&] { qr(v); }), HasSubstr("qr: a is f32 [5], expected rank 2"));
  EXPECT_THAT(refused([&] { lstsq(none, v); }), HasSubstr("lstsq: a is an undefined Tensor"));
  EXPECT_THAT(refused([&] { lstsq(a, none); }), HasSubstr("lstsq: b is an undefined Tensor"));
  EXPECT_THAT(refused([&] { lstsq(a, s); }), HasSubstr("lstsq: b is f32 [], expected rank 1"));
  EXPECT_THAT(refused([&] { lstsq(a, wide); }),
              HasSubstr("lstsq: a is f32 [2, 5, 3] and b f32 [3, 4]; expected b with"));
  EXPECT_THAT(refused([&] { lstsq(wide, v); }), HasSubstr("lstsq: a is f32 [3, 4] and b f32 [5]"));
  EXPECT_THAT(refused([&] { lstsq(a, g.input("", DType::f32, {3, 5, 1})); }), HasSubstr("lstsq: "));
  EXPECT_THAT(refused([&] { lstsq(c, d); }), HasSubstr("lstsq: "));
  EXPECT_THAT(refused([&] { call("qr", std::vector<Tensor>{v}); }), HasSubstr("qr: "));
  EXPECT_THAT(refused([&] { call("qr", std::vector<Tensor>{i}); }), HasSubstr("qr: "));
  EXPECT_THAT(refused([&] { grad([](const Tensor& x) { return sum(qr(x, QrMode::complete).r); })(ones({3, 2})); }),
              AllOf(HasSubstr("no derivative of qr (recorded at qr_test.cc"), HasSubstr("a complete q of f32 [3, 2]")));
}

}  // namespace
}  // namespace weft::test
