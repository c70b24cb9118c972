// Shared by the tests of matrix products: expected results with their bounds, and products on a device.
//
// The bound: in any order of summation, |computed - exact| ≤ γ Σ|a·b| with γ = k u / (1 - k u), u = 2^-24 (Higham,
// Accuracy and Stability of Numerical Algorithms, 3.1). A product that is missing, counted twice or swapped changes the
// result by about Σ|a·b| / k, which is far above the bound for the k used here. Rounding to y's type adds half a unit
// in its last place.
#pragma once

#include <cmath>

#include "core/format.h"
#include "cpu/executor.h"
#include "kernels/matmul/matmul.h"
#include "support/devices.h"
#include "support/kernel_references.h"
#include "support/kernel_test.h"
#include "support/quick.h"
#include "weft/error.h"

namespace weft::kernels {

using test::matmul_reference;

// The last two axes swapped.
inline View transposed(const View& view) {
  Layout layout = view.layout;
  std::swap(layout.shape[-1], layout.shape[-2]);
  std::swap(layout.strides[-1], layout.strides[-2]);
  return view.with_layout(layout);
}

inline Shape with_matrix(Shape batch, std::int64_t rows, std::int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

// Half a unit in the last place of `type`, relative.
inline double half_ulp(DType type) { return type == DType::f16 ? 0x1p-11 : type == DType::bf16 ? 0x1p-8 : 0x1p-24; }

// Products and bounds by a loop over doubles that is independent of the library's kernels.
struct Expected {
  std::vector<double> value, bound;
};

inline Expected expect_product(const View& a, const View& b, const Shape& y_shape) {
  Shape batch = y_shape;
  batch.erase(batch.rank() - 1);
  batch.erase(batch.rank() - 1);
  const std::int64_t m = a.shape()[-2], k = a.shape()[-1], n = b.shape()[-1];
  const std::vector<double> x = test::values(a.broadcast_to(with_matrix(batch, m, k)));
  const std::vector<double> w = test::values(b.broadcast_to(with_matrix(batch, k, n)));
  const double gamma = static_cast<double>(k) * 0x1p-24 / (1 - static_cast<double>(k) * 0x1p-24);
  Expected e;
  const auto count = static_cast<std::size_t>(element_count(y_shape));
  e.value.resize(count);
  e.bound.resize(count);
  for (std::int64_t row = 0; row < element_count(batch) * m; ++row) {
    double *sums = &e.value[row * n], *sizes = &e.bound[row * n];
    for (std::int64_t l = 0; l < k; ++l) {
      const double* from = &w[(row / m * k + l) * n];
      for (std::int64_t j = 0; j < n; ++j) {
        const double product = x[row * k + l] * from[j];
        sums[j] += product;
        sizes[j] += std::abs(product);
      }
    }
  }
  for (double& size : e.bound) size *= gamma;
  return e;
}

inline void expect_within(const View& y, const Expected& e, const std::string& what, double slope = 1) {
  const std::vector<double> got = test::values(y);
  ASSERT_EQ(got.size(), e.value.size()) << what;
  int bad = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double bound = slope * e.bound[i] + 4 * half_ulp(y.dtype) * std::abs(e.value[i]) + 1e-37;
    if (std::abs(got[i] - e.value[i]) <= bound) continue;
    if (++bad <= 3) {
      ADD_FAILURE() << what << ": element " << i << " is " << got[i] << ", expected " << e.value[i] << " ± " << bound;
    }
  }
  if (bad > 3) ADD_FAILURE() << what << ": " << bad << " of " << got.size() << " wrong";
}

inline MatmulVariant named(const std::string& name) {
  for (const MatmulVariant& v : matmul_variants()) {
    if (to_string(v) == name) return v;
  }
  throw InternalError("no variant {}", name);
}

class MatmulTest : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device_ = test::device(GetParam());
  cpu::Executor executor_;
  test::Rng rng_{42};

  // Runs `call` on the device and returns y in host memory.
  View on_device(const View& y, std::span<const View> inputs,
                 const std::function<void(gpu::Commands&, std::span<const View>, const View&)>& call) {
    std::vector<View> there;
    for (const View& v : inputs) there.push_back(test::to_device(device_, v));
    const View out = test::to_device(device_, y);
    gpu::Encoder encoder(device_);
    call(encoder, there, out);
    encoder.submit();
    return test::to_host(device_, out);
  }

  // The variant that the device chooses, the cpu and the reference, all against the loop over doubles.
  void check_all(const View& a, const View& b, const View& y, const std::string& what) {
    const Expected e = expect_product(a, b, y.shape());
    if (!test::leave_out_problem()) {
      const std::array inputs{a, b};
      const View gpu = on_device(
          y, inputs, [](gpu::Commands& c, std::span<const View> in, const View& out) { matmul(c, in[0], in[1], out); });
      expect_within(gpu, e, what + " on the device");
    }
    matmul(executor_, a, b, y);
    expect_within(y, e, what + " on the cpu");
    if (y.count() <= 4096) {
      matmul_reference(matmul_problem(a, b, y, {}), nullptr);
      expect_within(y, e, what + " by the CPU kernel");
    }
  }
};

}  // namespace weft::kernels
