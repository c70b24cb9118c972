// Linear algebra: values on every device against NumPy's and SciPy's (tests/reference/linalg.py), residuals of large
// and badly conditioned problems, types and errors. Derivatives are in tests/derivatives.
#include "weft/linalg.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <map>
#include <sstream>

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
#include "weft/evaluate.h"
#include "weft/indexing.h"
#include "weft/print.h"
#include "weft/random.h"
#include "weft/traced.h"

namespace weft::test {
namespace {

using nlohmann::json;
using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::IsNan;
using testing::Not;
using testing::StartsWith;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

bool flag(const json& o, const char* name) { return o.value(name, 0) == 1; }
double order_of(const json& o) {
  const json& order = o.at("ord");
  return order.is_string() ? (order == "inf" ? kInfinity : -kInfinity) : order.get<double>();
}
MatrixNorm matrix_order_of(const json& o) {
  if (o.at("ord") == "fro") return MatrixNorm::fro;
  const double order = order_of(o);
  return order == 1           ? MatrixNorm::one
         : order == -1        ? MatrixNorm::minus_one
         : order == kInfinity ? MatrixNorm::inf
                              : MatrixNorm::minus_inf;
}

using Function = Tensor (*)(std::span<const Tensor> x, const json& o);
const std::map<std::string, Function>& functions_of_cases() {
  static const std::map<std::string, Function> all{
      {"cholesky", [](std::span<const Tensor> x, const json& o) { return cholesky(x[0], flag(o, "upper")); }},
      {"solve_triangular",
       [](std::span<const Tensor> x, const json& o) {
         return solve_triangular(x[0], x[1], {flag(o, "upper"), flag(o, "adjoint"), flag(o, "unit")});
       }},
      {"cholesky_solve",
       [](std::span<const Tensor> x, const json& o) { return cholesky_solve(x[0], x[1], flag(o, "upper")); }},
      {"cholesky_inverse",
       [](std::span<const Tensor> x, const json& o) { return cholesky_inverse(x[0], flag(o, "upper")); }},
      {"vector_norm",
       [](std::span<const Tensor> x, const json& o) {
         const Axes axes = o.contains("axes") ? Axes(o.at("axes").get<std::vector<int>>()) : Axes();
         return vector_norm(x[0], order_of(o), axes, flag(o, "keep_dims"));
       }},
      {"matrix_norm", [](std::span<const Tensor> x,
                         const json& o) { return matrix_norm(x[0], matrix_order_of(o), flag(o, "keep_dims")); }},
      {"inner", [](std::span<const Tensor> x, const json&) { return inner(x[0], x[1]); }},
      {"cross", [](std::span<const Tensor> x, const json& o) { return cross(x[0], x[1], o.at("axis").get<int>()); }},
      {"kron", [](std::span<const Tensor> x, const json&) { return kron(x[0], x[1]); }},
      {"matrix_power",
       [](std::span<const Tensor> x, const json& o) { return matrix_power(x[0], o.at("n").get<std::int64_t>()); }},
      {"multi_dot", [](std::span<const Tensor> x, const json&) { return multi_dot(x); }},
      {"vander",
       [](std::span<const Tensor> x, const json& o) {
         const auto columns = o.contains("columns") ? std::optional(o.at("columns").get<std::int64_t>()) : std::nullopt;
         return vander(x[0], columns, flag(o, "increasing"));
       }},
      {"diag", [](std::span<const Tensor> x, const json& o) { return diag(x[0], o.at("offset").get<std::int64_t>()); }},
      {"trace",
       [](std::span<const Tensor> x, const json& o) { return trace(x[0], o.at("offset").get<std::int64_t>()); }},
      {"solve", [](std::span<const Tensor> x, const json&) { return solve(x[0], x[1]); }},
      {"lu_solve",
       [](std::span<const Tensor> x, const json& o) { return lu_solve(lu_factor(x[0]), x[1], flag(o, "adjoint")); }},
      {"inv", [](std::span<const Tensor> x, const json&) { return inv(x[0]); }},
      {"det", [](std::span<const Tensor> x, const json&) { return det(x[0]); }},
      {"slogdet_sign", [](std::span<const Tensor> x, const json&) { return slogdet(x[0]).sign; }},
      {"slogdet_log", [](std::span<const Tensor> x, const json&) { return slogdet(x[0]).logabsdet; }},
      {"lu_p", [](std::span<const Tensor> x, const json&) { return lu(x[0]).p; }},
      {"lu_l", [](std::span<const Tensor> x, const json&) { return lu(x[0]).l; }},
      {"lu_u", [](std::span<const Tensor> x, const json&) { return lu(x[0]).u; }},
      {"matrix_transpose", [](std::span<const Tensor> x, const json&) { return matrix_transpose(x[0]); }}};
  return all;
}

// The largest magnitude.
double largest(const Tensor& x) { return max(abs(x)).item<double>(); }

class LinalgTest : public OnDevice {
 protected:
  // Positive definite matrices of eigenvalues from 1 / condition to about 1: those of a random orthogonal basis, which
  // products of reflections make.
  static Tensor definite(std::int64_t n, double condition) {
    random::seed(7);
    const Tensor values = pow(condition, -linspace(0, 1, n));
    Tensor a = diag(values);
    for (int i = 0; i < 3; ++i) {
      const Tensor v = random::normal({n, 1});
      const Tensor h = eye(n) - 2 * matmul(v, v.T()) / sum(square(v));
      a = matmul(matmul(h, a), h);
    }
    return (a + a.T()) * 0.5f;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, LinalgTest, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

TEST_P(LinalgTest, ValuesAreNumPys) {
  const ReferenceCases cases("linalg");
  for (const json& c : cases.list("functions.json")) {
    const auto inputs = cases.operands(c, "inputs");
    const View expected = cases.operands(c, "outputs")[0];
    const bool in_f64 = std::ranges::any_of(inputs, [](const View& v) { return v.dtype == DType::f64; });
    if (device.is_gpu() && (in_f64 || leave_out_problem())) continue;
    std::vector<Tensor> in;
    for (const View& v : inputs) in.push_back(tensor_of(v));
    const Tensor y = functions_of_cases().at(c.at("kernel"))(in, c.value("attributes", json::object()));
    ASSERT_EQ(y.type(), (TensorType{expected.dtype, expected.shape()})) << c.dump();
    expect_close(read_view(contiguous(y)), expected, ReferenceCases::tolerance(c), c.dump());
  }
}

// The error of a factor, and of solutions by it, in what they should fulfil is that of rounding, whatever the
// condition. Source of the bounds: Higham, "Accuracy and Stability of Numerical Algorithms", 2002, theorems 10.3
// and 8.5.
TEST_P(LinalgTest, ResidualsAreThoseOfRounding) {
  for (const std::int64_t n : {20, 100, 300}) {
    for (const double condition : {1e1, 1e4}) {
      const Tensor a = definite(n, condition), b = random::normal({n, 3});
      const double unit = std::ldexp(static_cast<double>(n), -24);
      for (const bool upper : {false, true}) {
        const auto [l, info] = cholesky_ex(a, upper);
        EXPECT_EQ(info.item<std::int32_t>(), 0);
        const Tensor back = upper ? matmul(l.T(), l) : matmul(l, l.T());
        EXPECT_LE(largest(back - a), 2 * unit * largest(a)) << n << " " << condition;
        const Tensor x = cholesky_solve(b, l, upper), residual = matmul(a, x) - b;
        EXPECT_LE(largest(residual), 4 * unit * largest(a) * static_cast<double>(n) * largest(x))
            << n << " " << condition;
      }
    }
  }
}

// As NumPy's solve, up to a condition of 1e6. Source of the bound: Higham, 9.4 and 9.14 with the growth that random
// matrices show.
TEST_P(LinalgTest, SystemsResidualsAreThoseOfRounding) {
  for (const std::int64_t n : {20, 100, 300}) {
    for (const double condition : {1e1, 1e3, 1e6}) {
      const Tensor a = matmul(definite(n, condition), eye(n) - 2.0f / static_cast<float>(n) * ones({n, n}));
      const Tensor b = random::normal({n, 3}), x = solve(a, b);
      const double unit = std::ldexp(static_cast<double>(n), -24);
      EXPECT_LE(largest(matmul(a, x) - b), 8 * unit * static_cast<double>(n) * largest(a) * largest(x))
          << n << " " << condition;
      const auto [p, l, u] = lu(a);
      EXPECT_LE(largest(matmul(p, matmul(l, u)) - a), 8 * unit * largest(a)) << n << " " << condition;
      EXPECT_LE(largest(l), 1.0);
    }
  }
}

// What does not exist is found by the first read of what depends on it, however indirectly.
TEST_P(LinalgTest, ReadsFindWhatDoesNotExist) {
  const auto error = [](auto&& call) {
    try {
      call();
    } catch (const LinAlgError& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  const Tensor good = eye(3) * 2, singular = tensor({3, 3}, std::vector<float>{1, 2, 3, 2, 4, 6, 1, 0, 1});
  const Tensor indefinite = tensor({2, 2}, std::vector<float>{1, 2, 2, 1});
  const std::string line = " (recorded at linalg_test.cc:";
  EXPECT_THAT(error([&] { solve(singular, ones({3})).to_vector<float>(); }),
              StartsWith("solve: the matrix is singular: pivot 3 of its LU factors is 0; solve_ex() tells without an "
                         "error" +
                         line));
  EXPECT_THAT(error([&] { inv(stack({good, singular, singular})).to_vector<float>(); }),
              StartsWith("inv: matrix [1] of [3] is singular: pivot 3 of its LU factors is 0 (2 matrices are so); "
                         "inv_ex() tells without an error" +
                         line));
  EXPECT_THAT(error([&] { cholesky(indefinite).to_vector<float>(); }),
              StartsWith("cholesky: the matrix is not positive definite: its leading minor of order 2 is not; "
                         "cholesky_ex() tells without an error" +
                         line));
  const Tensor of_another_language = [&] {
    const SourceLineScope here("/home/someone/program.py", 12);
    return inv(singular) * 2;
  }();
  EXPECT_THAT(error([&] { of_another_language.to_vector<float>(); }), HasSubstr("(recorded at program.py:12)"));
  // Operations on it, evaluated with it and later, in part, printed, moved and printed asynchronously.
  const Tensor x = solve(singular, ones({3}));
  const Tensor sum_of_x = sum(x * 2 + 1);
  EXPECT_THAT(error([&] { sum_of_x.item<float>(); }), HasSubstr("solve: the matrix is singular"));
  EXPECT_THAT(error([&] { sum_of_x.item<float>(); }), HasSubstr("solve: the matrix is singular"));  // and again
  eval(x);                                                                                          // nothing is read
  const Tensor later = x + 1;
  eval(later);
  EXPECT_THAT(error([&] { (later * 3).to_vector<float>(); }), HasSubstr("solve: "));
  EXPECT_THAT(error([&] { slice(x, 0, 0, 1).item<float>(); }), HasSubstr("solve: "));
  EXPECT_THAT(error([&] { std::ostringstream() << x; }), HasSubstr("solve: "));
  EXPECT_THAT(error([&] { to(x, Device::cpu()).to_vector<float>(); }), HasSubstr("solve: "));
  auto future = x.async_read<float>();
  EXPECT_THAT(error([&] { future.get(); }), HasSubstr("solve: "));
  // What does not depend on it is read, also where both are evaluated together.
  const Tensor other = solve(good, ones({3}));
  const Tensor both[] = {x * 2, other * 2};
  eval(both);
  EXPECT_THAT(both[1].to_vector<float>(), ElementsAre(1, 1, 1));
  EXPECT_THAT(error([&] { both[0].to_vector<float>(); }), HasSubstr("solve: "));
  // A part that is assigned to in place changes nothing about the others.
  Tensor assigned = solve(singular, ones({3}));
  eval(assigned);
  assigned.set(0, 5);
  EXPECT_THAT(error([&] { assigned.to_vector<float>(); }), HasSubstr("solve: "));
  // Memory that is written anew holds something else.
  Tensor written = solve(singular, ones({3}));
  eval(written);
  written.write(std::as_bytes(std::span<const float>(std::vector<float>{1, 2, 3})));
  EXPECT_THAT(written.to_vector<float>(), ElementsAre(1, 2, 3));
  // Functions that tell, and compiled ones, give NaN.
  const auto [y, info] = solve_ex(singular, ones({3}));
  EXPECT_THAT(y.to_vector<float>(), Each(IsNan()));
  EXPECT_EQ(info.item<std::int32_t>(), 3);
  const auto compiled = compile([](const Tensor& a) { return std::tuple(inv(a), solve(a, a) + 1, det(a)); });
  const auto [inverse, one, zero] = compiled(singular);
  EXPECT_THAT(inverse.to_vector<float>(), Each(IsNan()));
  EXPECT_THAT(one.to_vector<float>(), Each(IsNan()));
  EXPECT_EQ(zero.item<float>(), 0);
  EXPECT_THAT(vmap([](const Tensor& a) { return inv(a); })(stack({good, singular})).to_vector<float>()[9], IsNan());
  // Inside of derivatives values are read.
  EXPECT_THAT(error([&] { grad([](const Tensor& a) { return sum(inv(a)); })(singular).to_vector<float>(); }),
              HasSubstr("inv: "));
  EXPECT_THAT(error([&] {
                grad([](const Tensor& a) {
                  const Tensor l = cholesky(a);
                  return sum(l).item<float>() > 0 ? sum(l) : -sum(l);
                })(indefinite);
              }),
              HasSubstr("cholesky: "));
  // Of matrices with NaN nothing is said to be singular.
  EXPECT_THAT(inv(good * kNan).to_vector<float>(), Each(IsNan()));
}

// Waiting is as good as reading.
TEST_P(LinalgTest, WaitingTells) {
  const Tensor y = inv(ones({2, 2})) + 1;
  EXPECT_NO_THROW(eval(y));
  EXPECT_THROW(async_eval(y).get(), LinAlgError);
  EXPECT_THROW(async_eval({ones({2}), y}).get(), LinAlgError);
  EXPECT_NO_THROW(async_eval(inv(eye(2))).get());
}

// A loop that reads nothing holds no more with each turn, and its error is not lost.
TEST_P(LinalgTest, LoopsThatNobodyReads) {
  const Tensor a = eye(2) * 1.0f + ones({2, 2}) * 0.25f, singular = ones({2, 2});
  const int turns = test::quick() ? 300 : 3000;
  for (const bool fails : {false, true}) {
    Tensor x = ones({2});
    for (int i = 0; i < turns; ++i) {
      x = solve(fails && i == 10 ? singular : a, x);
      x = x / max(abs(x));
      if (i % 4 == 0) eval(x);
    }
    if (fails)
      EXPECT_THROW(x.to_vector<float>(), LinAlgError);
    else
      EXPECT_TRUE(std::isfinite(x.to_vector<float>()[0]));
  }
}

TEST_P(LinalgTest, FactorsThatDoNotExist) {
  for (const std::int64_t n : {4, 90}) {
    for (const double value : {-1.0, kNan, kInfinity}) {
      // The element in row 2, and column 1, which with its mirror image makes the third minor no number, or negative.
      Tensor a = expand_dims(eye(n) * 2, 0) * ones({3, 1, 1});
      const Tensor at = cast(arange(0, 3) == 1, DType::f32);
      const Tensor spot =
          pad(ones({1, 1}), std::array<std::int64_t, 2>{2, 1}, std::array<std::int64_t, 2>{n - 3, n - 2});
      const Tensor bad = where(reshape(at, {3, 1, 1}) * spot == 1, value == -1.0 ? 9.0 : value, a);
      const Tensor both = where(reshape(at, {3, 1, 1}) * spot.T() == 1, value == -1.0 ? 9.0 : value, bad);
      for (const bool upper : {false, true}) {
        const auto [l, info] = cholesky_ex(both, upper);
        EXPECT_THAT(info.to_vector<std::int32_t>(), ElementsAre(0, 3, 0)) << n << " " << value;
        // Of the second matrix what is before the third row and column stays.
        EXPECT_THAT(cast(is_finite(l).all(Axes({1, 2})), DType::i32).to_vector<std::int32_t>(), ElementsAre(1, 0, 1));
        const std::vector<float> on_diagonal = diagonal(slice(l, 0, 1, 2)).to_vector<float>();
        EXPECT_NEAR(on_diagonal[1], std::sqrt(2.0f), 1e-6);
        EXPECT_THAT(std::vector(on_diagonal.begin() + 2, on_diagonal.end()), Each(IsNan()));
      }
    }
  }
}

// Nothing but a triangle is read, also of what other operations made, of views, and where memory is used again.
TEST_P(LinalgTest, ReadsOneTriangleOfAnyView) {
  const Tensor a = definite(6, 10), l = cholesky(a);
  const Tensor nan = full({6, 6}, kNan);
  const auto same = [](const Tensor& x, const Tensor& y) { return largest(x - y) <= 4e-7; };
  EXPECT_TRUE(same(cholesky(tril(a) + triu(nan, 1)), l));
  EXPECT_TRUE(same(cholesky(triu(a) + tril(nan, -1), true), l.T()));
  EXPECT_TRUE(same(cholesky((triu(a) + tril(nan, -1)).T()), l));
  EXPECT_TRUE(same(cholesky(slice(slice(concat({a, nan}, 0), 0, 0, 6), 1, 0, 6)), l));
  const Tensor every_other = reshape(stack({a, nan}, -1), {6, 12});
  EXPECT_TRUE(same(cholesky(slice(every_other, 1, 0, 12, 2)), l));
  EXPECT_TRUE(same(cholesky(broadcast_to(a, {3, 6, 6})), broadcast_to(l, {3, 6, 6})));
  const Tensor b = reshape(arange(0, 12, 1, DType::f32), {6, 2});
  const Tensor x = solve_triangular(l, b);
  EXPECT_TRUE(same(solve_triangular(tril(l) + triu(nan, 1), b), x));
  EXPECT_TRUE(same(solve_triangular(l.T(), b, {.upper = true, .adjoint = true}), x));
  EXPECT_TRUE(same(solve_triangular(l, flip(b, {1})), flip(x, {1})));
  EXPECT_TRUE(same(solve_triangular(l, b.T().T() * 1 + 0), x));
  const Tensor unit = tril(l, -1) + diag(full({6}, kNan));
  EXPECT_TRUE(same(solve_triangular(unit, b, {.unit = true}), solve_triangular(tril(l, -1) + eye(6), b)));
  // The operand's memory is used for the result, or is not where something else reads it.
  const auto step = compile([](const Tensor& m, const Tensor& right) {
    const Tensor shifted = m + eye(6);
    const Tensor factor = cholesky(shifted), sides = right * 2;
    return std::tuple(factor, solve_triangular(factor, sides), shifted, sides);
  });
  const auto [factor, solution, shifted, sides] = step(a, b);
  EXPECT_TRUE(same(matmul(factor, factor.T()), a + eye(6)));
  EXPECT_TRUE(same(matmul(factor, solution), b * 2) || largest(matmul(factor, solution) - b * 2) < 1e-5);
  EXPECT_TRUE(same(shifted, a + eye(6)));
  EXPECT_TRUE(same(sides, b * 2));
}

// What multi_dot() saves: [n, 1] · [1, n] · [n, 1] never makes a matrix of n² elements.
TEST_P(LinalgTest, TheCheapestOrder) {
  Graph g;
  const Tensor column = g.input("column", DType::f32, {3000, 1}), row = g.input("row", DType::f32, {1, 3000});
  g.output("y", multi_dot({column, row, column, row, column}));
  EXPECT_LT(compile(g, device).report().planned_bytes, 100'000u);
}

// 2 log2(n) products.
TEST(LinalgGraph, PowersTakeFewProducts) {
  Graph g;
  g.output("y", matrix_power(g.input("x", DType::f32, {2, 2}), std::int64_t{1} << 40));
  const std::string text = g.to_string();
  int products = 0;
  for (std::size_t at = text.find("matmul"); at != std::string::npos; at = text.find("matmul", at + 1)) ++products;
  EXPECT_EQ(products, 40);
}

TEST(LinalgCpu, DoublesAreDoubles) {
  set_default_device(Device::cpu());
  const Tensor a = tensor({2, 2}, std::vector<double>{4, 2, 2, 3}, DType::f64);
  EXPECT_EQ(cholesky(a).dtype(), DType::f64);
  EXPECT_EQ((cholesky(a)[{1, 1}].item<double>()), std::sqrt(2.0));
  // f32 beside f64 is f64, and beside c64 c64.
  EXPECT_EQ(solve_triangular(a, cast(a, DType::f32)).dtype(), DType::f64);
  EXPECT_EQ(solve_triangular(cast(a, DType::f32), cast(a, DType::c64)).dtype(), DType::c64);
}

class LinalgTypes : public testing::Test {
 protected:
  Graph g;
  const Tensor none, a = g.input("a", DType::f32, {2, 3, 3}), wide = g.input("w", DType::f32, {3, 4}),
                     half = g.input("h", DType::f16, {3, 3}), i = g.input("i", DType::i32, {3, 3}),
                     v = g.input("v", DType::f32, {3}), c = g.input("c", DType::c64, {3, 3}),
                     s = g.input("s", DType::f32, {}), b = g.input("b", DType::boolean, {3, 3}),
                     d = g.input("d", DType::f64, {3, 3}), packed = g.input("p", DType::i4, {3, 3});
};

TEST_F(LinalgTypes, AreInferred) {
  const auto [l, info] = cholesky_ex(a);
  EXPECT_EQ(l.type(), (TensorType{DType::f32, {2, 3, 3}}));
  EXPECT_EQ(info.type(), (TensorType{DType::i32, {2}}));
  EXPECT_EQ(cholesky_ex(c).info.shape(), Shape{});
  EXPECT_EQ(cholesky(d, true).dtype(), DType::f64);
  EXPECT_EQ(solve_triangular(a, wide).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(solve_triangular(a, v).shape(), (Shape{2, 3}));
  EXPECT_EQ(solve_triangular(c, v).type(), (TensorType{DType::c64, {3}}));
  EXPECT_EQ(cholesky_solve(wide, a).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(cholesky_inverse(a).shape(), (Shape{2, 3, 3}));
  EXPECT_EQ(solve(a, v).shape(), (Shape{2, 3}));
  EXPECT_EQ(solve(a, c).type(), (TensorType{DType::c64, {2, 3, 3}}));
  EXPECT_EQ(inv(d).dtype(), DType::f64);
  EXPECT_EQ(det(a).type(), (TensorType{DType::f32, {2}}));
  EXPECT_EQ(slogdet(c).logabsdet.type(), (TensorType{DType::f32, {}}));
  EXPECT_EQ(lu_factor(wide).order.type(), (TensorType{DType::i32, {3}}));
  EXPECT_EQ(lu(wide).l.shape(), (Shape{3, 3}));
  EXPECT_EQ(vector_norm(c).type(), (TensorType{DType::f32, {}}));
  EXPECT_EQ(vector_norm(half, 3, 0, true).type(), (TensorType{DType::f16, {1, 3}}));
  EXPECT_EQ(matrix_norm(i).dtype(), DType::f32);
  EXPECT_EQ(inner(half, i).dtype(), DType::f16);
  EXPECT_EQ(kron(wide, a).shape(), (Shape{2, 9, 12}));
  EXPECT_EQ(cross(v, a).shape(), (Shape{2, 3, 3}));
  EXPECT_EQ(trace(i, 0, DType::i64).dtype(), DType::i64);
  EXPECT_EQ(vander(v, 5).shape(), (Shape{3, 5}));
  EXPECT_EQ(multi_dot({v, c, wide}).type(), (TensorType{DType::c64, {4}}));
}

TEST_F(LinalgTypes, SaysWhatDoesNotFit) {
  const auto refused = [](auto&& call) { return refused_by(call); };
  const auto says = [](const char* text) { return HasSubstr(text); };
  EXPECT_THAT(refused([&] { cholesky(none); }), says("cholesky: the operand is an undefined Tensor"));
  EXPECT_THAT(refused([&] { cholesky(half); }),
              says("cholesky: a is f16 [3, 3]; expected f32, c64 or, on the cpu, f64: cast it"));
  EXPECT_THAT(refused([&] { cholesky(i); }), says("cholesky: a is i32 [3, 3]"));
  EXPECT_THAT(refused([&] { cholesky(wide); }), says("cholesky: a is f32 [3, 4]; expected square matrices"));
  EXPECT_THAT(refused([&] { cholesky(v); }), says("cholesky: a is f32 [3], expected rank 2"));
  EXPECT_THAT(refused([&] { cholesky_ex(s); }), says("cholesky_ex: a is f32 []"));
  EXPECT_THAT(refused([&] { solve_triangular(wide, v); }), says("solve_triangular: a is f32 [3, 4]"));
  EXPECT_THAT(refused([&] { solve_triangular(a, s); }), says("solve_triangular: b is f32 [], expected rank 1"));
  EXPECT_THAT(refused([&] { solve_triangular(a, wide.T()); }),
              says("solve_triangular: a [2, 3, 3] and b [4, 3]: a has"));
  EXPECT_THAT(refused([&] { solve_triangular(a, g.input("", DType::f32, {3, 3, 1})); }), says("leading dimensions"));
  EXPECT_THAT(refused([&] { solve_triangular(a, half); }), says("solve_triangular: b is f16"));
  EXPECT_THAT(refused([&] { solve_triangular(c, d); }), says("solve_triangular: "));
  EXPECT_THAT(refused([&] { cholesky_solve(none, a); }), says("cholesky_solve: b is an undefined"));
  EXPECT_THAT(refused([&] { cholesky_solve(v, wide); }), says("cholesky_solve: "));
  EXPECT_THAT(refused([&] { solve(wide, v); }), says("solve: a is f32 [3, 4]; expected square"));
  EXPECT_THAT(refused([&] { solve(a, wide.T()); }),
              says("solve: a is f32 [2, 3, 3] and b f32 [4, 3], which has 4 rows"));
  EXPECT_THAT(refused([&] { solve(a, s); }), says("solve: b is f32 [], expected rank 1"));
  EXPECT_THAT(refused([&] { solve(none, v); }), says("solve: a is an undefined"));
  EXPECT_THAT(refused([&] { solve(a, half); }), says("solve: b is f16"));
  EXPECT_THAT(refused([&] { solve(a, g.input("five", DType::f32, {5, 3, 1})); }), says("solve: "));
  EXPECT_THAT(refused([&] { solve_ex(i, v); }), says("solve_ex: a is i32"));
  EXPECT_THAT(refused([&] { inv(wide); }), says("inv: a is f32 [3, 4]"));
  EXPECT_THAT(refused([&] { inv_ex(v); }), says("inv_ex: a is f32 [3], expected rank 2"));
  EXPECT_THAT(refused([&] { det(wide); }), says("det: a is f32 [3, 4]"));
  EXPECT_THAT(refused([&] { slogdet(half); }), says("slogdet: a is f16"));
  EXPECT_THAT(refused([&] { lu(v); }), says("lu: a is f32 [3], expected rank 2"));
  EXPECT_THAT(refused([&] { lu_factor(b); }), says("lu_factor: a is bool"));
  EXPECT_THAT(refused([&] { lu_solve(lu_factor(wide), v); }), says("lu_solve: "));
  EXPECT_THAT(refused([&] { lu_solve({}, v); }), says("lu_solve: "));
  EXPECT_THAT(refused([&] { lu_solve({.lu = a}, v); }), says("lu_solve: order is an undefined Tensor"));
  EXPECT_THAT(refused([&] { cholesky_inverse(wide); }), says("cholesky_inverse: l is f32 [3, 4]"));
  EXPECT_THAT(refused([&] { vector_norm(v, kNan); }), says("vector_norm: ord is NaN"));
  EXPECT_THAT(refused([&] { vector_norm(v, 2, 1); }), says("vector_norm: "));
  EXPECT_THAT(refused([&] { matrix_norm(v); }), says("matrix_norm: x is f32 [3], expected rank 2"));
  EXPECT_THAT(refused([&] { inner(b, b); }), says("inner: operands of type bool"));
  EXPECT_THAT(refused([&] { inner(packed, packed); }), says("inner: operands of type i4"));
  EXPECT_THAT(refused([&] { inner(v, wide); }), says("inner: "));
  EXPECT_THAT(refused([&] { cross(v, wide); }), says("cross: axis -1 of f32 [3] and f32 [3, 4]; expected 3 elements"));
  EXPECT_THAT(refused([&] { cross(v, wide, 0); }), says("cross: axis 0 of"));
  EXPECT_THAT(refused([&] { kron(v, g.input("axes", DType::f32, {1, 1, 1, 1, 1})); }), says("kron: "));
  EXPECT_THAT(refused([&] { matrix_power(i, -1); }), says("matrix_power: x is i32 [3, 3]; expected f32"));
  EXPECT_THAT(refused([&] { matrix_power(b, 0); }), says("matrix_power: operands of type bool"));
  EXPECT_THAT(refused([&] { multi_dot({v}); }), says("multi_dot: 1 matrices"));
  EXPECT_THAT(refused([&] { multi_dot({v, v, v}); }), says("multi_dot: operand 1 is f32 [3], expected a matrix"));
  EXPECT_THAT(refused([&] { multi_dot({wide, wide}); }), says("inner sizes 4 and 3 differ"));
  EXPECT_THAT(refused([&] { matrix_transpose(v); }), says("matrix_transpose: "));
  EXPECT_THAT(refused([&] { trace(v); }), says("trace: x is f32 [3], expected rank 2"));
  EXPECT_THAT(refused([&] { diag(a); }), says("diag: x is f32 [2, 3, 3], expected rank 1 or 2"));
  EXPECT_THAT(refused([&] { diag(v, INT64_MIN); }), says("diag: "));
  EXPECT_THAT(refused([&] { vander(v, -1); }), says("vander: -1 columns"));
  EXPECT_THAT(refused([&] { vander(s); }), says("vander: x is f32 []"));
  // By name, as files of graphs call them.
  const auto by_name = [&](const char* name, std::vector<Tensor> x) { return refused([&] { call(name, x); }); };
  EXPECT_THAT(by_name("cholesky", {wide}), says("cholesky: a is f32 [3, 4]"));
  EXPECT_THAT(by_name("cholesky", {v}), says("cholesky: "));
  EXPECT_THAT(by_name("cholesky", {half}), says("cholesky: "));
  EXPECT_THAT(by_name("cholesky", {}), says("cholesky"));
  EXPECT_THAT(by_name("triangular_solve", {a, v}), says("triangular_solve: "));
  EXPECT_THAT(by_name("triangular_solve", {a, i}), says("triangular_solve: "));
  EXPECT_THAT(by_name("lu", {v}), says("lu: "));
  EXPECT_THAT(by_name("lu", {i}), says("lu: "));
  EXPECT_THAT(by_name("checked", {a, a}), says("checked: "));
  const Tensor order = g.input("o", DType::i32, {2, 3}), good = g.input("k", DType::i32, {2});
  EXPECT_THAT(by_name("solution", {a, a, a, a, order, i}), says("solution: info is i32 [3, 3], expected i32 [2]"));
  EXPECT_THAT(by_name("solution", {a, a, a, a, good, good}), says("solution: "));
  EXPECT_THAT(by_name("solution", {a, a, a, g.input("t", DType::f32, {3, 3}), order, good}), says("solution: lu is"));
  EXPECT_THAT(by_name("solution", {a, wide, a, a, order, good}), says("solution: a is f32 [3, 4]"));
  EXPECT_THAT(by_name("solution", {a, a, wide.T(), a, order, good}), says("solution: "));
  EXPECT_THAT(by_name("solution", {a, a, wide, a, order, good}), says("solution: x is"));
  EXPECT_THAT(by_name("triangular_solve", {wide, wide}), says("triangular_solve: a is f32 [3, 4]"));
  EXPECT_THAT(by_name("triangular_solve", {a, wide.T()}), says("triangular_solve: a [2, 3, 3] and b [4, 3]"));
}

}  // namespace
}  // namespace weft::test
