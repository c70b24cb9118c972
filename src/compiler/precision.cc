#include "compiler/precision.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <numbers>
#include <random>

#include "compiler/terms.h"
#include "cpu/executor.h"
#include "kernels/cpu_loops.h"
#include "kernels/elementwise/scalar_ops.h"
#include "weft/small_float.h"

namespace weft::compiler {
namespace {

constexpr int kSmooth = 8;  // inputs of each kind
constexpr int kProbes = 2 * kSmooth;
constexpr int kColumns = 16;          // processed together, so that whole lines of memory are read
constexpr float kLargest = 65504.0f;  // of f16
constexpr float kHeadroom = 64;       // activations may be larger than 1

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

// The root mean square of the error relative to that of the result, for probes [first, first + kSmooth).
double relative(const float* exact, const float* narrow, int first) {
  double size = 0, error = 0;
  for (int j = first; j < first + kSmooth; ++j) {
    size += double{exact[j]} * exact[j];
    error += (double{narrow[j]} - exact[j]) * (double{narrow[j]} - exact[j]);
  }
  return error == 0 ? 0 : std::sqrt(error / size);
}

}  // namespace

double f16_error(const TensorData& weights, const Placement& placement) {
  if (placement.layout.shape.rank() > 2) {
    // Each matrix of a batch on its own.
    double worst = 0;
    Placement part = placement;
    part.layout.shape.erase(0);
    part.layout.strides.erase(0);
    for (std::int64_t i = 0; i < placement.layout.shape[0]; ++i) {
      worst = std::max(worst, f16_error(weights, part));
      part.offset += placement.layout.strides[0];
    }
    return worst;
  }
  const std::int64_t k = placement.layout.shape[0];
  const std::int64_t n = placement.layout.shape[1];
  const std::int64_t along = placement.layout.strides[0];
  const std::int64_t across = placement.layout.strides[1];
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
          std::memcpy(&w, base + (placement.offset + i * along + (first + c) * across) * 4, sizeof w);
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
          // Infinite for NaN too: such weights stay f32.
          if (!(std::abs(y) * kHeadroom <= kLargest)) own = std::numeric_limits<double>::infinity();
        }
      }
    }
    const std::lock_guard lock(mutex);
    if (!(own <= worst)) worst = own;
  });
  return std::isnan(worst) ? std::numeric_limits<double>::infinity() : worst;
}

bool stays_in_range(const Expression& e, int node) {
  using kernels::Bound;
  constexpr double kGrowth = 16, kAdded = 4096;
  // |value| <= growth · (the largest |input|) + added; nothing if no bound is known.
  struct Magnitude {
    double growth = 0, added = 0;
  };
  std::vector<std::optional<Magnitude>> bounds;
  for (const Expression::Node& n : e.nodes()) {
    const auto of = [&](int i) { return bounds[static_cast<std::size_t>(n.args[i])]; };
    const auto known = [&](int i) { return n.args[i] >= 0 && of(i) && of(i)->growth == 0; };
    const auto sum = [](std::optional<Magnitude> a, std::optional<Magnitude> b) {
      return a && b ? std::optional(Magnitude{a->growth + b->growth, a->added + b->added}) : std::nullopt;
    };
    const auto larger = [](std::optional<Magnitude> a, std::optional<Magnitude> b) {
      return a && b ? std::optional(Magnitude{std::max(a->growth, b->growth), std::max(a->added, b->added)})
                    : std::nullopt;
    };
    const auto scaled = [](std::optional<Magnitude> a, double by) {
      return a ? std::optional(Magnitude{a->growth * by, a->added * by}) : std::nullopt;
    };
    const auto product = [&](int i, int j) -> std::optional<Magnitude> {
      if (known(i)) return scaled(of(j), of(i)->added);
      if (known(j)) return scaled(of(i), of(j)->added);
      return {};
    };
    std::optional<Magnitude> b;
    if (n.op == ScalarOp::input) {
      b = n.type == DType::boolean ? Magnitude{0, 1} : Magnitude{1, 0};
    } else if (n.op == ScalarOp::constant) {
      const auto value = number(n);
      if (value && std::isfinite(*value)) b = Magnitude{0, std::abs(*value)};
    } else {
      const kernels::ScalarOpInfo& row = kernels::info(n.op);
      switch (row.bound()) {
        case Bound::unknown:
          break;
        case Bound::operand:
          b = of(0);
          break;
        case Bound::operand_and_one:
          b = sum(of(0), Magnitude{0, 1});
          break;
        case Bound::one:
          b = Magnitude{0, 1};
          break;
        case Bound::two:
          b = Magnitude{0, 2};
          break;
        case Bound::larger:
          b = larger(of(row.first_value()), of(row.first_value() + 1));
          break;
        case Bound::limits:
          b = known(1) && known(2) ? larger(of(1), of(2)) : std::nullopt;
          break;
        case Bound::sum:
          b = sum(of(0), of(1));
          break;
        case Bound::product:
          b = product(0, 1);
          break;
        case Bound::product_and_sum:
          b = sum(product(0, 1), of(2));
          break;
        case Bound::quotient: {
          const auto divisor = number(e.nodes()[static_cast<std::size_t>(n.args[1])]);
          if (divisor && *divisor != 0) b = scaled(of(0), 1 / std::abs(*divisor));
          break;
        }
      }
    }
    bounds.push_back(b);
  }
  const auto& b = bounds[static_cast<std::size_t>(node)];
  return b && b->growth <= kGrowth && b->added <= kAdded;
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
