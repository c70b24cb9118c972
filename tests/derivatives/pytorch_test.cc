// Gradients and second derivatives on every device are PyTorch's, also at points without a derivative, at ties, zeros,
// infinities and NaN (tests/reference/derivatives.py).
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "support/on_device.h"
#include "support/reference_cases.h"
#include "weft/array.h"
#include "weft/convolution.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/graph.h"
#include "weft/indexing.h"
#include "weft/pooling.h"

namespace weft::test {
namespace {

using Values = std::vector<Tensor>;
using Parameters = std::vector<double>;
using Function = std::function<Tensor(const Values& x, const Parameters& p)>;

Function reduced(ReduceKind kind) {
  return [kind](const Values& x, const Parameters&) { return reduce(kind, x[0], {1}); };
}
Function scanned(ScanKind kind) {
  return [kind](const Values& x, const Parameters&) { return scan(kind, x[0], 1); };
}

// The cases' functions that are no elementwise functions of their name.
const std::map<std::string, Function>& functions_of_cases() {
  static const std::map<std::string, Function> all = {
      {"clamp_numbers", [](const Values& x, const Parameters&) { return clamp(x[0], -1, 1); }},
      {"select", [](const Values& x, const Parameters&) { return select(x[0], x[1], x[2]); }},
      {"reduce_prod", reduced(ReduceKind::prod)},
      {"reduce_sum_squares", reduced(ReduceKind::sum_squares)},
      {"reduce_max", reduced(ReduceKind::max)},
      {"reduce_min", reduced(ReduceKind::min)},
      {"reduce_l1", reduced(ReduceKind::l1)},
      {"reduce_l2", reduced(ReduceKind::l2)},
      {"reduce_log_sum_exp", reduced(ReduceKind::log_sum_exp)},
      {"softmax", [](const Values& x, const Parameters&) { return softmax(x[0], 1); }},
      {"log_softmax", [](const Values& x, const Parameters&) { return log_softmax(x[0], 1); }},
      {"variance", [](const Values& x, const Parameters& p) { return variance(x[0], {1}, p[0]); }},
      {"deviation", [](const Values& x, const Parameters& p) { return deviation(x[0], {1}, p[0]); }},
      {"cross_entropy",
       [](const Values& x, const Parameters&) { return -mean(sum(x[1] * log(softmax(x[0], 1)), {1})); }},
      {"layer_norm", [](const Values& x, const Parameters&) { return layer_norm(x[0], x[1], x[2], 1e-5); }},
      {"attend",
       [](const Values& x, const Parameters&) {
         return matmul(softmax(matmul(x[0], permute(x[1], {0, 2, 1})) * 0.5, -1), x[2]);
       }},
      {"conv_pool",
       [](const Values& x, const Parameters&) {
         return max_pool(conv(x[0], x[1], {}, {.padding = {1, 1}}), {.window = {2, 2}});
       }},
      {"max_pool",
       [](const Values& x, const Parameters&) { return max_pool(x[0], {.window = {2, 2}, .strides = {1, 1}}); }},
      {"cumprod", scanned(ScanKind::prod)},
      {"cummax", scanned(ScanKind::max)},
      {"sort", [](const Values& x, const Parameters&) { return sort(x[0], 1); }},
      {"top_k", [](const Values& x, const Parameters&) { return top_k(x[0], 3, 1).values; }},
      {"index_add", [](const Values& x, const Parameters&) { return at_add(x[0], {x[1]}, x[2]); }},
      {"gather", [](const Values& x, const Parameters&) { return gather(x[0], x[1], 0); }},
      {"gather_elements", [](const Values& x, const Parameters&) { return gather_elements(x[0], x[1], 1); }},
  };
  return all;
}

Tensor called(const std::string& name, const Values& x, const Parameters& p) {
  const auto it = functions_of_cases().find(name);
  return it != functions_of_cases().end() ? it->second(x, p) : elementwise(name, x, p);
}

bool same(double got, double want, double relative, double size) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return got == want;
  return std::abs(got - want) <= relative * std::max({1.0, std::abs(want), size});
}

class PyTorchDerivatives : public OnDevice {
 protected:
  void compare(DType type) {
    const ReferenceCases file("derivatives");
    for (const auto& c : file.list("cases.json")) {
      const auto name = c.at("function").get<std::string>();
      const int order = c.at("order").get<int>();
      SCOPED_TRACE(std::format("{}, order {}, {}", name, order, c.value("parameters", nlohmann::json()).dump()));
      const auto p = c.value("parameters", Parameters());
      const auto operands = [&](const char* list) {
        Values x;
        for (const View& v : file.operands(c, list)) {
          const bool is_float = v.dtype == DType::f64;
          x.push_back(is_float ? tensor(v.dtype, v.shape(), bytes_of(v), type) : tensor_of(v));
        }
        return x;
      };
      const View weights = file.operand(c.at("weights"));
      const Tensor w = tensor(weights.dtype, weights.shape(), bytes_of(weights), type);
      const auto of_floats = [](const Values& all) {
        Values x;
        std::ranges::copy_if(all, std::back_inserter(x), [](const Tensor& t) { return t.defined(); });
        return x;
      };
      const auto gradients = [&](const Values& x) {
        return of_floats(vjp([&](const Values& at) { return called(name, at, p); })(x).second(w));
      };
      const Values x = operands("operands");
      const Values g = order == 1 ? gradients(x) : of_floats(vjp(gradients)(x).second(operands("directions")));
      const std::vector<View> expected = file.operands(c, "gradients");
      ASSERT_EQ(g.size(), expected.size());
      // Accuracy in f64 is that of the numbers; in f32 of the largest one, too, of which others are differences.
      const double relative = type == DType::f64 ? 1e-9 : c.value("relative", 1e-5);
      for (std::size_t i = 0; i < g.size(); ++i) {
        const auto got = g[i].to_vector<double>(), want = values(expected[i]);
        ASSERT_EQ(got.size(), want.size());
        double size = 0;
        if (order == 2 || c.at("operands")[0].at("shape").size() > 1) {
          for (const double v : want) size = std::isfinite(v) ? std::max(size, std::abs(v)) : size;
        }
        for (std::size_t k = 0; k < got.size(); ++k) {
          EXPECT_TRUE(same(got[k], want[k], relative, size))
              << "gradient " << i << ", element " << k << ": " << got[k] << ", PyTorch's is " << want[k];
        }
      }
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, PyTorchDerivatives, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

TEST_P(PyTorchDerivatives, InF32) { compare(DType::f32); }

TEST_P(PyTorchDerivatives, InF64) {
  if (GetParam() != "cpu") GTEST_SKIP() << "f64 is computed on the cpu";
  compare(DType::f64);
}

}  // namespace
}  // namespace weft::test
