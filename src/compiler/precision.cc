#include "compiler/precision.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <numbers>
#include <random>

#include "kernels/twin.h"
#include "weft/cpu.h"
#include "weft/small_float.h"

namespace weft::compiler {
namespace {

constexpr int kSmooth = 8;            // inputs of each kind
constexpr int kProbes = 2 * kSmooth;
constexpr int kColumns = 16;          // taken together, so that memory is read in lines
constexpr float kLargest = 65504.0f;  // of f16
constexpr float kHeadroom = 64;       // activations are not of size 1 everywhere

float rounded(float x) { return float16(x); }

struct Probe {
  float exact[kProbes], narrow[kProbes];
};

std::vector<Probe> probes(std::int64_t k) {
  std::vector<Probe> list(static_cast<std::size_t>(k));
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (std::int64_t i = 0; i < k; ++i) {
    Probe& p = list[static_cast<std::size_t>(i)];
    const double at = (static_cast<double>(i) + 0.5) / static_cast<double>(k);
    for (int j = 0; j < kSmooth; ++j) {
      const double window = std::sin(std::numbers::pi * at);
      p.exact[j] = static_cast<float>(window * window * (0.5 + std::cos(std::numbers::pi * j * at)));
      p.exact[kSmooth + j] = normal(random);
    }
    for (int j = 0; j < kProbes; ++j) p.narrow[j] = rounded(p.exact[j]);
  }
  return list;
}

// Root mean square of the error over that of the result, for probes [first, first + kSmooth).
double relative(const float* exact, const float* narrow, int first) {
  double size = 0, error = 0;
  for (int j = first; j < first + kSmooth; ++j) {
    size += double{exact[j]} * exact[j];
    error += (double{narrow[j]} - exact[j]) * (double{narrow[j]} - exact[j]);
  }
  return error == 0 ? 0 : std::sqrt(error / size);
}

}  // namespace

double f16_error(const TensorData& weights, const Placement& place) {
  const std::int64_t k = place.layout.shape[0];
  const std::int64_t n = place.layout.shape[1];
  const std::int64_t along = place.layout.strides[0];
  const std::int64_t across = place.layout.strides[1];
  const std::vector<Probe> inputs = probes(k);
  const std::byte* base = weights.bytes.data();
  std::mutex mutex;
  double worst = 0;
  cpu::Executor executor;
  kernels::parallel(executor, (n + kColumns - 1) / kColumns, 1, [&](std::int64_t begin, std::int64_t end) {
    double own = 0;
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t first = block * kColumns;
      const std::int64_t count = std::min<std::int64_t>(kColumns, n - first);
      float exact[kColumns][kProbes] = {}, narrow[kColumns][kProbes] = {};
      for (std::int64_t i = 0; i < k; ++i) {
        const Probe& p = inputs[static_cast<std::size_t>(i)];
        for (std::int64_t c = 0; c < count; ++c) {
          float w;
          std::memcpy(&w, base + (place.offset + i * along + (first + c) * across) * 4, sizeof w);
          const float half = rounded(w);
          for (int j = 0; j < kProbes; ++j) {
            exact[c][j] += w * p.exact[j];
            narrow[c][j] += half * p.narrow[j];
          }
        }
      }
      for (std::int64_t c = 0; c < count; ++c) {
        for (const int kind : {0, kSmooth}) own = std::max(own, relative(exact[c], narrow[c], kind));
        for (const float y : exact[c]) {
          // NaN too: what it was, it had better stay.
          if (!(std::abs(y) * kHeadroom <= kLargest)) own = std::numeric_limits<double>::infinity();
        }
      }
    }
    const std::lock_guard lock(mutex);
    if (!(own <= worst)) worst = own;
  });
  return std::isnan(worst) ? std::numeric_limits<double>::infinity() : worst;
}

bool leaves_f16(const TensorData& numbers) {
  const std::size_t count = numbers.bytes.size() / sizeof(float);
  for (std::size_t i = 0; i < count; ++i) {
    float x;
    std::memcpy(&x, numbers.bytes.data() + i * sizeof x, sizeof x);
    // 65520 and above round to infinity.
    if (std::isfinite(x) && std::abs(x) >= 65520.0f) return true;
  }
  return false;
}

}  // namespace weft::compiler
