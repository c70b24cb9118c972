// A graph that a device cannot run: the error lists all reasons at once.
#include "compiler/plan_calls.h"

#include <gmock/gmock.h>

#include "compiler/passes/passes.h"
#include "support/devices.h"
#include "support/throws.h"
#include "weft/calibration.h"
#include "weft/compile.h"
#include "weft/custom_op.h"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Tensor gpu_only(const char* name, const Tensor& x) {
  CustomKernel k;
  k.name = name;
  k.inputs = {"x"};
  k.outputs = {"y"};
  k.wgsl = "fn kernel(i: u32) { store_y(i, load_x(i)); }";
  k.infer = [](std::span<const TensorType> in) { return std::vector<TensorType>{in[0]}; };
  return custom(std::make_shared<CustomKernel>(k), std::vector{x})[0];
}

TEST(Support, AllThatTheCpuCannotRun) {
  Graph g;
  const Tensor x = g.input("x", DType::f32, {4, 3});
  g.output("y", gpu_only("first", exp(gpu_only("second", x))));
  const std::string why = test::thrown_by([&] { compile(g, Device::cpu()); });
  EXPECT_THAT(why,
              AllOf(StartsWith("Unsupported: "), HasSubstr("cannot run 2 of 3 kernels"),
                    HasSubstr("custom \"first [4, 3]\" of f32 [4, 3] → f32 [4, 3]: custom kernel \"first\" has no"),
                    HasSubstr("custom \"second [4, 3]\""), Not(HasSubstr("exp"))));
  EXPECT_EQ(test::thrown_by([&] { estimate(g, Device::cpu(), Calibration()); }), why);
}

TEST(Support, AllThatAGpuCannotRun) {
  for (const std::string& name : test::device_names()) {
    const Device device(test::device(name));
    Graph g;
    const Tensor x = g.input("x", DType::f64, {3, 3}), y = g.input("y", DType::f32, {3, 3});
    g.output("product", matmul(x, x));
    const std::string line = std::format("(recorded at plan_calls_test.cc:{})", __LINE__ - 1);
    (void)(2.0 - y);  // an undefined operand and a number are balanced, too
    g.output("sum", reduce(ReduceKind::sum, x, {0}));
    g.output("plain", exp(y));
    const std::string why = test::thrown_by([&] { compile(g, device); });
    EXPECT_THAT(why,
                AllOf(HasSubstr("cannot run 2 of 3 kernels"), HasSubstr("matmul \"matmul [3, 3]\" of f64 [3, 3], f64"),
                      HasSubstr("reduce_sum \"reduce_sum [3]\" of f64 [3, 3] → f64 [3]"), HasSubstr(line),
                      Not(HasSubstr("exp"))))
        << name;
    EXPECT_EQ(test::thrown_by([&] { estimate(g, device, Calibration()); }), why);
  }
}

}  // namespace
}  // namespace weft
