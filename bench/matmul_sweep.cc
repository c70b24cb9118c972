// Runs forms of the matrix product over shapes on one GPU and prints TFLOP/s: what choose_variant() is tuned by.
//
//   matmul_sweep [--adapter NAME] [--shapes 4096x4096x4096,…] [--variants tile_128,dot] [--type f32]
//                [--layout nt|nn|tt|tn] [--seconds S] [--no-robustness] [--chosen] [--matrix 128x128x32_64x64,…]
//
// Shapes are M×N×K. Layout nt: b lies as [n, k] (a linear layer's weights); nn: as [k, n]; tt and tn: the same, and a
// lies as [k, m]. --result: the type of y, if not that of the sums. The time is wall clock around
// many dispatches in a few submits, median of three, and on a software device the processor time of all its cores,
// which other work on the machine disturbs less; results are checked against entries computed on the host.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <random>
#include <sstream>

#include "kernels/matmul/matmul.h"
#include "wake.h"
#include "weft/error.h"
#include "weft/gpu.h"
#include "weft/small_float.h"

using namespace weft;
using namespace weft::kernels;
using Clock = std::chrono::steady_clock;

namespace {

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Case {
  std::int64_t m, n, k;
};

struct Operands {
  std::vector<float> a, b;
  View va, vb, vy;
};

std::vector<std::byte> encode(const std::vector<float>& values, DType type) {
  std::vector<std::byte> bytes(byte_size(type, values.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (type == DType::f32) std::memcpy(&bytes[i * 4], &values[i], 4);
    if (type == DType::f16) reinterpret_cast<float16*>(bytes.data())[i] = float16(values[i]);
    if (type == DType::i8 || type == DType::u8) bytes[i] = static_cast<std::byte>(static_cast<int>(values[i]));
    if (type == DType::bf16) reinterpret_cast<bfloat16*>(bytes.data())[i] = bfloat16(values[i]);
  }
  return bytes;
}

Operands make_operands(gpu::Device& device, const Case& c, DType type, DType result, const std::string& layout) {
  Operands o;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> value(-1, 1);
  // Multiples of 2^-6 are exact in every type, so that the host's entries need no rounding of the inputs.
  const auto fill = [&](std::vector<float>& v, std::int64_t count) {
    v.resize(static_cast<std::size_t>(count));
    for (float& x : v) x = type == DType::i8   ? std::round(value(random) * 127)
                            : type == DType::u8 ? std::round((value(random) + 1) * 127)
                                                : std::round(value(random) * 64) / 64;
  };
  fill(o.a, c.m * c.k);
  fill(o.b, c.k * c.n);
  const auto upload = [&](const std::vector<float>& v) {
    const std::vector<std::byte> bytes = encode(v, type);
    Buffer buffer = device.allocate(bytes.size());
    device.upload(buffer, 0, bytes);
    return buffer;
  };
  o.va = View(upload(o.a), 0, type, {c.m, c.k}, layout[0] == 't' ? Strides{1, c.m} : Strides{c.k, 1});
  o.vb = View(upload(o.b), 0, type, {c.k, c.n}, layout[1] == 't' ? Strides{1, c.k} : Strides{c.n, 1});
  o.vy = View(device.allocate(byte_size(result, static_cast<std::uint64_t>(c.m * c.n))), 0, result, {c.m, c.n});
  return o;
}

// Largest error over some entries, in units of sqrt(k) · 2^-24, the scale of the rounding of k products of size ≤ 1.
double error(gpu::Device& device, const Case& c, const Operands& o) {
  std::vector<std::byte> bytes(o.vy.buffer.size());
  device.read(o.vy.buffer, 0, bytes.size()).get(bytes);
  const auto y = [&](std::int64_t i) -> double {
    const std::byte* at = bytes.data() + static_cast<std::size_t>(i) * bits(o.vy.dtype) / 8;
    if (o.vy.dtype == DType::i32) return *reinterpret_cast<const std::int32_t*>(at);
    if (o.vy.dtype == DType::f16) return static_cast<float>(*reinterpret_cast<const float16*>(at));
    return *reinterpret_cast<const float*>(at);
  };
  std::mt19937 random(11);
  double worst = 0;
  for (int s = 0; s < 256; ++s) {
    const std::int64_t i = s < 4 ? s % 2 * (c.m - 1) : static_cast<std::int64_t>(random() % c.m);
    const std::int64_t j = s < 4 ? s / 2 * (c.n - 1) : static_cast<std::int64_t>(random() % c.n);
    double sum = 0;
    for (std::int64_t k = 0; k < c.k; ++k) {
      sum += static_cast<double>(o.a[i * o.va.strides()[0] + k * o.va.strides()[1]]) *
             o.b[k * o.vb.strides()[0] + j * o.vb.strides()[1]];
    }
    double difference = std::abs(sum - y(i * c.n + j));
    if (o.vy.dtype == DType::f16) difference = std::max(0.0, difference - std::abs(sum) * 0x1p-11);  // its own rounding
    worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
  }
  return worst / (std::sqrt(static_cast<double>(c.k)) * 0x1p-24);
}

// Seconds for one product: `count` recorded once and replayed until `budget` is over.
double time_variant(gpu::Device& device, const MatmulProblem& problem, const Expression* epilogue,
                    const MatmulVariant& variant, const std::optional<View>& workspace, double budget) {
  const auto run = [&](gpu::Recording& recording, int times) {
    const auto start = Clock::now();
    const std::clock_t before = std::clock();
    gpu::Encoder encoder(device);
    for (int i = 0; i < times; ++i) encoder.replay(recording);
    encoder.submit();
    device.wait();
    if (device.capabilities().software) return static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
    return seconds_since(start);
  };
  gpu::Recording one(device);
  matmul_by(one, problem, epilogue, variant, workspace);
  run(one, 1);
  double first = run(one, 1);
  bench::wake(device, [&] { first = run(one, 20) / 20; });
  if (first > budget) return first;
  constexpr int kBatch = 16;
  gpu::Recording many(device);
  for (int i = 0; i < kBatch; ++i) matmul_by(many, problem, epilogue, variant, workspace);
  const double each = run(many, 2) / (2 * kBatch);
  const int times = std::max(1, static_cast<int>(budget / 3 / (each * kBatch)));
  std::array<double, 3> t;
  for (double& x : t) x = run(many, times) / (times * kBatch);
  std::ranges::sort(t);
  return t[1];
}

std::vector<Case> parse_shapes(const std::string& text) {
  std::vector<Case> cases;
  std::istringstream list(text);
  for (std::string item; std::getline(list, item, ',');) {
    Case c{};
    char x;
    std::istringstream(item) >> c.m >> x >> c.n >> x >> c.k;
    cases.push_back(c);
  }
  return cases;
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"Forms of the matrix product over shapes on one GPU"};
  std::string adapter, variants, type_name = "f32", result_name, layout = "nt";
  std::string shapes =
      "4096x4096x4096,16x384x384,16x1536x384,16x384x1536,128x384x384,128x1536x384,128x384x1536,512x384x384,"
      "512x1536x384,"
      "512x384x1536,4096x384x384,4096x1536x384,4096x384x1536,32768x1536x384,32768x384x1536,1x4096x4096";
  double budget = 0.03;
  std::string matrix;
  bool no_robustness = false, fused = false, chosen = false, splits = false;
  app.add_option("--adapter", adapter, "part of its name, or its number");
  app.add_option("--shapes", shapes, "MxNxK, separated by commas")->capture_default_str();
  app.add_option("--variants", variants, "parts of names to keep, separated by commas");
  app.add_option("--matrix", matrix,
                 "tiles for cooperative matrices, as 128x128x32_64x64, in the place of the library's");
  app.add_option("--type", type_name, "of a and b")->capture_default_str();
  app.add_option("--result", result_name, "type of y, if not that of the sums");
  app.add_option("--layout", layout, "of a, then b; nt: b is [n, k]; nn: [k, n]; tt, tn: a is [k, m]")
      ->capture_default_str()
      ->check(CLI::IsMember({"nn", "nt", "tn", "tt"}));
  app.add_option("--seconds", budget, "for each variant")->capture_default_str();
  app.add_flag("--no-robustness", no_robustness, "without Dawn's bounds checks in shaders");
  app.add_flag("--epilogue", fused, "with an epilogue (a factor of 1)");
  app.add_flag("--chosen", chosen, "only the variant that the library takes");
  app.add_flag("--splits", splits, "tiles also with k split in 2, 4 and 8");
  CLI11_PARSE(app, argc, argv);
  const DType type = dtype_from_name(type_name).value();
  const DType result = result_name.empty() ? product_type(type) : dtype_from_name(result_name).value();

  gpu::Device device = gpu::Device::open({.adapter = adapter, .validation = false, .robustness = !no_robustness});
  std::printf("%s; %s, %s, robustness %s\n", device.reason().c_str(), type_name.c_str(), layout.c_str(),
              no_robustness ? "off" : "on");
  const auto keep = [&](const std::string& name) {
    if (variants.empty()) return true;
    std::istringstream list(variants);
    for (std::string item; std::getline(list, item, ',');) {
      if (name.find(item) != std::string::npos) return true;
    }
    return false;
  };
  Expression one;
  const DType sum = product_type(type);
  one.output(one.apply(ScalarOp::mul, {one.input(sum), one.constant(1, sum)}));
  const Expression* const epilogue = fused ? &one : nullptr;
  bool right = true;
  for (const Case& c : parse_shapes(shapes)) {
    const Operands o = make_operands(device, c, type, result, layout);
    const MatmulProblem problem = matmul_problem(o.va, o.vb, o.vy, {epilogue, {}});
    const MatmulVariant choice = choose_variant(problem, device.capabilities(), ~std::uint64_t{0});
    std::vector<MatmulVariant> list;
    for (MatmulVariant v : matmul_variants()) {
      if (chosen || (variants.empty() && (v.kind == MatmulKind::direct) != device.capabilities().software)) continue;
      list.push_back(v);
      if (!splits || v.kind != MatmulKind::tile) continue;
      for (const int s : {2, 4, 8}) {
        v.splits = s;
        if (c.k >= s * 64) list.push_back(v);
      }
    }
    std::vector<MatmulVariant> tiles = matrix_variants(device.capabilities(), type);
    if (const auto unit = matrix_unit(device.capabilities(), type); unit && !matrix.empty()) {
      tiles.clear();
      std::istringstream texts(matrix);
      for (std::string item; std::getline(texts, item, ',');) {
        int m, n, k, sub_m, sub_n;
        if (std::sscanf(item.c_str(), "%dx%dx%d_%dx%d", &m, &n, &k, &sub_m, &sub_n) != 5) {
          throw InvalidArgument("--matrix: '{}'; expected MxNxK_SMxSN", item);
        }
        tiles.push_back(matrix_variant(m, n, k, sub_m, sub_n, *unit, device.capabilities()));
      }
    }
    for (MatmulVariant v : tiles) {
      list.push_back(v);
      for (const int s : {2, 4, 8}) {
        v.splits = s;
        if (splits && c.k >= s * 64) list.push_back(v);
      }
    }
    if (std::ranges::find(list, choice) == list.end()) list.push_back(choice);
    std::printf("%lld x %lld x %lld\n", static_cast<long long>(c.m), static_cast<long long>(c.n),
                static_cast<long long>(c.k));
    const auto workspace_of = [&](const MatmulVariant& v) -> std::optional<View> {
      const std::uint64_t bytes = workspace_bytes(v, problem);
      if (bytes == 0) return std::nullopt;
      return View(device.allocate(bytes), 0, DType::f32, {static_cast<std::int64_t>(bytes / 4)});
    };
    for (const MatmulVariant& v : list) {
      const std::string name = to_string(v);
      if (!can_run(v, problem, device.capabilities()) || (!keep(name) && !chosen)) continue;
      // Tiles far larger or forms far slower than the shape deserves only cost time.
      const std::int64_t work = c.m * c.n * c.k;
      if (v.kind == MatmulKind::dot && work > (std::int64_t{1} << 33)) continue;
      const double t = time_variant(device, problem, epilogue, v, workspace_of(v), budget);
      const double e = error(device, c, o);
      right &= e < 8;
      std::printf("  %-32s %9.2f us %9.3f TFLOP/s %8.1f GB/s  error %.2f%s%s\n", name.c_str(), t * 1e6,
                  2e-12 * work / t, 1e-9 * (byte_size(type, (c.m + c.n) * c.k) + 4 * c.m * c.n) / t, e,
                  e < 8 ? "" : "  WRONG", v == choice ? "  <- chosen" : "");
      std::fflush(stdout);
    }
  }
  return right ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "matmul_sweep: %s\n", e.what());
  return 1;
}
