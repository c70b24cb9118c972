// Eigenvalues and eigenvectors of Hermitian matrices: values on every device against NumPy's and SciPy's, gradients
// against PyTorch's (tests/reference/eigh.py), types and errors. Derivatives in general are in tests/derivatives.
#include <gmock/gmock.h>

#include <cmath>
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
#include "weft/linalg.h"
#include "weft/random.h"

namespace weft::test {
namespace {

using nlohmann::json;
using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// The conjugate transpose.
Tensor adjoint_of(const Tensor& x) { return x.dtype() == DType::c64 ? conj(x.T()) : x.T(); }
Tensor in_eigenvectors(const EighResult& e, const Tensor& values) {
  return matmul(e.vectors * cast(expand_dims(values, -2), e.vectors.dtype()), adjoint_of(e.vectors));
}

class EighTest : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, EighTest, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

TEST_P(EighTest, ValuesAreNumPys) {
  const ReferenceCases cases("eigh");
  for (const json& c : cases.list("functions.json")) {
    const View input = cases.operands(c, "inputs")[0], expected = cases.operands(c, "outputs")[0];
    if (device.is_gpu() && (input.dtype == DType::f64 || leave_out_problem())) continue;
    const Tensor a = tensor_of(input);
    const bool upper = c.at("attributes").at("upper") == 1;
    const std::string name = c.at("kernel");
    Tensor y;
    if (name == "eigvalsh") {
      y = eigvalsh(a, upper);
    } else {
      const EighResult e = eigh(a, upper);
      y = name == "eigh" ? e.values : in_eigenvectors(e, exp(e.values));
    }
    ASSERT_EQ(y.type(), (TensorType{expected.dtype, expected.shape()})) << c.dump();
    expect_close(read_view(contiguous(y)), expected, ReferenceCases::tolerance(c), c.dump());
  }
}

// The functions of tests/reference/eigh.py.
TEST_P(EighTest, GradientsArePyTorchs) {
  const ReferenceCases cases("eigh");
  for (const json& c : cases.list("gradients.json")) {
    const View input = cases.operands(c, "inputs")[0], expected = cases.operands(c, "outputs")[0];
    if (device.is_gpu() && input.dtype == DType::f64) continue;
    const std::string name = c.at("kernel");
    const auto f = [&](const Tensor& a) {
      const std::int64_t n = a.shape()[-1];
      const Tensor weights = linspace(-1, 2, 16, input.dtype == DType::f64 ? DType::f64 : DType::f32);
      if (name == "cubes") return sum(pow(eigvalsh(a), 3));
      if (name == "values") return sum(square(eigvalsh(a)) * slice(weights, 0, 0, n));
      const EighResult e = eigh(a);
      return sum(square(abs(e.vectors)) * reshape(slice(weights, 0, 0, n * n), {n, n})) + sum(pow(e.values, 3));
    };
    const Tensor y = grad(f)(tensor_of(input));
    expect_close(read_view(contiguous(y)), expected, ReferenceCases::tolerance(c), c.dump());
  }
}

// A matrix with NaN throws nothing: its results are NaN, and eigh_ex tells.
TEST_P(EighTest, SaysWhereTheyWereNotFound) {
  for (const std::int64_t n : {3, 70}) {
    const Tensor bad = full({n, n}, std::numeric_limits<float>::quiet_NaN());
    const auto [values, vectors, info] = eigh_ex(stack({eye(n), bad}));
    EXPECT_THAT(info.to_vector<std::int32_t>(), ElementsAre(0, 1));
    EXPECT_EQ(sum(cast(is_nan(values), DType::i32)).item<std::int32_t>(), n);
    EXPECT_EQ(sum(cast(is_nan(vectors), DType::i32)).item<std::int32_t>(), n * n);
  }
}

// A batch in a compiled function, beside other work on the matrices; the values alone are those beside vectors.
TEST_P(EighTest, BatchesInCompiledFunctions) {
  random::seed(3);
  const Tensor x = random::normal({5, 4, 12, 12}), a = x + x.T();
  const auto [values, vectors] = eigh(a);
  const Tensor back = matmul(vectors * expand_dims(values, -2), vectors.T());
  EXPECT_LE(max(abs(back - a)).item<float>(), 2e-5f);
  EXPECT_EQ(max(abs(eigvalsh(a) - values)).item<float>(), 0);
  EXPECT_LE(max(abs(sum(values, -1) - trace(a))).item<float>(), 2e-5f);
}

// A gradient of eigenvalues alone needs eigenvectors: the op is computed once, with both.
TEST(EighGraph, IsComputedOnce) {
  Graph g;
  const Tensor a = g.input("a", DType::f32, {4, 4});
  const auto [y, gradient] = value_and_grad([](const Tensor& x) { return sum(square(eigvalsh(x))); })(a);
  g.output("y", y);
  g.output("gradient", gradient);
  const std::string text = compile(g, Device::cpu()).report().graph;
  const std::size_t first = text.find("eigh");
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find(" eigh", first + 5), std::string::npos) << text;
}

TEST(EighCpu, DoublesAreDoubles) {
  set_default_device(Device::cpu());
  const auto [values, vectors] = eigh(tensor({2, 2}, std::vector<double>{2, 1, 1, 2}, DType::f64));
  EXPECT_EQ(values.dtype(), DType::f64);
  EXPECT_THAT(values.to_vector<double>(), ElementsAre(DoubleNear(1, 1e-15), DoubleNear(3, 1e-15)));
  EXPECT_THAT(abs(vectors).to_vector<double>(), Each(DoubleNear(std::sqrt(0.5), 1e-15)));
}

class EighTypes : public testing::Test {
 protected:
  Graph g;
  const Tensor none, a = g.input("a", DType::f32, {2, 3, 3}), wide = g.input("w", DType::f32, {3, 4}),
                     half = g.input("h", DType::f16, {3, 3}), i = g.input("i", DType::i32, {3, 3}),
                     v = g.input("v", DType::f32, {3}), c = g.input("c", DType::c64, {3, 3}),
                     d = g.input("d", DType::f64, {3, 3}), empty = g.input("e", DType::f32, {2, 0, 0});
};

TEST_F(EighTypes, AreInferred) {
  EXPECT_EQ(eigh(a).values.type(), (TensorType{DType::f32, {2, 3}}));
  EXPECT_EQ(eigh(a).vectors.type(), (TensorType{DType::f32, {2, 3, 3}}));
  EXPECT_EQ(eigh(c).values.type(), (TensorType{DType::f32, {3}}));
  EXPECT_EQ(eigh(c).vectors.type(), (TensorType{DType::c64, {3, 3}}));
  EXPECT_EQ(eigh_ex(c).info.type(), (TensorType{DType::i32, {}}));
  EXPECT_EQ(eigvalsh(c).type(), (TensorType{DType::f32, {3}}));
  EXPECT_EQ(eigvalsh(d).type(), (TensorType{DType::f64, {3}}));
  EXPECT_EQ(eigvalsh(empty).shape(), (Shape{2, 0}));
}

TEST_F(EighTypes, SaysWhatDoesNotFit) {
  const auto refused = [](auto&& call) { return refused_by(call); };
  const auto says = [](const char* text) { return HasSubstr(text); };
  EXPECT_THAT(refused([&] { eigh(none); }), says("eigh: the operand is an undefined Tensor"));
  EXPECT_THAT(refused([&] { eigh(half); }),
              says("eigh: a is f16 [3, 3]; expected f32, c64 or, on the cpu, f64: cast it"));
  EXPECT_THAT(refused([&] { eigh(i); }), says("eigh: a is i32 [3, 3]"));
  EXPECT_THAT(refused([&] { eigh(wide); }), says("eigh: a is f32 [3, 4]; expected square matrices"));
  EXPECT_THAT(refused([&] { eigh_ex(v); }), says("eigh_ex: a is f32 [3], expected rank 2"));
  EXPECT_THAT(refused([&] { eigvalsh(wide); }), says("eigvalsh: a is f32 [3, 4]"));
  EXPECT_THAT(refused([&] { eigvalsh(half); }), says("eigvalsh: a is f16 [3, 3]"));
  const auto by_name = [&](std::vector<Tensor> x) { return refused([&] { call("eigh", x); }); };
  EXPECT_THAT(by_name({wide}), says("eigh: a is f32 [3, 4]"));
  EXPECT_THAT(by_name({v}), says("eigh: "));
  EXPECT_THAT(by_name({half}), says("eigh: "));
  EXPECT_THAT(by_name({}), says("eigh"));
}

}  // namespace
}  // namespace weft::test
