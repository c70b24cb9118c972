// The error of each scalar function of f32, in units in the last place, over its whole range on one device.
//
//   scalar_accuracy [--cpu] [--samples 24] [--only NAME…] [--json docs/data/accuracy-DEVICE.json]
//
// docs/generate.py makes docs/accuracy.md from the files. The reference is the CPU's function in f64, which is tested
// against mpmath and SciPy. Arguments are bit patterns of f32 at equal distances (--samples 32: all of them), so that
// every exponent has the same number of them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <format>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numbers>

#include "cpu/executor.h"
#include "kernels/cpu_loops.h"
#include "kernels/elementwise/scalar_ops.h"
#include "weft/gpu.h"
#include "weft/kernels/elementwise.h"

using namespace weft;

namespace {

constexpr std::int64_t kChunk = std::int64_t{1} << 22;
constexpr double kSmallest = 0x1p-126;  // smaller magnitudes, which WGSL may flush to 0, are not counted

using Arguments = std::array<float, 3>;

struct Function {
  std::string name;
  int operands = 1;
  bool negative = false;  // listed separately: the arguments below 0
};

// Functions with more than one rounding, from the tables.
std::vector<Function> measured() {
  std::vector<Function> list;
  for (const FunctionInfo& f : functions()) {
    const auto op = scalar_op(f.name);
    const bool root =
        op == ScalarOp::sqrt || op == ScalarOp::rsqrt || op == ScalarOp::reciprocal || op == ScalarOp::div;
    if (op && !kernels::info(*op).function() && !root) continue;
    if (op && !(kernels::info(*op).types & kernels::kFloat)) continue;
    if (op == ScalarOp::floor_divide) continue;  // not continuous
    list.push_back({std::string(f.name), f.operands});
    if (op == ScalarOp::lgamma || op == ScalarOp::digamma) list.push_back({std::string(f.name), f.operands, true});
  }
  return list;
}

std::uint64_t mix(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Argument number i of 2^log2. Functions of two numbers get pairs whose results are spread over f32's range, or that
// they are defined for.
Arguments argument(const Function& f, std::uint64_t i, int log2) {
  if (f.operands == 1) {
    const std::uint64_t low = log2 == 32 ? 0 : mix(i) >> (32 + log2);
    return {std::bit_cast<float>(static_cast<std::uint32_t>((i << (32 - log2)) | low)), 0};
  }
  const auto a = std::bit_cast<float>(static_cast<std::uint32_t>(mix(2 * i)));
  const auto b = std::bit_cast<float>(static_cast<std::uint32_t>(mix(2 * i + 1)));
  const bool inverse = f.name.ends_with("incinv") || f.name == "gammainccinv";
  if (i % 2 && !inverse) return {a, b};
  const double u = static_cast<double>(mix(3 * i) >> 11) * 0x1p-53;
  const double v = static_cast<double>(mix(3 * i + 1) >> 11) * 0x1p-53;
  // Parameters from ¼ on, of which x is no high power of the probability.
  if (inverse) {
    const double w = static_cast<double>(mix(3 * i + 2) >> 11) * 0x1p-53;
    const auto shape = static_cast<float>(std::exp2(14 * u - 2));
    if (f.operands == 2) return {shape, static_cast<float>(v)};
    return {shape, static_cast<float>(std::exp2(14 * v - 2)), static_cast<float>(w)};
  }
  // Parameters of distributions, and quantiles about their means.
  if (f.name.starts_with("gammainc")) {
    const double shape = std::exp2(24 * u - 12);
    return {static_cast<float>(shape), static_cast<float>(shape * std::exp2(8 * v - 4))};
  }
  if (f.operands == 3) {
    const double w = static_cast<double>(mix(3 * i + 2) >> 11) * 0x1p-53;
    return {static_cast<float>(std::exp2(20 * u - 10)), static_cast<float>(std::exp2(20 * v - 10)),
            static_cast<float>(w)};
  }
  if (f.name == "pow") {
    const double base = i % 4 ? std::exp2(40 * u - 20) : 0.7 + 0.6 * u;
    return {static_cast<float>(base), static_cast<float>((176 * v - 88) / std::log(base))};
  }
  if (f.name == "logaddexp") return {static_cast<float>(40 * u - 20), static_cast<float>(40 * v - 20)};
  // Two numbers of similar magnitude.
  return {a, static_cast<float>(a * std::exp2(24 * u - 12))};
}

double ulp(double x) { return std::ldexp(1.0, std::max(std::ilogb(x), -126) - 23); }

// The bound is 4 ULP of the result, or of the terms that cancel in it where scalar_ops.h lists the function.
double scale(const Function& f, double want, Arguments x) {
  const double y = std::abs(want);
  if (f.name == "logaddexp") {
    const double larger = std::max(x[0], x[1]);
    return std::max({y, std::abs(larger), std::abs(want - larger)});
  }
  if (f.name == "hardsigmoid") return std::max(y, 0.5);
  // Factors of small results may be 0 before these are.
  if (f.name.starts_with("gammainc") || f.name.starts_with("betainc")) return std::max(y, 0x1p-100);
  // The amplitude, where there are zeros.
  if (f.name == "j0" || f.name == "y0" || f.name == "y1" || (f.name == "j1" && std::abs(x[0]) > 1)) {
    return std::max(y, std::min(1.0, std::sqrt(2 / (std::numbers::pi * std::abs(static_cast<double>(x[0]))))));
  }
  if (!f.negative) return y;
  const double a = std::abs(static_cast<double>(x[0]));
  if (f.name == "digamma") return std::max(1.0, y + std::log(a + 1));
  return std::max({y, 1.0, a < 1e30 ? a * (std::log(a + 1) - 1) : 0.0});
}

double error(const Function& f, float got, double want, Arguments x) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : INFINITY;
  const auto rounded = static_cast<float>(want);
  if (got == rounded) return 0;
  const double largest = 3.4028e38;
  if (std::isinf(rounded)) return std::isinf(got) || std::abs(got) > largest ? 0 : INFINITY;
  if (std::isnan(got)) return INFINITY;
  if (std::isinf(got)) return std::abs(want) > largest ? 0 : INFINITY;
  if (std::abs(got - want) <= kSmallest) return 0;
  return std::abs(got - want) / ulp(scale(f, want, x));
}

struct Worst {
  double ulp = -1;
  Arguments x{};
  float got = 0;
  double want = 0;
};

class Tool {
 public:
  Tool(bool on_cpu, int log2) : log2_(log2), count_(std::min(kChunk, std::int64_t{1} << log2)) {
    if (!on_cpu) device_.emplace(gpu::Device::open());
    for (auto& v : x_) v = host(DType::f32);
    for (auto& v : wide_) v = host(DType::f64);
    y_ = host(DType::f32);
    reference_ = host(DType::f64);
    if (device_) {
      for (View* v : {&gpu_x_[0], &gpu_x_[1], &gpu_x_[2], &gpu_y_}) {
        *v = View(device_->allocate(static_cast<std::uint64_t>(count_) * 4), 0, DType::f32, {count_});
      }
    }
  }

  std::string device() const {
    return device_ ? std::format("{} ({})", device_->adapter().name, device_->adapter().backend) : "cpu";
  }

  Worst measure(const Function& f) {
    Worst worst;
    std::mutex mutex;
    const bool skips_denormals = device_.has_value();
    for (std::int64_t begin = 0; begin < std::int64_t{1} << log2_; begin += count_) {
      kernels::parallel(cpu_, count_, 1 << 14, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) {
          auto x = argument(f, static_cast<std::uint64_t>(begin + i), log2_);
          for (int k = 0; k < f.operands; ++k) {
            if (skips_denormals && std::abs(x[k]) < kSmallest) x[k] = 0;
            at<float>(x_[k])[i] = x[k];
            at<double>(wide_[k])[i] = x[k];
          }
        }
      });
      const auto operands = static_cast<std::size_t>(f.operands);
      kernels::elementwise(cpu_, f.name, std::span(wide_).first(operands), reference_);
      if (device_) {
        for (std::size_t k = 0; k < operands; ++k) {
          device_->upload(gpu_x_[k].buffer, 0, {x_[k].buffer.data(), static_cast<std::size_t>(count_) * 4});
        }
        gpu::Encoder encoder(*device_);
        kernels::elementwise(encoder, f.name, std::span(gpu_x_).first(operands), gpu_y_);
        encoder.submit();
        device_->read(gpu_y_.buffer, 0, static_cast<std::uint64_t>(count_) * 4)
            .get()
            .copy_to({y_.buffer.data(), static_cast<std::size_t>(count_) * 4});
      } else {
        kernels::elementwise(cpu_, f.name, std::span(x_).first(operands), y_);
      }
      kernels::parallel(cpu_, count_, 1 << 14, [&](std::int64_t first, std::int64_t last) {
        Worst local;
        for (std::int64_t i = first; i < last; ++i) {
          Arguments x{};
          for (int k = 0; k < f.operands; ++k) x[k] = at<float>(x_[k])[i];
          if (f.operands == 1 && (f.name == "lgamma" || f.name == "digamma") && f.negative != (x[0] < 0)) continue;
          const float got = at<float>(y_)[i];
          const double want = at<double>(reference_)[i];
          if (const double e = error(f, got, want, x); e > local.ulp) local = {e, x, got, want};
        }
        const std::lock_guard lock(mutex);
        if (local.ulp > worst.ulp) worst = local;
      });
    }
    return worst;
  }

 private:
  View host(DType type) const {
    return View(Buffer::host(byte_size(type, static_cast<std::uint64_t>(count_))), 0, type, {count_});
  }
  template <class T>
  static T* at(const View& v) {
    return reinterpret_cast<T*>(v.buffer.data());
  }

  int log2_;
  std::int64_t count_;
  std::optional<gpu::Device> device_;
  cpu::Executor cpu_;
  View x_[3], wide_[3], y_, reference_, gpu_x_[3], gpu_y_;
};

std::string key(const Function& f) { return f.negative ? f.name + ", x < 0" : f.name; }

int measure(bool on_cpu, int log2, const std::vector<std::string>& only, const std::string& json_file) {
  Tool tool(on_cpu, log2);
  nlohmann::ordered_json json = {
      {"device", tool.device()}, {"samples_log2", log2}, {"functions", nlohmann::ordered_json::object()}};
  std::printf("%s, 2^%d arguments\n", tool.device().c_str(), log2);
  for (const Function& f : measured()) {
    if (!only.empty() && std::ranges::find(only, f.name) == only.end()) continue;
    const Worst w = tool.measure(f);
    std::string at = std::format("{}", w.x[0]);
    for (int k = 1; k < f.operands; ++k) at += std::format(", {}", w.x[k]);
    std::printf("%-16s %8.2f  at %s: %.9g, not %.9g\n", key(f).c_str(), w.ulp, at.c_str(), static_cast<double>(w.got),
                w.want);
    std::fflush(stdout);
    json["functions"][key(f)] = {
        {"ulp", std::isfinite(w.ulp) ? nlohmann::ordered_json(std::round(w.ulp * 100) / 100) : nullptr}, {"at", at}};
  }
  if (!json_file.empty()) std::ofstream(json_file) << json.dump(1) << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Measures the error of scalar functions on one device.");
  bool on_cpu = false;
  int log2 = 24;
  std::vector<std::string> only;
  std::string json;
  app.add_flag("--cpu", on_cpu, "measure the CPU kernels, not a GPU");
  app.add_option("--samples", log2, "logarithm of how many arguments each function gets")->check(CLI::Range(10, 32));
  app.add_option("--only", only, "these functions");
  app.add_option("--json", json, "write what was measured to this file");
  CLI11_PARSE(app, argc, argv);
  return measure(on_cpu, log2, only, json);
} catch (const std::exception& e) {
  std::fprintf(stderr, "scalar_accuracy: %s\n", e.what());
  return 1;
}
